"""Numbers published in the paper, for orientation beside our results."""

import csv
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files
from statistics import fmean

from mlagentbench.records import Record

SOURCE = (
    'Huang, Vora, Liang, Leskovec: "MLAgentBench: Evaluating Language Agents on Machine Learning '
    'Experimentation", ICML 2024, PMLR 235:20271-20309, tables 3 and 4'
)
CAVEAT = "published, other data and rule: not comparable run by run"
MEAN_ROW = "Average"
OVER_SHOWN = "mean over the tasks shown"
PAPERS_OWN = "the paper's mean over its 13 tasks"


class PublishedRow(Record):
    """What a paper reports of one model on one task, by its own rule, in percent."""

    model: str
    task: str
    success_percent: float
    improvement_percent: float
    source: str = SOURCE


def published_rows() -> tuple[PublishedRow, ...]:
    """The rows of the paper's tables of success rates and improvements, without their means."""
    return tuple(row for row in _rows() if row.task != MEAN_ROW)


def published_means() -> tuple[PublishedRow, ...]:
    """The paper's means over its tasks; their task is "Average"."""
    return tuple(row for row in _rows() if row.task == MEAN_ROW)


class PublishedColumn(Record):
    """What the paper reports of one model, beside a table of some tasks."""

    model: str
    by_task: dict[str, PublishedRow]
    """Of the tasks shown, those that the paper has."""
    over_shown: PublishedRow
    """The mean over these tasks."""
    papers_own: PublishedRow
    """The mean that the paper prints, over all of its tasks."""


def published_columns(
    rows: Sequence[PublishedRow], tasks: Collection[str]
) -> list[PublishedColumn]:
    """A column for each model that the paper reports on these tasks."""
    found: dict[str, dict[str, PublishedRow]] = defaultdict(dict)
    for row in rows:
        if row.task in tasks:
            found[row.model][row.task] = row
    means = {row.model: row for row in published_means()}
    return [
        PublishedColumn(
            model=model,
            by_task=by_task,
            over_shown=PublishedRow(
                model=model,
                task=OVER_SHOWN,
                success_percent=fmean(row.success_percent for row in by_task.values()),
                improvement_percent=fmean(row.improvement_percent for row in by_task.values()),
            ),
            papers_own=means[model],
        )
        for model, by_task in found.items()
    ]


def _rows() -> Iterator[PublishedRow]:
    improvements = _table("paper_improvement.csv")
    for task, by_model in _table("paper_success_rate.csv").items():
        for model, percent in by_model.items():
            yield PublishedRow(
                model=model,
                task=task,
                success_percent=percent,
                improvement_percent=improvements[task][model],
            )


def _table(name: str) -> dict[str, dict[str, float]]:
    """Task to model to percent."""
    text = (files("mlagentbench.report") / "published_tables" / name).read_text("utf-8")
    return {
        line.pop("task"): {model: float(percent) for model, percent in line.items()}
        for line in csv.DictReader(row for row in text.splitlines() if not row.startswith("#"))
    }
