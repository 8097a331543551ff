"""What a run is expected to take: from past runs, else from what the package ships.

The sources, the best first:

1. past runs below --out of the same task, agent and model
2. past runs of the same task and agent, with other models
3. past runs of the same agent and model, on other tasks
4. what `tasks measure` measured: the time of the starter and of the solution
5. the shipped recordings of the agent: its tokens
6. the paper's tokens

A profile says which one it is from. What none of them knows is None, not 0.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.launch.presets.estimate import PAPER_TOKENS
from mlagentbench.launch.presets.preset import PAPER_STEPS
from mlagentbench.launch.request import Cell, RunSettings
from mlagentbench.limit_table import LIMITS
from mlagentbench.models.model_choice import NO_MODEL
from mlagentbench.models.recording import SHIPPED, RecordedRun, read_recordings
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record
from mlagentbench.runs.results import RunResult, read_run, run_directories
from mlagentbench.tasks.task import load_task

ENDED: tuple[str, ...] = ("submitted", "context", "refusal", *LIMITS)
"""The ends of runs that took all they take; others were interrupted, or failed."""

MEASURED = "time from the task's measurements"


class AmountSpread(Record):
    """An amount for one run: the mean, and the least and the most that were seen."""

    low: float
    mean: float
    high: float
    n: int
    """The runs it is from; 1 has no spread."""

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "AmountSpread | None":
        """The spread of the values that are known; None if none is."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        mean = sum(known) / len(known)
        return cls(low=min(known), mean=mean, high=max(known), n=len(known))


class Profile(Record):
    """What one run of a cell is expected to take; None is unknown."""

    source: str
    """Where the time is from, and the tokens if nothing else is said."""
    seconds: AmountSpread | None = None
    input_tokens: AmountSpread | None = None
    output_tokens: AmountSpread | None = None
    tokens_source: str | None = None
    stored: AmountSpread | None = None


class PastRuns:
    """The runs below an --out that have ended."""

    def __init__(self, results: Iterable[RunResult]) -> None:
        self._runs = [
            run for run in results if run.outcome is not None and run.outcome.kind in ENDED
        ]

    @classmethod
    def below(cls, out: Path) -> "PastRuns":
        return cls(_read(out) if out.is_dir() else ())

    def like(self, cell: Cell, settings: RunSettings) -> tuple[str, list[RunResult]]:
        """The past runs that are most like those of a cell, and what they have in common."""
        tests: dict[str, Callable[[RunResult], bool]] = {
            "task": lambda run: run.record.disclosure.task == load_task(cell.task).id,
            "agent": lambda run: (
                (run.record.disclosure.agent, run.record.disclosure.agent_settings)
                == (cell.info.name, cell.agent.settings)
            ),
            "model": lambda run: run.record.disclosure.model == cell.model,
        }
        kind = (settings.tier, not settings.no_execution)
        disclosed = ((run, run.record.disclosure) for run in self._runs)
        of_tier = [run for run, facts in disclosed if (facts.tier, facts.execution) == kind]
        for names, described in (
            (("task", "agent", "model"), "of the same task, agent and model"),
            (("task", "agent"), "of the same task and agent, with other models"),
            (("agent", "model"), "of the same agent and model, on other tasks"),
        ):
            found = [run for run in of_tier if all(tests[name](run) for name in names)]
            if found:
                return f"from {counted(len(found), 'past run')} {described}", found
        return "", []


def _read(out: Path) -> Iterator[RunResult]:
    for directory in run_directories(out):
        try:
            yield read_run(directory)
        except UsageError:  # a damaged run: reports name it
            continue


def profile_of(cell: Cell, settings: RunSettings, past: PastRuns) -> Profile:
    """What a run of a cell is expected to take."""
    described, runs = past.like(cell, settings)
    if runs:
        return _of_past(described, runs)
    measured = _of_measurements(cell, settings)
    return measured if cell.model == NO_MODEL else _with_tokens(measured, cell, settings)


def _of_past(described: str, runs: Sequence[RunResult]) -> Profile:
    usages = [run.usage for run in runs]
    return Profile(
        source=described,
        seconds=AmountSpread.of(usage.seconds for usage in usages),
        input_tokens=AmountSpread.of(usage.input_tokens for usage in usages),
        output_tokens=AmountSpread.of(usage.output_tokens for usage in usages),
        stored=AmountSpread.of(usage.stored for usage in usages),
    )


def _of_measurements(cell: Cell, settings: RunSettings) -> Profile:
    """The time of a reference agent, which runs the starter or the solution."""
    none = AmountSpread(low=0, mean=0, high=0, n=1)
    tokens = none if cell.model == NO_MODEL else None
    measured = settings.task(cell.task).shipped_measurements(settings.tier)
    seconds: float | None = None
    if measured is not None:
        times = {"baseline": measured.starter.seconds, "oracle": measured.reference.seconds}
        seconds = times.get(cell.info.name)
    if cell.info.name == "nop":
        seconds = 0.0
    known = "nothing is known of its time but the limit" if seconds is None else MEASURED
    return Profile(
        source=known,
        seconds=AmountSpread.of([seconds]),
        input_tokens=tokens,
        output_tokens=tokens,
    )


def _with_tokens(measured: Profile, cell: Cell, settings: RunSettings) -> Profile:
    recorded = [run for run in _shipped() if run.run.agent == cell.info.name]
    same_task = [run for run in recorded if run.run.task == load_task(cell.task).id]
    if runs := same_task or recorded:
        return measured.model_copy(
            update={
                "input_tokens": AmountSpread.of(
                    sum(r.input_tokens for r in one.replies) for one in runs
                ),
                "output_tokens": AmountSpread.of(
                    sum(r.output_tokens for r in one.replies) for one in runs
                ),
                "tokens_source": f"{counted(len(runs), 'shipped recording')} of the agent"
                + ("" if same_task else ", on other tasks"),
            }
        )
    steps = settings.limits(settings.task(cell.task).spec).get("steps") or PAPER_STEPS
    return measured.model_copy(
        update={
            "input_tokens": AmountSpread.of([PAPER_TOKENS * steps / PAPER_STEPS]),
            "output_tokens": AmountSpread.of([0.0]),
            "tokens_source": f"the paper's {PAPER_TOKENS:,.0f} tokens for {PAPER_STEPS} actions, "
            "counted as input",
        }
    )


@cache
def _shipped() -> tuple[RecordedRun, ...]:
    return read_recordings(SHIPPED).runs
