"""The tables at the end of `mlagentbench run`: per task, one line for each agent and model."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from mlagentbench.report.number_format import (
    NOTHING,
    duration_text,
    mean_text,
    normalised_text,
    number_text,
    rate_text,
)
from mlagentbench.statistics.cells import CellStatistics, Rate

NARROW = 100
"""Columns of a terminal below which names of models are broken at the provider."""


def print_tables(console: Console, lines: Sequence[CellStatistics], *, paper: bool = False) -> None:
    """A table for each task and data set; with `paper`, the paper's rule comes first."""
    with_model = any(line.key.model != "none" for line in lines)
    for _, group in groupby(lines, key=_data_set):
        members = list(group)
        console.print()
        for text in _heading(members):
            console.print(text, highlight=False, soft_wrap=True)
        narrow = console.width < NARROW
        console.print(_table(members, with_model, paper, narrow))
        for line in members:
            for mark in line.marks:
                text = f"  {line.key.agent}: {mark}"
                console.print(text, style="dim", highlight=False, markup=False)


def _data_set(line: CellStatistics) -> tuple[str, str, str]:
    conditions = line.key.conditions
    return line.key.task, conditions.tier, conditions.data_hash


def _heading(lines: Sequence[CellStatistics]) -> tuple[str, str]:
    line = next((one for one in lines if one.counted), lines[0])
    figures = "floor and bar not measured on this data" if line.counted else "not graded"
    if line.floor is not None:
        figures = (
            f"floor {number_text(line.floor)}, bar {number_text(line.bar)}, "
            f"reference {number_text(line.reference)}"
        )
    metric = f"{line.metric}, {line.better} is better"
    return f"[bold]{line.key.task}[/bold] ({line.data_description}): {metric}", figures


def _model(name: str, narrow: bool) -> str:
    """A model's name; on a narrow terminal its provider has a line of its own, or none if ours."""
    return name.removeprefix("mlagentbench/").replace("/", "/\n", 1) if narrow else name


def _table(lines: Sequence[CellStatistics], with_model: bool, paper: bool, narrow: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("agent", overflow="fold")
    if with_model:
        table.add_column("model", overflow="fold")
    rules = ["success [95 %]", "paper"]
    names = ["valid", *(reversed(rules) if paper else rules), "score", "normalised", "time"]
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for line in lines:
        rates = [rate_text(line.success), _count(line.paper_success)]
        table.add_row(
            line.key.agent, *([_model(line.key.model, narrow)] if with_model else []),
            _count(line.valid), *(reversed(rates) if paper else rates), mean_text(line.score),
            normalised_text(line.normalised.mean, line.normalised.standard_error),
            duration_text(line.working_seconds.mean),
        )  # fmt: skip
    return table


def _count(rate: Rate) -> str:
    return f"{rate.successes}/{rate.n}" if rate.n else NOTHING
