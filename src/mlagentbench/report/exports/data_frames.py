"""Tables for programs, as pandas data frames: from runs to comparisons.

Rows are the report's records, flattened: a field of a nested record becomes `outer_inner`. Columns
with another name are listed in RENAMED. A table has only the columns that it lists.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mlagentbench.analysis.disclosures import unenforced_text
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.grading.rungs import RUNGS, rung_of
from mlagentbench.records import Json, Record
from mlagentbench.report.report_data import ReportData
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.runs.results import RunResult
from mlagentbench.statistics.cell_marks import agent_of
from mlagentbench.statistics.drawn_data import draw_names

if TYPE_CHECKING:
    from pandas import DataFrame

ColumnType = Literal["str", "int", "float", "bool"]
PANDAS_TYPES = {"str": "string[python]", "int": "Int64", "float": "float64", "bool": "boolean"}
"""All of them allow gaps."""
Columns = tuple[tuple[ColumnType, str], ...]
"""The columns from left to right; neighbours of one type share a line."""
Row = dict[str, Json]


@dataclass(frozen=True)
class ExportTable:
    """A table by the name of its file, with its columns and how its rows are made."""

    name: str
    columns: Columns
    rows: Callable[[ReportData], Iterable[Row]]

    def frame(self, data: ReportData) -> "DataFrame":
        from pandas import json_normalize

        types = {
            column: PANDAS_TYPES[kind] for kind, names in self.columns for column in names.split()
        }
        rows = json_normalize(list(self.rows(data)), sep="_").rename(columns=RENAMED)
        return rows.reindex(columns=list(types)).astype(types)


RUNG_COLUMNS = " ".join(f"rung_{rung.replace(' ', '_')}" for rung in RUNGS)
"""The share of runs on each rung."""
RUN_COLUMNS: Columns = (
    ("str", "out path origin cluster task"),
    ("int", "task_version"),
    ("str", "tier profile variant data_hash"),
    ("bool", "data_verified"),
    ("str", "draw draw_policy generator agent model answered_by"),
    ("int", "epoch"),
    ("str", "sandbox isolation"),
    ("bool", "network"),
    ("str", "feedback"),
    ("bool", "execution"),
    ("str", "protocol created outcome"),
    ("bool", "counts"),
    ("str", "cause"),
    ("bool", "graded valid"),
    ("float", "score test_set_low test_set_high normalised"),
    ("str", "rung rung_note"),
    ("float", "ceiling_share"),
    ("int", "rebuild_draws"),
    ("float", "given_normalised submitted_normalised transfer_gap transfer_gap_error"),
    ("bool", "success"),
    ("float", "paper_improvement"),
    ("bool", "paper_success above_ceiling broken_rule"),
    ("float", "floor bar reference reference_tolerance ceiling"),
    ("int", "steps"),
    ("float", "wall_seconds working_seconds model_seconds script_seconds harness_seconds"),
    ("int", "input_tokens cached_tokens output_tokens reasoning_tokens"),
    ("float", "cost"),
    ("int", "findings integrity_findings"),
    ("bool", "flagged"),
    ("int", "actions visible_actions"),
    ("str", "first_cause"),
    ("int", "first_valid_step best_step"),
    ("float", "regression validation_gap"),
    ("str", "unenforced_rules marks"),
)
CELL_COLUMNS: Columns = (
    ("str", "task agent model tier profile"),
    ("int", "task_version"),
    ("str", "data draw_policy draws sandbox feedback"),
    ("bool", "execution"),
    ("str", "variant protocol"),
    ("int", "runs counted missing"),
    ("bool", "greyed"),
    ("str", "metric better"),
    ("float", "floor bar reference ceiling"),
    ("float", RUNG_COLUMNS),
    ("int", "successes success_n"),
    ("float", "success_rate success_low success_high"),
    ("float", "success_if_missing_failed success_if_missing_succeeded"),
    ("int", "paper_successes paper_success_n"),
    ("float", "paper_success_rate paper_success_low paper_success_high"),
    ("float", "paper_success_if_missing_failed paper_success_if_missing_succeeded"),
    ("float", "paper_improvement_mean paper_improvement_error"),
    ("float", "paper_improvement_low paper_improvement_high"),
    ("int", "valid valid_n"),
    ("float", "valid_rate"),
    ("int", "flagged"),
    ("float", "flagged_rate flagged_low flagged_high"),
    ("int", "unflagged_successes"),
    ("float", "unflagged_success_rate unflagged_success_low unflagged_success_high"),
    ("int", "broken_rules"),
    ("int", "actions visible_actions"),
    ("int", "score_n"),
    ("float", "score_mean score_error score_low score_high"),
    ("int", "normalised_n"),
    ("float", "normalised_mean normalised_error normalised_low normalised_high"),
    ("int", "ceiling_share_n"),
    ("float", "ceiling_share_mean ceiling_share_error ceiling_share_low ceiling_share_high"),
    ("int", "rebuild_draws"),
    ("float", "transfer_gap_mean transfer_gap_error"),
    ("float", "best_seen_mean submitted_mean pass_at_1 pass_at_2 pass_at_4 pass_at_8"),
    ("float", "test_set_low test_set_high tokens_mean cost_mean working_seconds_mean steps_mean"),
    ("float", "tokens_per_success cost_per_success"),
    ("bool", "from_measured"),
    ("str", "marks"),
)
AGENT_COLUMNS: Columns = (
    ("str", "leaderboard agent model"),
    ("bool", "is_reference_agent"),
    ("int", "tasks runs missing"),
    ("bool", "greyed"),
    ("float", "success_mean success_low success_high"),
    ("float", "success_low_over_tasks success_high_over_tasks"),
    ("float", "success_if_missing_failed success_if_missing_succeeded"),
    ("float", "paper_success_mean paper_success_low paper_success_high"),
    ("float", "paper_success_if_missing_failed paper_success_if_missing_succeeded"),
    ("float", "paper_improvement_mean paper_improvement_low paper_improvement_high"),
    ("float", "normalised_mean normalised_low normalised_high"),
    ("float", "normalised_low_over_tasks normalised_high_over_tasks"),
    ("int", "ceiling_share_tasks"),
    ("float", "ceiling_share_mean ceiling_share_low ceiling_share_high"),
    ("float", "ceiling_share_low_over_tasks ceiling_share_high_over_tasks"),
    ("float", RUNG_COLUMNS),
    ("float", "valid_mean"),
    ("float", "flagged_mean flagged_low flagged_high"),
    ("float", "unflagged_success_mean unflagged_success_low unflagged_success_high"),
    ("int", "actions visible_actions"),
    ("int", "successes tokens"),
    ("float", "cost working_seconds tokens_per_success cost_per_success"),
    ("str", "marks"),
)
FINDING_COLUMNS: Columns = (
    ("str", "out path task agent model kind form level"),
    ("bool", "is_integrity"),
    ("str", "steps detail quote"),
)
COMPARISON_COLUMNS: Columns = (
    ("str", "leaderboard measure first second task"),
    ("float", "difference low high p p_holm detectable"),
    ("int", "first_n second_n"),
    ("str", "primary note"),
)
GAIN_COLUMNS: Columns = (
    ("str", "data agent model task"),
    ("float", "gain low high with_execution without_execution"),
    ("int", "pairs clusters successes_with successes_without"),
    ("str", "note"),
)
UNPAIRED_COLUMNS: Columns = (
    ("str", "out path"),
    ("bool", "execution"),
    ("str", "reason"),
)
MINI_AND_HARD_COLUMNS: Columns = (
    ("str", "agent model tier data"),
    ("bool", "is_reference_agent"),
    ("int", "tasks runs missing"),
    ("bool", "greyed"),
    ("float", "success_mean success_low success_high"),
    ("float", "success_low_over_tasks success_high_over_tasks"),
    ("float", "success_if_missing_failed success_if_missing_succeeded"),
    ("float", "normalised_mean normalised_low normalised_high"),
    ("float", "normalised_low_over_tasks normalised_high_over_tasks"),
    ("int", "ceiling_share_tasks"),
    ("float", "ceiling_share_mean ceiling_share_low ceiling_share_high"),
    ("float", "ceiling_share_low_over_tasks ceiling_share_high_over_tasks"),
    ("float", RUNG_COLUMNS),
    ("str", "common_tasks note"),
)
AGREEMENT_COLUMNS: Columns = (
    ("str", "hard full task"),
    ("int", "agents tasks"),
    ("float", "tau"),
    ("str", "note"),
)
PROFILE_COLUMNS: Columns = (
    ("str", "leaderboard agent model"),
    ("float", "at_least share"),
)
MEASURES = (
    "success",
    "paper_success",
    "paper_improvement",
    "score",
    "normalised",
    "ceiling_share",
    "flagged",
    "unflagged_success",
)
RENAMED = {
    "interval_low": "low",
    "interval_high": "high",
    "test_set_interval_low": "test_set_low",
    "test_set_interval_high": "test_set_high",
    "success_successes": "successes",
    "paper_success_successes": "paper_successes",
    "valid_successes": "valid",
    "flagged_successes": "flagged",
    "visible_total": "actions",
    "visible_seen": "visible_actions",
    "unflagged_success_successes": "unflagged_successes",
    "success_tasks": "tasks",
    "submitted_of_those_mean": "submitted_mean",
    **{f"rungs_{rung}": f"rung_{rung.replace(' ', '_')}" for rung in RUNGS},
} | {
    f"{measure}_{field}": f"{measure}_{column}"
    for measure in MEASURES
    for field, column in {
        "standard_error": "error",
        "interval_low": "low",
        "interval_high": "high",
        "bounds_low": "if_missing_failed",
        "bounds_high": "if_missing_succeeded",
        "on_these_tasks_low": "low",
        "on_these_tasks_high": "high",
        "over_tasks_low": "low_over_tasks",
        "over_tasks_high": "high_over_tasks",
    }.items()
}
"""Flattened fields whose column has another name."""


def run_rows(data: ReportData) -> Iterator[Row]:
    for summary in data.collection.summaries:
        result, process = summary.result, summary.process
        cause = cause_of(result)
        low, high = summary.test_set_interval or (None, None)
        yield {
            **_plain_fields(result.grade),
            **_plain_fields(summary.efficiency),
            **_run_identity(summary),
            "origin": result.record.origin,
            "cluster": summary.cluster,
            "epoch": result.record.epoch,
            "created": result.record.created,
            "outcome": result.outcome.kind if result.outcome else None,
            "counts": cause.verdict == "counts",
            "cause": cause.reason,
            "graded": result.grade is not None,
            "rung": rung_of(result.grade) if result.grade else None,
            **_rebuilt_fields(result),
            "test_set_low": low,
            "test_set_high": high,
            "findings": len(process.findings),
            "integrity_findings": sum(finding.is_integrity for finding in process.findings),
            "flagged": summary.is_flagged,
            "actions": process.visible.total,
            "visible_actions": process.visible.seen,
            "first_cause": process.first_cause,
            "first_valid_step": process.first_valid.step if process.first_valid else None,
            "best_step": process.best.step if process.best else None,
            "regression": process.regression,
            "validation_gap": process.validation_gap,
            "unenforced_rules": unenforced_text(result.record),
            "marks": "; ".join(summary.marks),
        }


def _rebuilt_fields(result: RunResult) -> Row:
    """What a run shows on fresh draws, also if that is not its grade."""
    rebuilt = result.rebuilt
    if rebuilt is None:
        return {}
    return {
        "rebuild_draws": len(rebuilt.fresh),
        "given_normalised": rebuilt.given.normalised,
        "submitted_normalised": rebuilt.submitted_normalised,
        "transfer_gap": rebuilt.transfer_gap,
        "transfer_gap_error": rebuilt.gap_error,
    }


def cell_rows(data: ReportData) -> Iterator[Row]:
    for cell in data.cells:
        yield {
            **cell.model_dump(exclude={"key", "clusters", "draws", "paths"}),
            **cell.key.conditions.model_dump(),
            **cell.key.model_dump(include={"task", "agent", "model"}),
            "draws": draw_names(cell.draws),
            "marks": "; ".join(cell.marks),
        }


def agent_rows(data: ReportData) -> Iterator[Row]:
    for leaderboard in data.leaderboards:
        for row in leaderboard.rows:
            yield {
                **row.model_dump(exclude={"cells", "profile"}),
                "leaderboard": leaderboard.name,
                "marks": "; ".join(row.marks),
            }


def profile_rows(data: ReportData) -> Iterator[Row]:
    """Every step of the performance profiles."""
    for leaderboard in data.leaderboards:
        for row in leaderboard.rows:
            agent = {"leaderboard": leaderboard.name, "agent": row.agent, "model": row.model}
            yield from ({**agent, **point.model_dump()} for point in row.profile)


def finding_rows(data: ReportData) -> Iterator[Row]:
    for summary in data.collection.summaries:
        for finding in summary.process.findings:
            yield {
                **_run_identity(summary),
                **finding.model_dump(),
                "is_integrity": finding.is_integrity,
                "steps": " ".join(map(str, finding.steps)),
            }


def comparison_rows(data: ReportData) -> Iterator[Row]:
    """Two agents, over all tasks of a leaderboard (`task` is empty) and on each of them.

    `first_n` and `second_n` count what is independent, draws or histories, over all tasks; on one
    task they count runs.
    """
    for leaderboard, comparisons in zip(data.leaderboards, data.comparisons, strict=True):
        for comparison in comparisons:
            pair = {
                "leaderboard": leaderboard.name,
                **comparison.model_dump(include={"measure", "first", "second", "primary", "note"}),
            }
            overall = comparison.model_dump(exclude={"tasks", "clusters"})
            yield {**overall, **pair, "task": "", **_counts(comparison.clusters)}
            for task in comparison.tasks:
                yield {**task.model_dump(), **pair, **_counts(task.runs)}


def gain_rows(data: ReportData) -> Iterator[Row]:
    """The experimentation gain of an agent: over all its tasks (`task` is empty), and on each."""
    for gain in data.experimentation.gains:
        of_agent = gain.model_dump(include={"data", "agent", "model", "note"})
        yield {**gain.model_dump(exclude={"tasks"}), "task": ""}
        yield from ({**task.model_dump(), **of_agent} for task in gain.tasks)


def unpaired_rows(data: ReportData) -> Iterator[Row]:
    """The runs that the experimentation gain does not use."""
    yield from (run.model_dump() for run in data.experimentation.unpaired)


def mini_and_hard_rows(data: ReportData) -> Iterator[Row]:
    """Each agent with runs in both tiers: a row for each of them, over the common tasks."""
    for one in data.mini_and_hard:
        of_agent = {
            **one.model_dump(include={"agent", "model", "is_reference_agent"}),
            "common_tasks": " ".join(one.tasks),
            "note": "; ".join(one.notes),
        }
        yield from ({**tier.model_dump(), **of_agent} for tier in one.tiers)


def agreement_rows(data: ReportData) -> Iterator[Row]:
    """The rank agreement of hard and full: over all tasks (`task` is empty), and on each."""
    for one in data.rank_agreement.agreements:
        names: Row = {"hard": one.hard, "full": one.full}
        counts: Row = {"agents": one.agents, "tasks": one.tasks_with_tau}
        yield {**names, **counts, "task": "", "tau": one.tau, "note": one.caution}
        for task in one.tasks:
            yield {**task.model_dump(), **names, "agents": len(task.agents), "tasks": 1}


def _run_identity(summary: RunSummary) -> Row:
    """Where a run is, and what its record discloses."""
    record = summary.result.record
    place = {"out": summary.out, "path": summary.result.path}
    return {**_plain_fields(record.disclosure), **place, "agent": agent_of(record)}


def _plain_fields(record: Record | None) -> Row:
    """The text, number and flag fields of a record; nested ones are not columns."""
    plain = str | int | float | None
    return {} if record is None else {key: one for key, one in record if isinstance(one, plain)}


def _counts(counts: tuple[int, int]) -> Row:
    return {"first_n": counts[0], "second_n": counts[1]}


TABLES = (
    ExportTable("runs", RUN_COLUMNS, run_rows),
    ExportTable("cells", CELL_COLUMNS, cell_rows),
    ExportTable("agents", AGENT_COLUMNS, agent_rows),
    ExportTable("profiles", PROFILE_COLUMNS, profile_rows),
    ExportTable("findings", FINDING_COLUMNS, finding_rows),
    ExportTable("comparisons", COMPARISON_COLUMNS, comparison_rows),
    ExportTable("experimentation_gain", GAIN_COLUMNS, gain_rows),
    ExportTable("unpaired_runs", UNPAIRED_COLUMNS, unpaired_rows),
    ExportTable("mini_and_hard", MINI_AND_HARD_COLUMNS, mini_and_hard_rows),
    ExportTable("rank_agreement", AGREEMENT_COLUMNS, agreement_rows),
)
