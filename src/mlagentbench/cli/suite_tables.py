"""The tables at the end of `mlagentbench run`: per task, one line for each agent and model."""

from collections.abc import Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from mlagentbench.numeric.number_format import (
    NOTHING,
    duration_text,
    normalised_text,
    number_text,
    rate_text,
    spread_text,
)
from mlagentbench.statistics.cells import CellStatistics, Mean, Rate
from mlagentbench.statistics.variants import VariantDifference
from mlagentbench.terminal import Terminal, text_block, text_line
from mlagentbench.untrusted_text import one_line

NARROW = 100
"""Columns of a terminal below which names of models are broken at the provider."""
RENAMED_EXPLANATION = (
    "Names changed, data the same. A score that falls under new names came in part from knowing\n"
    "the data set; ± SE: standard error over pairs of runs with the same seed."
)


def print_tables(
    console: Terminal, lines: Sequence[CellStatistics], *, paper: bool = False
) -> None:
    """A table for each task and data set; with `paper`, the paper's rule comes first."""
    with_model = any(line.key.model != "none" for line in lines)
    for _, group in groupby(lines, key=_data_set):
        members = list(group)
        console.print()
        _print_heading(console, members)
        narrow = console.width < NARROW
        console.print(_table(members, with_model, paper, narrow))
        for line in members:
            for mark in line.marks:
                text = f"  {line.key.agent}: {mark}"
                console.print(text, style="dim")


def _data_set(line: CellStatistics) -> tuple[str, str, str]:
    conditions = line.key.conditions
    return line.key.task, line.data_description, conditions.data


def _print_heading(console: Terminal, lines: Sequence[CellStatistics]) -> None:
    line = next((one for one in lines if one.counted), lines[0])
    measured = "floor and bar not measured on this data" if line.counted else "not graded"
    if line.floor is not None:
        of_draws = f" (means over {len(line.draws)} draws)" if len(line.draws) > 1 else ""
        measured = (
            f"floor {number_text(line.floor)}, bar {number_text(line.bar)}, "
            f"reference {number_text(line.reference)}{of_draws}"
        )
    metric = f"{line.metric}, {line.better} is better"
    console.print(line.key.task, style="bold", end="")
    console.print(f" ({line.data_description}): {metric}", soft_wrap=True)
    console.print(measured, soft_wrap=True)


def _model(name: str, narrow: bool) -> Text:
    """A model's name; on a narrow terminal a provider other than ours has its own line."""
    if not narrow:
        return text_line(name)
    return text_block(one_line(name.removeprefix("mlagentbench/")).replace("/", "/\n", 1))


def _table(lines: Sequence[CellStatistics], with_model: bool, paper: bool, narrow: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("agent", overflow="fold")
    if with_model:
        table.add_column("model", overflow="fold")
    rules = ["success [95 %]", "paper"]
    scores = [
        _heading("score", [line.score for line in lines]),
        _heading("normalised", [line.normalised for line in lines]),
    ]
    names = ["valid", *(reversed(rules) if paper else rules), *scores, "time"]
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for line in lines:
        success = line.success
        rates = [
            rate_text(success.successes, success.n, success.interval),
            _count(line.paper_success),
        ]
        table.add_row(
            line.key.agent,
            *([_model(line.key.model, narrow)] if with_model else []),
            _count(line.valid),
            *(reversed(rates) if paper else rates),
            spread_text(line.score.mean, line.score.standard_error, None),
            spread_text(line.normalised.mean, line.normalised.standard_error, None, places=2),
            duration_text(line.working_seconds.mean),
        )
    return table


def _heading(name: str, means: Sequence[Mean]) -> Text:
    """A column's name, and what its spreads are, if it has any."""
    known = any(mean.standard_error is not None for mean in means)
    return text_block(f"{name}\n± SE" if known else name)


def _count(rate: Rate) -> str:
    return f"{rate.successes}/{rate.n}" if rate.n else NOTHING


def print_differences(console: Terminal, differences: Sequence[VariantDifference]) -> None:
    """What renaming the tasks' data changed."""
    if not differences:
        return
    console.heading("renamed against original")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("task", "agent", "model", "pairs", "original", "renamed", "difference"):
        table.add_column(name, justify="left" if name in ("task", "agent", "model") else "right")
    for line in differences:
        table.add_row(
            f"{line.task} ({line.tier})",
            line.agent,
            line.model,
            str(line.pairs),
            normalised_text(line.original_mean),
            normalised_text(line.renamed_mean),
            spread_text(line.difference, line.standard_error, "SE", places=2),
        )
    console.print(table)
    console.print(text_block(RENAMED_EXPLANATION, "dim"))
