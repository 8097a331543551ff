"""Crashes of scripts and code, and whether the agent fixed them."""

from collections.abc import Iterator
from typing import Literal

from mlagentbench.analysis.detectors.parsing.step_facts import executed_script, is_execution
from mlagentbench.analysis.findings import Debugging, Finding
from mlagentbench.records import Record, Step
from mlagentbench.runs.journal import History

TRIES = 3
"""Debugging failed if a script crashed this often in a row; or less often, if no script ran
successfully between its last crash and the end of the run."""
_QUOTED = 200


def crashed(step: Step) -> bool:
    return step.observation.status in ("error", "limit")


def crashes(history: History) -> Iterator[Finding]:
    """Every execution that ended with an error or exceeded a limit."""
    for step in history.steps:
        if is_execution(step) and crashed(step):
            what = executed_script(step) or "code in the Python session"
            yield Finding(
                kind="crash",
                steps=(step.n,),
                form=_crash_form(step),
                detail=f"{what}: {_why(step)}",
                quote=step.observation.text.rstrip()[-_QUOTED:],
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


class CrashSeries(Record):
    """Consecutive crashes of one script."""

    script: str
    crashes: tuple[int, ...]
    solved_at: int | None = None


def crash_series(history: History) -> list[CrashSeries]:
    """All series of crashes, in the order in which they began."""
    running: dict[str, list[int]] = {}
    found: list[CrashSeries] = []
    for step in history.steps:
        script = executed_script(step)
        if not script:
            continue
        if crashed(step):
            running.setdefault(script, []).append(step.n)
        elif script in running:
            steps = tuple(running.pop(script))
            found.append(CrashSeries(script=script, crashes=steps, solved_at=step.n))
    found += [CrashSeries(script=script, crashes=tuple(steps)) for script, steps in running.items()]
    return sorted(found, key=lambda one: one.crashes[0])


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
        for one in crash_series(history)
    )


def failed_debugging(history: History) -> Iterator[Finding]:
    """Scripts that crashed and never ran successfully again."""
    good = [step.n for step in history.steps if executed_script(step) and not crashed(step)]
    last_good = max(good, default=0)
    has_ended = ended_by_itself(history)
    for series in crash_series(history):
        if series.solved_at is not None:
            continue
        times = len(series.crashes)
        was_given_up = has_ended and last_good < series.crashes[-1]
        if times < TRIES and not was_given_up:
            continue
        yield Finding(
            kind="failed-debugging",
            steps=series.crashes,
            detail=f"{series.script} crashed {times} time{'s' * (times > 1)} and never ran again",
        )


def ended_by_itself(history: History) -> bool:
    """Whether the agent or a limit ended the run, not a failure or an interruption."""
    return history.outcome is not None and history.outcome.kind not in ("failed", "interrupted")
