"""Crashes of what the agent ran, and whether it got its scripts to run again."""

from collections.abc import Iterator
from typing import Literal

from mlagentbench.analysis.detectors.parsing.step_facts import executed_script, is_execution
from mlagentbench.analysis.findings import Debugging, Finding
from mlagentbench.records import Record, Step
from mlagentbench.runs.journal import History

TRIES = 3
"""A script that crashed so often at a stretch was debugged in vain, whatever other scripts did; one
that crashed less often only if the run ended without another script that ran well."""
_LAST_WORDS = 200


def crashed(step: Step) -> bool:
    return step.observation.status in ("error", "limit")


def crashes(history: History) -> Iterator[Finding]:
    """Every execution that ended with an error or by a limit."""
    for step in history.steps:
        if is_execution(step) and crashed(step):
            what = executed_script(step) or "code in the Python session"
            yield Finding(
                kind="crash",
                steps=(step.n,),
                form=_crash_form(step),
                detail=f"{what}: {_why(step)}",
                quote=step.observation.text.rstrip()[-_LAST_WORDS:],
            )


def _crash_form(step: Step) -> Literal["exit", "time", "memory", "limit"]:
    if step.observation.status == "error":
        return "exit"
    limit = step.observation.limit or ""
    if "time" in limit:
        return "time"
    return "memory" if limit == "memory" else "limit"


def _why(step: Step) -> str:
    seen = step.observation
    if seen.limit is not None:
        return f"ended by the limit on {seen.limit}"
    return "failed" if seen.exit_code is None else f"failed with exit code {seen.exit_code}"


class Stretch(Record):
    """Crashes of one script with no good execution of it between them."""

    script: str
    crashes: tuple[int, ...]
    solved_at: int | None = None


def stretches(history: History) -> list[Stretch]:
    """All stretches of crashes, in the order in which they began."""
    running: dict[str, list[int]] = {}
    found: list[Stretch] = []
    for step in history.steps:
        script = executed_script(step)
        if not script:
            continue
        if crashed(step):
            running.setdefault(script, []).append(step.n)
        elif script in running:
            steps = tuple(running.pop(script))
            found.append(Stretch(script=script, crashes=steps, solved_at=step.n))
    found += [Stretch(script=script, crashes=tuple(steps)) for script, steps in running.items()]
    return sorted(found, key=lambda stretch: stretch.crashes[0])


def debugging(history: History) -> tuple[Debugging, ...]:
    """How long each script stayed broken."""
    last = history.steps[-1].n if history.steps else 0
    return tuple(
        Debugging(
            script=one.script,
            first_step=one.crashes[0],
            last_step=last if one.solved_at is None else one.solved_at,
            solved=one.solved_at is not None,
        )
        for one in stretches(history)
    )


def failed_debugging(history: History) -> Iterator[Finding]:
    """Scripts that crashed and never ran well again, after some tries or at the end of the run."""
    good = [step.n for step in history.steps if executed_script(step) and not crashed(step)]
    last_good = max(good, default=0)
    has_ended = ended_by_itself(history)
    for stretch in stretches(history):
        if stretch.solved_at is not None:
            continue
        times = len(stretch.crashes)
        was_given_up = has_ended and last_good < stretch.crashes[-1]
        if times < TRIES and not was_given_up:
            continue
        yield Finding(
            kind="failed-debugging",
            steps=stretch.crashes,
            detail=f"{stretch.script} crashed {times} time{'s' * (times > 1)} and never ran again",
        )


def ended_by_itself(history: History) -> bool:
    """Whether the run came to an end that is the agent's own, not the harness's."""
    return history.outcome is not None and history.outcome.kind not in ("failed", "interrupted")
