"""What `mlagentbench tasks measure` prints: a task's measurements, and what is wrong with them."""

from rich.table import Table

from mlagentbench.grading.measurements import MeasuredTask, concerns
from mlagentbench.grading.success import floor_of
from mlagentbench.tasks.spec import Measured, Metric, ReferenceMeasurements, StarterMeasurements
from mlagentbench.terminal import Terminal


def print_measured(found: MeasuredTask) -> None:
    """The measurements of one task that was just measured."""
    console = Terminal(soft_wrap=True)
    console.heading(f"{found.task}, {found.tier} tier")
    console.print(measurements_table(found.metric, found.measured))
    for concern in concerns(found.metric, found.tier, found.measured):
        console.print(f"  ! {concern}", style="yellow")
    console.print(f"  written to {found.stored_in}")


def measurements_table(metric: Metric, measured: Measured) -> Table:
    """Floor, starter with its spread, reference, ceiling, bar and times, one a line."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    floor = floor_of(metric, measured)
    named = {"starter": measured.starter.mean, **measured.trivial}
    source = next(name for name, score in named.items() if score == floor)
    better = f"{metric.name}, {metric.better} is better"
    rows = [
        ("floor", f"{floor:.6g}", f"{source}; {better}"),
        ("starter", f"{measured.starter.mean:.6g}", _starter(measured.starter)),
        ("bar", f"{measured.bar:.6g}", "a run succeeds if it reaches this score"),
        ("reference", f"{measured.reference.mean:.6g}", _reference(measured.reference)),
        (
            "ceiling",
            "unknown" if measured.ceiling is None else f"{measured.ceiling:.6g}",
            "" if measured.ceiling is None else "the best possible score",
        ),
    ]
    for row in rows:
        table.add_row(*row)
    trivial = ", ".join(f"{name} {score:.6g}" for name, score in measured.trivial.items())
    table.add_row("trivial", "", trivial or "none")
    return table


def _starter(starter: StarterMeasurements) -> str:
    spread = "deterministic" if starter.deterministic else f"± {starter.std:.3g}"
    return f"{spread}, {_runs(starter.runs)}{passing(starter)}{_times(starter)}"


def passing(starter: StarterMeasurements) -> str:
    """How many runs of the starter would be a success, by our rule and by the paper's."""
    if starter.over_bar is None:
        return ""
    return (
        f", {starter.over_bar} reach the bar, {starter.over_paper_bar} succeed by the paper's rule"
    )


def _reference(reference: ReferenceMeasurements) -> str:
    spread = f"± {reference.std:.3g}, " if reference.runs > 1 else ""
    return f"{spread}{_runs(reference.runs)}, {reference.source}{_times(reference)}"


def _runs(number: int) -> str:
    return f"{number} run{'s' if number > 1 else ''}"


def _times(measured: StarterMeasurements | ReferenceMeasurements) -> str:
    if measured.seconds is None or measured.cpu_seconds is None:
        return ""
    return f", {measured.cpu_seconds:.1f} CPU s each ({measured.seconds:.1f} s of wall time)"
