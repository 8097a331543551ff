"""A measurement with its target, and how to take one on a noisy machine."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table

from mlagentbench.records import Record


class Measurement(Record):
    """What was measured, mostly as a ratio to something that was measured beside it."""

    what: str
    value: float
    spread: float | None = None
    """Half of the range that the middle half of the repetitions lies in."""
    target: float | None = None
    sense: Literal["at most", "at least"] = "at most"
    unit: Literal["x", "s", "MB"] = "x"
    from_what: str
    """The two measured things, or how the value was obtained."""

    @property
    def is_met(self) -> bool:
        if self.target is None:
            return True
        if self.sense == "at least":
            return self.value >= self.target
        return self.value <= self.target


def interleaved(*calls: Callable[[], object], rounds: int) -> list[list[float]]:
    """Wall times of each, taken in turn."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for taken, call in zip(times, calls, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return times


def ratio(
    what: str, ours: Sequence[float], beside: Sequence[float], target: float | None
) -> Measurement:
    """The ratio of two medians of times that were taken in turn."""
    medians = statistics.median(ours), statistics.median(beside)
    return Measurement(
        what=what,
        value=medians[0] / medians[1],
        spread=half_range([one / other for one, other in zip(ours, beside, strict=True)]),
        target=target,
        from_what=f"{as_text(medians[0])} / {as_text(medians[1])}",
    )


def half_range(values: Sequence[float]) -> float:
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / 2


def as_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def print_table(measurements: Sequence[Measurement]) -> None:
    table = Table(box=None, header_style="bold")
    numbers = ("measured", "± half range")
    for heading in ("what", *numbers, "target", "", "from"):
        table.add_column(heading, justify="right" if heading in numbers else "left")
    for one in measurements:
        target = "-" if one.target is None else f"{one.sense} {one.target:g} {one.unit}"
        spread = "" if one.spread is None else f"± {one.spread:.2f}"
        met = "" if one.target is None else "met" if one.is_met else "[red]missed[/]"
        table.add_row(one.what, f"{one.value:.2f} {one.unit}", spread, target, met, one.from_what)
    Console(width=150).print(table, highlight=False)
