"""Who is responsible for how a run ended, which decides whether the run counts.

| cause                                       | responsible    | counts as               |
|---------------------------------------------|----------------|-------------------------|
| graded, valid                               | -              | its score               |
| no submission, or an invalid one            | the agent      | a failure, at the floor |
| its script ran out of memory or time        | the agent      | as submitted            |
| context overflow, refusal                   | the agent      | as submitted            |
| steps, time, tokens, money, storage used up | the agent      | as submitted            |
| the provider is unavailable after retries   | infrastructure | missing                 |
| sandbox, grader, task or harness failed     | infrastructure | missing                 |
| the host died, or a person stopped it       | infrastructure | missing                 |
| the money of all runs together is spent     | infrastructure | missing                 |

The workspace of a run that was cut off is graded as it is; without a valid submission it counts
as the floor. Missing runs are never dropped silently: every statistic says how many are missing
and what the rate would be if all of them had failed, or all had succeeded.
"""

from typing import Literal

from mlagentbench.records import Record
from mlagentbench.runs.results import RunResult

Verdict = Literal["counts", "missing"]
GREYED_ABOVE = 0.10
"""A cell with a larger share of missing runs is shown in grey."""
SHOWN = 120
"""How many characters of the reason tables show."""
NO_SUBMISSION = "no submission"
"""A grade's reason begins with this where there was nothing to grade."""
INFRASTRUCTURE = {
    "sandbox": "sandbox failed",
    "model": "provider failed",
    "task": "task failed",
    "grader": "grader failed",
    "harness": "harness failed",
}


class Cause(Record):
    """How a run's end is counted, and why in a few words."""

    verdict: Verdict
    reason: str


def cause_of(result: RunResult) -> Cause:
    """Decide whether a run counts."""
    outcome, grade = result.outcome, result.grade
    if outcome is None:
        return Cause(verdict="missing", reason=_in_brief(result.failure) or "did not end")
    if outcome.kind == "failed":
        reason = INFRASTRUCTURE[outcome.cause or "harness"]
        return Cause(verdict="missing", reason=reason)
    if outcome.kind == "interrupted":
        return Cause(verdict="missing", reason="interrupted")
    if grade is None:
        return Cause(verdict="missing", reason=_in_brief(result.failure) or "not graded")
    if not grade.valid:
        return Cause(verdict="counts", reason=grade.reason or "no valid submission")
    return Cause(verdict="counts", reason=outcome.kind)


def _in_brief(failure: str | None) -> str:
    """The first line of why a run failed; its directory has the rest."""
    first = (failure or "").strip().partition("\n")[0]
    return first if len(first) <= SHOWN else f"{first[:SHOWN]} ..."
