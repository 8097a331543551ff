"""Numbers published in the paper, for orientation beside our results."""

import csv
from collections.abc import Iterator
from importlib.resources import files

from mlagentbench.records import Record

SOURCE = (
    'Huang, Vora, Liang, Leskovec: "MLAgentBench: Evaluating Language Agents on Machine Learning '
    'Experimentation", ICML 2024, PMLR 235:20271-20309, tables 3 and 4'
)
CAVEAT = "published, other data and rule: not comparable run by run"
MEAN_ROW = "Average"


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
