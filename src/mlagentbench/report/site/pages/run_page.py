"""The page of one run."""

from dataclasses import dataclass
from pathlib import Path

from mlagentbench.analysis.judge.rubric import JudgeReport
from mlagentbench.analysis.rebuilt_text import rebuilt_facts
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.errors import UsageError
from mlagentbench.grading.rungs import rung_of
from mlagentbench.records import Rung
from mlagentbench.report.report_data import CollectedRun
from mlagentbench.report.site.charts import (
    WIDE,
    Chart,
    DotRow,
    Drawing,
    curve_chart,
    dot_rows_chart,
    drawing,
)
from mlagentbench.report.site.pages.branch_family import Family
from mlagentbench.report.site.pages.submitted_answer import SubmittedAnswer, submitted_answer
from mlagentbench.report.site.pages.task_page import installed_task
from mlagentbench.report.site.pages.timeline import Timeline, timeline
from mlagentbench.report.site.series import CURVE_TITLES, agent_of_summary, score_curve
from mlagentbench.runs.failure_causes import Cause, cause_of
from mlagentbench.runs.journal import read_lines
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import find_run
from mlagentbench.statistics.integrity import IntegrityLine, integrity_lines

TEMPLATE = "run.html"
CURVE_SIZE = (420.0, 240.0)


@dataclass(frozen=True)
class RunView:
    """What the template shows of a run."""

    title: str
    agent: str
    summary: RunSummary
    directory: Path
    out: Path
    cause: Cause
    rung: Rung | None
    """None if it was not graded."""
    integrity: tuple[IntegrityLine, ...]
    judgements: tuple[JudgeReport, ...]
    answer: SubmittedAnswer | None
    """None if the journal cannot be read."""
    scale: Drawing | None
    """The score beside floor, bar and reference."""
    rebuilt: tuple[tuple[str, str], ...]
    """What is said of the rebuilt submission besides its draws, by name."""
    curves: tuple[Chart, ...]
    family: Family | None
    timeline: Timeline | None
    unreadable: str
    """Why there is no timeline."""


def run_view(run: CollectedRun, family: Family | None = None) -> RunView:
    """Read a run's journal and turn it into what its page shows."""
    summary = run.summary
    record = summary.result.record
    steps, answer, unreadable, out = None, None, "", run.directory
    task = installed_task(record.task_path)
    try:
        directory = find_run(run.directory)
        out = directory.out
        lines, store = read_lines(directory.journal), ObjectStore(directory.objects)
        steps = timeline(lines, summary, store, directory.journal.name)
        answer = submitted_answer(lines, store, task)
    except (UsageError, OSError) as error:
        unreadable = str(error)
    agent = agent_of_summary(summary)
    return RunView(
        title=f"{record.disclosure.task}: {agent}, run {record.epoch}",
        agent=agent,
        summary=summary,
        directory=run.directory,
        out=out,
        cause=cause_of(summary.result),
        rung=rung_of(summary.result.grade) if summary.result.grade else None,
        integrity=integrity_lines(summary),
        judgements=run.judgements,
        answer=answer,
        scale=_scale(summary, log=task is not None and task.spec.metric.scale == "log"),
        rebuilt=_rebuilt(summary),
        curves=_curves(summary),
        family=family,
        timeline=steps,
        unreadable=unreadable,
    )


def _rebuilt(summary: RunSummary) -> tuple[tuple[str, str], ...]:
    rebuilt = summary.result.rebuilt
    return () if rebuilt is None else tuple(rebuilt_facts(rebuilt))


def _scale(summary: RunSummary, *, log: bool) -> Drawing | None:
    """The run's score on the task's scale; None without a score."""
    grade, metric = summary.result.grade, summary.result.record.disclosure.metric
    if grade is None or grade.score is None:
        return None
    rows = [DotRow("this run", (grade.score,))]
    names = ("floor", "bar", "reference", "ceiling")
    known = [(getattr(grade, name), name) for name in names]
    rules = [(value, name) for value, name in known if value is not None]
    name = f"The score of this run beside floor, bar, reference and ceiling, in {metric}"
    return drawing(
        lambda width: dot_rows_chart(name, rows, metric, rules, log=log, width=width), WIDE
    )


def _curves(summary: RunSummary) -> tuple[Chart, ...]:
    """The score against each resource, where at least two steps were graded."""
    charts = []
    for axis, title in CURVE_TITLES.items():
        curve = score_curve(summary, axis)
        if curve is not None and curve.points[-1].x > curve.points[0].x:
            charts.append(
                curve_chart(
                    f"Normalised score against {title}",
                    [curve],
                    title,
                    "normalised score",
                    axis=axis,
                    levels=((0.0, "floor"), (0.5, "halfway"), (1.0, "reference")),
                    start=0.0,
                    size=CURVE_SIZE,
                    dotted=True,
                    hold=True,
                )
            )
    return tuple(charts)
