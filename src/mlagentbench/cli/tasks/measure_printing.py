"""What `mlagentbench tasks measure` prints: a task's measurements, and what is wrong with them."""

from rich.table import Table

from mlagentbench.grading.measurements import MeasuredTask, concerns
from mlagentbench.grading.success import floor_of
from mlagentbench.numeric.number_format import counted, fixed, number_text, spread_text
from mlagentbench.tasks.spec import Measured, Metric, ReferenceMeasurements, StarterMeasurements
from mlagentbench.terminal import Terminal


def print_measured(found: MeasuredTask) -> None:
    """The measurements of one task that was just measured."""
    console = Terminal(soft_wrap=True)
    profile = "" if found.profile is None else f", {found.profile} profile"
    console.heading(f"{found.task}, {found.tier} tier{profile}")
    console.print(measurements_table(found.metric, found.measured))
    for concern in concerns(found.metric, found.tier, found.measured):
        console.print(f"  ! {concern}", style="yellow")
    console.print(_where(found))


def _where(found: MeasuredTask) -> str:
    if found.used_instead is None:
        return f"  written to {found.stored_in}"
    return (
        f"  {found.used_instead} has measurements of the same data, which are used here; these are "
        f"written to {found.stored_in} for comparison"
    )


def measurements_table(metric: Metric, measured: Measured) -> Table:
    """Floor, starter with its spread, reference, ceiling, bar and times, one a line."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    floor = floor_of(metric, measured)
    named = {"starter": measured.starter.mean, **measured.beaten}
    source = next(name for name, score in named.items() if score == floor)
    better = f"{metric.name}, {metric.better} is better"
    rows = [
        ("floor", number_text(floor), f"{source}; {better}"),
        ("starter", _mean(measured.starter), _starter(measured.starter)),
        ("bar", number_text(measured.bar), "a run succeeds if it reaches this score"),
        ("reference", _mean(measured.reference), _reference(measured.reference)),
        (
            "ceiling",
            "unknown" if measured.ceiling is None else number_text(measured.ceiling),
            "" if measured.ceiling is None else "the best possible score",
        ),
    ]
    for row in rows:
        table.add_row(*row)
    for kind, scores in measured.panels.items():
        if scores or kind == "trivial":
            each = ", ".join(f"{name} {number_text(score)}" for name, score in scores.items())
            table.add_row(kind, "", each or "none")
    return table


def _starter(starter: StarterMeasurements) -> str:
    spread = "deterministic, " if starter.deterministic else ""
    return f"{spread}{counted(starter.runs, 'run')}{passing(starter)}{_times(starter)}"


def passing(starter: StarterMeasurements) -> str:
    """How many runs of the starter would be a success, by our rule and by the paper's."""
    if starter.over_bar is None:
        return ""
    return (
        f", {starter.over_bar} reach the bar, {starter.over_paper_bar} succeed by the paper's rule"
    )


def _reference(reference: ReferenceMeasurements) -> str:
    return f"{counted(reference.runs, 'run')}, {reference.source}{_times(reference)}"


def _mean(measured: StarterMeasurements | ReferenceMeasurements) -> str:
    return spread_text(measured.mean, measured.std if measured.runs > 1 else None, "SD")


def _times(measured: StarterMeasurements | ReferenceMeasurements) -> str:
    if measured.seconds is None or measured.cpu_seconds is None:
        return ""
    cpu, wall = fixed(measured.cpu_seconds, 1), fixed(measured.seconds, 1)
    return f", {cpu} CPU s each ({wall} s of wall time)"
