"""The table of causes: which ends of a run count, and which are missing."""

import pytest
from made_runs import graded, run

from mlagentbench.errors import FailureCause
from mlagentbench.records import Outcome
from mlagentbench.runs.failure_causes import cause_of


@pytest.mark.parametrize(
    "kind", ["submitted", "steps", "time", "tokens", "cost", "context", "refusal"]
)
def test_what_the_agent_did_counts(kind: str) -> None:
    ended = Outcome.model_validate({"kind": kind})
    assert cause_of(run(1, graded(0.7), outcome=ended).result).verdict == "counts"
    nothing = cause_of(run(1, graded(None), outcome=ended).result)
    assert (nothing.verdict, nothing.reason) == ("counts", "no submission")


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("sandbox", "sandbox failed"),
        ("model", "provider failed"),
        ("task", "task failed"),
        ("grader", "grader failed"),
        ("harness", "harness failed"),
        (None, "harness failed"),
    ],
)
def test_what_infrastructure_did_is_missing(cause: FailureCause | None, reason: str) -> None:
    failed = Outcome(kind="failed", cause=cause)
    found = cause_of(run(1, graded(0.7), outcome=failed).result)
    assert (found.verdict, found.reason) == ("missing", reason)


def test_what_was_stopped_or_never_graded_is_missing() -> None:
    stopped = Outcome(kind="interrupted")
    assert cause_of(run(1, graded(0.7), outcome=stopped).result).reason == "interrupted"
    assert cause_of(run(1, None, outcome=None).result).reason == "did not end"
    assert cause_of(run(1, None).result).reason == "not graded"
    died = run(1, None, outcome=None, failure="RunFailed: sandbox: no memory")
    assert cause_of(died.result).reason == "RunFailed: sandbox: no memory"
    assert all(
        cause_of(one.result).verdict == "missing" for one in (run(1, None, outcome=None), died)
    )
