"""The tables for machines: runs, cells, agents, findings and comparisons, from a report's data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import Interval
from mlagentbench.records import GradeRecord, Json, Record
from mlagentbench.report.exports.rows import AgentRow, CellRow, ComparisonRow, FindingRow, RunRow
from mlagentbench.report.report_data import ReportData
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.statistics.cell_marks import agent_of
from mlagentbench.statistics.cells import CellStatistics
from mlagentbench.statistics.comparison import Comparison
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard


@dataclass(frozen=True)
class ExportTable:
    """A table by its file's name, the type of its lines, and how they are made."""

    name: str
    row: type[Record]
    rows: Callable[[ReportData], Iterator[Record]]


def run_rows(data: ReportData) -> Iterator[RunRow]:
    return (_run(summary) for summary in data.collection.summaries)


def cell_rows(data: ReportData) -> Iterator[CellRow]:
    return map(_cell, data.cells)


def agent_rows(data: ReportData) -> Iterator[AgentRow]:
    return (
        _agent(leaderboard, row) for leaderboard in data.leaderboards for row in leaderboard.rows
    )


def finding_rows(data: ReportData) -> Iterator[FindingRow]:
    for summary in data.collection.summaries:
        facts = summary.result.record.disclosure
        for finding in summary.process.findings:
            yield FindingRow(
                out=summary.out,
                path=summary.result.path,
                task=facts.task,
                agent=agent_of(summary.result.record),
                model=facts.model,
                is_integrity=finding.is_integrity,
                steps=" ".join(map(str, finding.steps)),
                **finding.model_dump(exclude={"steps"}),
            )


def comparison_rows(data: ReportData) -> Iterator[ComparisonRow]:
    for leaderboard, comparisons in zip(data.leaderboards, data.comparisons, strict=True):
        for comparison in comparisons:
            yield from _comparison(leaderboard, comparison)


TABLES = (
    ExportTable("runs", RunRow, run_rows),
    ExportTable("cells", CellRow, cell_rows),
    ExportTable("agents", AgentRow, agent_rows),
    ExportTable("findings", FindingRow, finding_rows),
    ExportTable("comparisons", ComparisonRow, comparison_rows),
)


def _run(summary: RunSummary) -> RunRow:
    result, process, took = summary.result, summary.process, summary.efficiency
    record, facts = result.record, result.record.disclosure
    cause = cause_of(result)
    return RunRow(
        out=summary.out,
        path=result.path,
        origin=summary.result.record.origin,
        cluster=summary.cluster,
        agent=agent_of(record),
        epoch=record.epoch,
        created=record.created,
        outcome=result.outcome.kind if result.outcome is not None else None,
        counts=cause.verdict == "counts",
        cause=cause.reason,
        graded=result.grade is not None,
        test_set_low=summary.test_set_interval[0] if summary.test_set_interval else None,
        test_set_high=summary.test_set_interval[1] if summary.test_set_interval else None,
        findings=len(process.findings),
        integrity_findings=sum(finding.is_integrity for finding in process.findings),
        first_cause=process.first_cause,
        first_valid_step=process.first_valid.step if process.first_valid else None,
        best_step=process.best.step if process.best else None,
        regression=process.regression,
        validation_gap=process.validation_gap,
        marks="; ".join(summary.marks),
        **facts.model_dump(include=_COPIED_FACTS),
        **_grade(result.grade),
        **took.model_dump(exclude={"roles"}),
    )


_COPIED_FACTS = set(RunRow.model_fields) - {"agent"}
_COPIED_GRADE = {
    "valid", "score", "normalised", "success", "paper_improvement", "paper_success",
    "above_ceiling", "floor", "bar", "reference",
}  # fmt: skip


def _grade(grade: GradeRecord | None) -> dict[str, Json]:
    if grade is None:
        return dict.fromkeys(_COPIED_GRADE)
    return grade.model_dump(include=_COPIED_GRADE)


def _cell(cell: CellStatistics) -> CellRow:
    key, success, paper = cell.key, cell.success, cell.paper_success
    bounds, improvement = cell.success_bounds, cell.paper_improvement
    score, normalised = cell.score, cell.normalised
    return CellRow(
        task=key.task,
        agent=key.agent,
        model=key.model,
        **key.conditions.model_dump(exclude={"limits", "first_limits", "mini_seed"}),
        successes=success.successes,
        success_n=success.n,
        success_rate=success.rate,
        success_low=success.interval.low,
        success_high=success.interval.high,
        success_if_missing_failed=_low(bounds),
        success_if_missing_succeeded=_high(bounds),
        paper_successes=paper.successes,
        paper_success_n=paper.n,
        paper_success_rate=paper.rate,
        paper_success_low=paper.interval.low,
        paper_success_high=paper.interval.high,
        paper_improvement_mean=improvement.mean,
        paper_improvement_error=improvement.standard_error,
        paper_improvement_low=_low(improvement.interval),
        paper_improvement_high=_high(improvement.interval),
        valid=cell.valid.successes,
        valid_n=cell.valid.n,
        valid_rate=cell.valid.rate,
        score_n=score.n,
        score_mean=score.mean,
        score_error=score.standard_error,
        score_low=_low(score.interval),
        score_high=_high(score.interval),
        normalised_n=normalised.n,
        normalised_mean=normalised.mean,
        normalised_error=normalised.standard_error,
        normalised_low=_low(normalised.interval),
        normalised_high=_high(normalised.interval),
        best_seen_mean=cell.best_seen.mean,
        submitted_mean=cell.submitted_of_those.mean,
        pass_at_1=cell.pass_at.get(1),
        pass_at_2=cell.pass_at.get(2),
        pass_at_4=cell.pass_at.get(4),
        pass_at_8=cell.pass_at.get(8),
        test_set_low=_low(cell.test_set_interval),
        test_set_high=_high(cell.test_set_interval),
        tokens_mean=cell.tokens.mean,
        cost_mean=cell.cost.mean,
        working_seconds_mean=cell.working_seconds.mean,
        steps_mean=cell.steps.mean,
        marks="; ".join(cell.marks),
        **cell.model_dump(include=_COPIED_FIGURES),
    )


_COPIED_FIGURES = {
    "runs", "counted", "missing", "greyed", "metric", "better", "floor", "bar", "reference",
    "tokens_per_success", "cost_per_success", "from_measured",
}  # fmt: skip


def _agent(leaderboard: Leaderboard, row: AgentStatistics) -> AgentRow:
    success, paper, normalised = row.success, row.paper_success, row.normalised
    return AgentRow(
        leaderboard=leaderboard.name,
        tasks=success.tasks,
        success_mean=success.mean,
        success_low=_low(success.on_these_tasks),
        success_high=_high(success.on_these_tasks),
        success_low_over_tasks=_low(success.over_tasks),
        success_high_over_tasks=_high(success.over_tasks),
        success_if_missing_failed=_low(success.bounds),
        success_if_missing_succeeded=_high(success.bounds),
        paper_success_mean=paper.mean,
        paper_success_low=_low(paper.on_these_tasks),
        paper_success_high=_high(paper.on_these_tasks),
        normalised_mean=normalised.mean,
        normalised_low=_low(normalised.on_these_tasks),
        normalised_high=_high(normalised.on_these_tasks),
        normalised_low_over_tasks=_low(normalised.over_tasks),
        normalised_high_over_tasks=_high(normalised.over_tasks),
        valid_mean=row.valid.mean,
        marks="; ".join(row.marks),
        **row.model_dump(include=_COPIED_TOTALS),
    )


_COPIED_TOTALS = {
    "agent", "model", "is_reference_agent", "runs", "missing", "greyed", "successes", "tokens",
    "cost",
    "working_seconds", "tokens_per_success", "cost_per_success",
}  # fmt: skip


def _comparison(leaderboard: Leaderboard, comparison: Comparison) -> Iterator[ComparisonRow]:
    shared = {
        "leaderboard": leaderboard.name,
        "measure": comparison.measure,
        "first": comparison.first,
        "second": comparison.second,
    }
    yield ComparisonRow(
        **shared,
        task="",
        difference=comparison.difference,
        low=_low(comparison.interval),
        high=_high(comparison.interval),
        p=comparison.p,
        p_holm=None,
        detectable=comparison.detectable,
        first_n=comparison.clusters[0],
        second_n=comparison.clusters[1],
        note=comparison.note,
    )
    for task in comparison.tasks:
        yield ComparisonRow(
            **shared,
            task=task.task,
            difference=task.difference,
            low=None,
            high=None,
            p=task.p,
            p_holm=task.p_holm,
            detectable=None,
            first_n=task.runs[0],
            second_n=task.runs[1],
            note=comparison.note,
        )


def _low(interval: Interval | None) -> float | None:
    return None if interval is None else interval.low


def _high(interval: Interval | None) -> float | None:
    return None if interval is None else interval.high
