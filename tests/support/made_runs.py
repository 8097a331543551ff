"""Summaries of graded runs that never ran, for figures over many of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from made_records import EFFICIENCY, SUBMITTED, made_record

from mlagentbench.analysis.run_summary import RunSummary, ScorePoint, ValidationPoint
from mlagentbench.records import GradeRecord, Outcome, Usage
from mlagentbench.runs.results import RunResult
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard
from mlagentbench.tasks.task import load_task

USED = Usage(steps=40, seconds=100.0, input_tokens=900, output_tokens=100, cost=0.5)
FIGURES = {"floor": 10.0, "bar": 6.0, "reference": 2.0}


def graded(normalised: float | None, step: int = 40, **more: Any) -> GradeRecord:
    """A grade on a scale from 10 (the floor) to 2 (the reference); None is no valid submission."""
    fields: dict[str, Any] = {"step": step, "valid": normalised is not None, **FIGURES}
    if normalised is None:
        fields |= {"success": False, "paper_success": False, "reason": "no submission"}
    else:
        fields |= {
            "normalised": normalised, "score": 10 - 8 * normalised, "success": normalised >= 0.5,
            "paper_improvement": 0.8 * normalised, "paper_success": normalised > 0.125,
        }  # fmt: skip
    return GradeRecord.model_validate(fields | more)


def run(
    epoch: int,
    grade: GradeRecord | None,
    *,
    outcome: Outcome | None = SUBMITTED,
    cluster: str | None = None,
    points: tuple[ScorePoint, ...] = (),
    validations: tuple[ValidationPoint, ...] = (),
    usage: Usage = USED,
    interval: tuple[float, float] | None = None,
    failure: str | None = None,
    **facts: Any,
) -> RunSummary:
    record = made_record(epoch=epoch, **facts)
    path = record.directory("0" * 8).as_posix()
    return RunSummary(
        out="out",
        cluster=cluster or f"out/{path}/{facts}",
        result=RunResult(
            path=path, record=record, outcome=outcome, usage=usage, grade=grade, failure=failure
        ),
        points=points,
        validations=validations,
        efficiency=EFFICIENCY,
        test_set_interval=interval,
    )


def point(step: int, normalised: float | None) -> ScorePoint:
    grade = graded(normalised, step=step)
    return ScorePoint(
        step=step, seconds=10.0 * step, tokens=100 * step, cost=0.01 * step, valid=grade.valid,
        score=grade.score, normalised=grade.normalised, success=grade.success,
    )  # fmt: skip


def validation(step: int, value: float, metric: str = "mae") -> ValidationPoint:
    return ValidationPoint(step=step, metric=metric, value=value)


def runs_of(
    agent: str, scores: Mapping[str, Sequence[float | None]], **facts: Any
) -> list[RunSummary]:
    return [
        run(epoch, graded(score), task=task, agent=agent, **facts)
        for task, values in scores.items()
        for epoch, score in enumerate(values, start=1)
    ]


def on_measured_data(task: str) -> dict[str, Any]:
    """The facts of a run on the data that the task's own figures hold for."""
    spec = load_task(task).spec
    return {
        "task": task, "tier": "mini", "draw": "public", "draw_policy": "public",
        "generator": "9e4e", "task_version": spec.version,
        "data_hash": spec.measured["mini"].data,
    }  # fmt: skip


def row(leaderboard: Leaderboard, agent: str) -> AgentStatistics:
    [found] = [one for one in leaderboard.rows if one.agent == agent]
    return found
