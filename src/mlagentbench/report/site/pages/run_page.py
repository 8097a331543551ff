"""The page of one run."""

from dataclasses import dataclass
from pathlib import Path

from mlagentbench.analysis.judge.rubric import JudgeReport
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.errors import UsageError
from mlagentbench.report.report_data import CollectedRun
from mlagentbench.report.site.charts import Chart, curve_chart
from mlagentbench.report.site.pages.branch_family import Family
from mlagentbench.report.site.pages.timeline import Timeline, timeline
from mlagentbench.report.site.series import CURVE_TITLES, agent_of_summary, score_curve
from mlagentbench.runs.directory import RunDirectory
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
    integrity: tuple[IntegrityLine, ...]
    judgements: tuple[JudgeReport, ...]
    curves: tuple[Chart, ...]
    family: Family | None
    timeline: Timeline | None
    unreadable: str
    """Why there is no timeline."""


def run_view(run: CollectedRun, family: Family | None = None) -> RunView:
    """Read a run's journal and turn it into what its page shows."""
    summary = run.summary
    record = summary.result.record
    steps, unreadable, out = None, "", run.directory
    try:
        directory = find_run(run.directory)
        out = directory.out
        steps = _timeline(directory, summary)
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
        integrity=integrity_lines(summary),
        judgements=run.judgements,
        curves=_curves(summary),
        family=family,
        timeline=steps,
        unreadable=unreadable,
    )


def _timeline(directory: RunDirectory, summary: RunSummary) -> Timeline:
    lines = read_lines(directory.journal)
    store = ObjectStore(directory.objects)
    return timeline(lines, summary, store, directory.journal.name)


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
