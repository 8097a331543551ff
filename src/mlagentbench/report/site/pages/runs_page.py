"""The table of all runs, as compact data that the page's script filters and sorts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.records import Json
from mlagentbench.report.number_format import (
    dollars_text,
    duration_text,
    normalised_text,
    number_text,
    tokens_text,
)
from mlagentbench.report.report_data import CollectedRun, ReportData
from mlagentbench.statistics.cell_marks import agent_of

TEMPLATE = "runs.html"
WITHOUT_SCRIPTS = 200
"""Runs that are listed without JavaScript."""

Success = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class ListedRun:
    """One run in the table."""

    page: str
    run: str
    task: str
    agent: str
    model: str
    tier: str
    outcome: str
    success: Success
    score: float | None
    normalised: float | None
    steps: int
    seconds: float
    tokens: int | None
    cost: float | None
    findings: int
    integrity: int
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class RunColumn:
    key: str
    title: str
    is_number: bool = False


@dataclass(frozen=True)
class RunsView:
    columns: tuple[RunColumn, ...]
    total: int
    first: tuple[ListedRun, ...]
    data: str
    """JSON without any `<`, so that it is safe in a page's script element."""


COLUMNS = (
    RunColumn("task", "task"),
    RunColumn("agent", "agent"),
    RunColumn("model", "model"),
    RunColumn("run", "run"),
    RunColumn("success", "success"),
    RunColumn("score", "score", True),
    RunColumn("normalised", "normalised", True),
    RunColumn("outcome", "ended"),
    RunColumn("steps", "steps", True),
    RunColumn("seconds", "time", True),
    RunColumn("tokens", "tokens", True),
    RunColumn("cost", "cost", True),
    RunColumn("findings", "findings", True),
    RunColumn("integrity", "in doubt", True),
    RunColumn("tier", "tier"),
)
NAMED = ("task", "agent", "model", "tier", "outcome", "success")
"""Columns whose distinct texts are stored once; rows hold their indexes."""
SHOWN: dict[str, Callable[[float | None], str]] = {
    "score": number_text,
    "normalised": normalised_text,
    "seconds": duration_text,
    "tokens": tokens_text,
    "cost": dollars_text,
}
"""Columns of numbers that are displayed as text."""


def runs_view(data: ReportData) -> RunsView:
    lines = [_line(run) for run in data.collection.runs]
    return RunsView(
        columns=COLUMNS,
        total=len(lines),
        first=tuple(lines[:WITHOUT_SCRIPTS]),
        data=_packed(lines),
    )


def _line(run: CollectedRun) -> ListedRun:
    summary = run.summary
    record, grade = summary.result.record, summary.result.grade
    facts = record.disclosure
    findings = summary.process.findings
    return ListedRun(
        page=run.name,
        run=str(record.epoch),
        task=facts.task,
        agent=agent_of(record),
        model=facts.model,
        tier=facts.tier,
        outcome=summary.result.outcome.kind if summary.result.outcome else "not ended",
        success=_success(summary),
        score=grade.score if grade else None,
        normalised=grade.normalised if grade else None,
        steps=summary.efficiency.steps,
        seconds=summary.efficiency.working_seconds,
        tokens=summary.efficiency.tokens,
        cost=summary.efficiency.cost,
        findings=len(findings),
        integrity=sum(finding.is_integrity for finding in findings),
        kinds=tuple(dict.fromkeys(finding.kind for finding in findings)),
    )


def _success(summary: RunSummary) -> Success:
    grade = summary.result.grade
    if grade is None or grade.success is None:
        return "unknown"
    return "yes" if grade.success else "no"


def _packed(lines: Sequence[ListedRun]) -> str:
    columns = ["page", *(column.key for column in COLUMNS), "kinds"]
    names = {key: sorted({getattr(line, key) for line in lines}) for key in NAMED}
    places = {key: {text: at for at, text in enumerate(texts)} for key, texts in names.items()}
    kinds = sorted({kind for line in lines for kind in line.kinds})

    def value(line: ListedRun, key: str) -> Json:
        if key in places:
            return places[key][getattr(line, key)]
        if key == "kinds":
            return [kinds.index(kind) for kind in line.kinds]
        return getattr(line, key)

    packed = {
        "columns": columns,
        "names": names,
        "kinds": kinds,
        "rows": [[value(line, key) for key in columns] for line in lines],
        "shown": {key: [text(getattr(line, key)) for line in lines] for key, text in SHOWN.items()},
    }
    return json.dumps(packed, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
