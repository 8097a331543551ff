"""Whether the solution of every mini task keeps its score on draws that it never saw.

The oracle agent runs on a draw of its own and is rebuilt on fresh ones, as any agent would be
under --protocol rebuild. What it keeps is what a task's solution is worth on any draw.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from mlagentbench.records import Record
from mlagentbench.runs.results import RunResult, collect
from mlagentbench.tasks.suites import load_suite
from mlagentbench.tasks.task import load_task

GIVEN = "oracles"
"""The label of the given draw."""
GIVEN_AGAIN = "oracles-again"
"""The label of a second given draw, for what the first one made doubtful."""
WIDEST_GAP = 3.0
"""Standard errors by which a solution may be better on the given draw than on the fresh ones.

From five fresh draws, chance alone exceeds it in about 2 of 100 tasks, so in every fourth soak
some sound task does. Such a task is measured once more, with all draws new: what is wide by
chance is wide again in 2 of 100, and what is wide by nature is wide again.
"""


class RebuiltOracle(Record):
    """A task's solution on a given draw and on fresh ones, in normalised scores."""

    task: str
    given: float | None = None
    fresh: tuple[float | None, ...] = ()
    skipped: int = 0
    """Draws that could not be measured."""
    mean: float | None = None
    standard_error: float | None = None
    transfer_gap: float | None = None
    gap_error: float | None = None
    success: bool = False
    cpu_seconds: float = 0.0
    """Of making the submission again on all draws, the given one too."""
    failure: str | None = None
    again: "RebuiltOracle | None" = None
    """On another given draw and other fresh ones, if the gap here is wide."""

    @property
    def keeps_its_score(self) -> bool:
        if not self.success or self.transfer_gap is None:
            return False
        return self.again.keeps_its_score if self.again is not None else not self.has_wide_gap

    @property
    def has_wide_gap(self) -> bool:
        if self.transfer_gap is None or self.gap_error is None:
            return False
        return self.transfer_gap > WIDEST_GAP * self.gap_error


def rebuilt_oracles(command: str | Path, draws: int, out: Path) -> Iterator[RebuiltOracle]:
    """The solutions of all mini tasks that need no model; an `out` from before is continued."""
    for task in sorted(load_suite("v1").tasks):
        if load_task(task).spec.tool_model is not None:
            continue
        oracle = _measured(command, task, GIVEN, draws, out / task)
        if oracle.has_wide_gap:
            again = _measured(command, task, GIVEN_AGAIN, draws, out / f"{task}-again")
            oracle = oracle.model_copy(update={"again": again})
        yield oracle


def _measured(command: str | Path, task: str, given: str, draws: int, out: Path) -> RebuiltOracle:
    options = ["--agents", "oracle", "--draw", given, "--protocol", "rebuild"]
    options += ["--rebuild-draws", str(draws), "--jobs", "1", "--out", str(out)]
    done = subprocess.run(
        [command, "run", "--tasks", task, *options], capture_output=True, text=True
    )
    results = collect(out)
    return _oracle(task, results[0] if results else None, done.stderr)


def _oracle(task: str, result: RunResult | None, said: str) -> RebuiltOracle:
    rebuilt = None if result is None else result.rebuilt
    if rebuilt is None:
        return RebuiltOracle(task=task, failure=said[-1000:])
    return RebuiltOracle(
        task=task,
        given=rebuilt.given.normalised,
        fresh=tuple(one.normalised for one in rebuilt.fresh),
        skipped=len(rebuilt.skipped),
        mean=rebuilt.mean,
        standard_error=rebuilt.standard_error,
        transfer_gap=rebuilt.transfer_gap,
        gap_error=rebuilt.gap_error,
        success=rebuilt.success,
        cpu_seconds=rebuilt.cpu_seconds,
    )
