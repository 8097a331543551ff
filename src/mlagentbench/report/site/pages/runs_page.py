"""The table of all runs, as compact data that the page's script filters and sorts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlagentbench.grading.rungs import rung_of
from mlagentbench.numeric.number_format import (
    dollars_text,
    duration_text,
    normalised_text,
    number_text,
    tokens_text,
)
from mlagentbench.records import Json
from mlagentbench.report.report_data import CollectedRun, ReportData
from mlagentbench.statistics.cell_marks import agent_of

TEMPLATE = "runs.html"
WITHOUT_SCRIPTS = 200
"""Runs that are listed without JavaScript."""

RunValues = dict[str, Json]
"""One run in the table, by the keys of its columns."""


@dataclass(frozen=True)
class RunColumn:
    key: str
    title: str
    is_number: bool = False


@dataclass(frozen=True)
class RunsView:
    columns: tuple[RunColumn, ...]
    total: int
    first: tuple[RunValues, ...]
    data: str
    """JSON without any `<`, so that it is safe in a page's script element."""


COLUMNS = (
    RunColumn("task", "task"),
    RunColumn("agent", "agent"),
    RunColumn("model", "model"),
    RunColumn("run", "run"),
    RunColumn("success", "success"),
    RunColumn("rung", "rung"),
    RunColumn("score", "score", True),
    RunColumn("normalised", "normalised", True),
    RunColumn("outcome", "ended"),
    RunColumn("steps", "steps", True),
    RunColumn("seconds", "time", True),
    RunColumn("tokens", "tokens", True),
    RunColumn("cost", "cost", True),
    RunColumn("findings", "findings", True),
    RunColumn("integrity", "flagged", True),
    RunColumn("tier", "tier"),
)
NAMED = ("task", "agent", "model", "tier", "outcome", "success", "rung")
"""Columns whose distinct texts are stored once; rows hold their indexes."""
FORMATS: dict[str, Callable[[float | None], str]] = {
    "score": number_text,
    "normalised": normalised_text,
    "seconds": duration_text,
    "tokens": tokens_text,
    "cost": dollars_text,
}
"""Columns of numbers that are displayed as text."""


def runs_view(data: ReportData) -> RunsView:
    lines = [run_values(run) for run in data.collection.runs]
    return RunsView(
        columns=COLUMNS,
        total=len(lines),
        first=tuple(lines[:WITHOUT_SCRIPTS]),
        data=_packed(lines),
    )


def run_values(run: CollectedRun) -> RunValues:
    """One run, by the keys of the table's columns."""
    result, used = run.summary.result, run.summary.efficiency
    record, grade = result.record, result.grade
    findings = run.summary.process.findings
    success = None if grade is None else grade.success
    return {
        "page": run.name,
        "run": str(record.epoch),
        "task": record.disclosure.task,
        "agent": agent_of(record),
        "model": record.disclosure.model,
        "tier": record.disclosure.tier,
        "outcome": result.outcome.kind if result.outcome else "not ended",
        "success": "unknown" if success is None else "yes" if success else "no",
        "score": grade.score if grade else None,
        "normalised": grade.normalised if grade else None,
        "rung": rung_of(grade) if grade else "unknown",
        "ceiling_share": grade.ceiling_share if grade else None,
        "steps": used.steps,
        "seconds": used.working_seconds,
        "tokens": used.tokens,
        "cost": used.cost,
        "findings": len(findings),
        "integrity": int(run.summary.is_flagged) + len(run.summary.altered),
        "kinds": list(dict.fromkeys(finding.kind for finding in findings)),
    }


def _packed(lines: Sequence[RunValues]) -> str:
    columns = ["page", *(column.key for column in COLUMNS), "kinds"]
    names = {key: sorted({line[key] for line in lines}) for key in NAMED}
    indexes = {key: {text: at for at, text in enumerate(texts)} for key, texts in names.items()}
    kinds = sorted({kind for line in lines for kind in line["kinds"]})

    def value(line: RunValues, key: str) -> Json:
        if key in indexes:
            return indexes[key][line[key]]
        return [kinds.index(kind) for kind in line[key]] if key == "kinds" else line[key]

    packed = {
        "columns": columns,
        "names": names,
        "kinds": kinds,
        "rows": [[value(line, key) for key in columns] for line in lines],
        "shown": {key: [text(line[key]) for line in lines] for key, text in FORMATS.items()},
    }
    return json.dumps(packed, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
