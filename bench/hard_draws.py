"""Whether the hard tier of every task holds on many draws.

Each draw is measured as for a run: starter, trivial predictors, default, ablations and reference.
Then the reference is run with the findings of another draw in place of its own.
"""

import asyncio
import statistics
from collections.abc import Iterator

from mlagentbench.errors import UnusableDraw
from mlagentbench.fs import scratch_directory
from mlagentbench.grading.success import compare_with_bar, exceeds_ceiling, floor_of, normalised
from mlagentbench.records import Record
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.task_checks.hard_coded import findings_in, hard_coded
from mlagentbench.task_checks.trial_runs import Trials
from mlagentbench.tasks.draws import all_draws
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.spec import Measured, Metric
from mlagentbench.tasks.suites import load_suite
from mlagentbench.tasks.task import HARD, Task, load_task

SHARE_BELOW = 0.5
"""A solution that knows one draw by heart must be below the bar on this share of the others."""


class OverDraws(Record):
    """Scores of one program, or of the best of several, over draws."""

    mean: float
    sd: float
    normalised: float | None = None
    """The mean of 0 at each draw's floor, 1 at its reference."""
    highest: float | None = None
    lowest: float | None = None


class HardDraws(Record):
    """The hard tier of a task on many draws."""

    task: str
    pool: str
    draws: int
    unusable: tuple[str, ...] = ()
    """Draws on which the reference is not safely above the floor."""
    above_ceiling: tuple[str, ...] = ()
    """Draws on which the reference is better than the best possible score."""
    rows: dict[str, OverDraws]
    starter_cpu_seconds: float
    reference_cpu_seconds: float
    hard_coded: int
    """Draws on which the solution ran with the findings of another."""
    hard_coded_below: int
    """Those on which it was below the bar."""

    @property
    def holds(self) -> bool:
        is_safe = not self.unusable and not self.above_ceiling
        return is_safe and self.hard_coded_below >= SHARE_BELOW * self.hard_coded


def hard_draws(tasks: str | None, draws: int, hard_coded_draws: int) -> Iterator[HardDraws]:
    """Tasks with a hard tier, in both pools; draws that were measured before are kept."""
    for name in tasks.split(",") if tasks else load_suite(HARD).tasks:
        task = load_task(name, HARD)
        yield asyncio.run(_on_draws(task, f"1..{draws}", hard_coded_draws))
        yield asyncio.run(_on_draws(task, f"train:1..{max(2, draws // 3)}", 0))


async def _on_draws(task: Task, policy: str, others: int) -> HardDraws:
    found: dict[str, Measured] = {}
    unusable = []
    for draw in all_draws(policy):
        data, python_env = await asyncio.to_thread(ensure_ready, task, "hard", draw, call=call_task)
        try:
            found[draw] = await ensure_measured(task, data, python_env, None, print)
        except UnusableDraw as reason:
            print(reason)
            unusable.append(draw)
    metric = task.spec.metric
    beyond = [d for d, one in found.items() if exceeds_ceiling(metric, one, one.reference.mean)]
    below = await _hard_coded_below(task, found, others) if others else []
    return HardDraws(
        task=task.id,
        pool="train" if policy.startswith("train:") else "eval",
        draws=len(found) + len(unusable),
        unusable=tuple(unusable),
        above_ceiling=tuple(beyond),
        rows=_rows(metric, list(found.values())),
        starter_cpu_seconds=_mean_of(one.starter.cpu_seconds for one in found.values()),
        reference_cpu_seconds=_mean_of(one.reference.cpu_seconds for one in found.values()),
        hard_coded=len(below),
        hard_coded_below=sum(below),
    )


async def _hard_coded_below(task: Task, found: dict[str, Measured], others: int) -> list[bool]:
    """On each of some draws, whether the solution with the draw before's findings is no success."""
    below, findings = [], None
    for draw in list(found)[: others + 1]:
        data, python_env = await asyncio.to_thread(ensure_ready, task, "hard", draw, call=call_task)
        with scratch_directory("hard-coded") as scratch:
            trials = Trials(task, data, python_env, scratch, print)
            if findings is not None:
                trial = await trials.program("hard-coded", hard_coded(task, findings))
                compared = compare_with_bar(task.spec.metric, found[draw], trial.scored.score)
                below.append(not compared.success)
            findings = findings_in(task, (await trials.solution(1)).output)
    return below


def _rows(metric: Metric, found: list[Measured]) -> dict[str, OverDraws]:
    """One row a program, the best of the default, floor, bar and ceiling."""
    columns: dict[str, list[float | None]] = {
        "floor": [floor_of(metric, one) for one in found],
        "starter": [one.starter.mean for one in found],
        "default": [metric.best(list(one.default.values())) for one in found],
        "ablations": [metric.best(list(one.ablations.values())) for one in found],
        "bar": [one.bar for one in found],
        "reference": [one.reference.mean for one in found],
        "ceiling": [one.ceiling for one in found],
    }
    columns |= {name: [one.beaten[name] for one in found] for name in found[0].beaten}
    known = {name: scores for name, scores in columns.items() if None not in scores}
    return {name: _over(metric, found, scores) for name, scores in known.items()}


def _over(metric: Metric, found: list[Measured], scores: list[float | None]) -> OverDraws:
    known = [score for score in scores if score is not None]
    worth = [
        value
        for one, score in zip(found, known, strict=True)
        if (value := normalised(metric, score, floor_of(metric, one), one.reference.mean))
        is not None
    ]
    return OverDraws(
        mean=statistics.fmean(known),
        sd=statistics.stdev(known) if len(known) > 1 else 0.0,
        normalised=statistics.fmean(worth) if worth else None,
        highest=max(worth, default=None),
        lowest=min(worth, default=None),
    )


def _mean_of(values: Iterator[float | None]) -> float:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else 0.0
