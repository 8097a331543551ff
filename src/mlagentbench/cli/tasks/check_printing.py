"""What `mlagentbench tasks check` prints: measurements, and one line per check."""

from collections.abc import Iterable

from rich.table import Table

from mlagentbench.cli.tasks.measure_printing import measurements_table
from mlagentbench.grading.measurements import TimedScore, concerns
from mlagentbench.task_checks.verdicts import CheckedTask, CheckResult
from mlagentbench.terminal import Terminal, print_json, text_line

MARKS = {True: ("ok", "green"), False: ("FAILED", "bold red"), None: ("-", "dim")}


def print_checked(tasks: Iterable[CheckedTask], *, as_json: bool) -> int:
    """Print each task as it is checked; returns the exit code, 0 only when all checks hold."""
    checked = []
    console = Terminal()
    for task in tasks:
        checked.append(task)
        if not as_json:
            _print_task(console, task)
    if as_json:
        values = [task.model_dump(mode="json") | {"ok": task.ok} for task in checked]
        print_json(values)
    return 0 if all(task.ok for task in checked) else 1


def _print_task(console: Terminal, task: CheckedTask) -> None:
    data = task.data_hash[:12]
    console.heading(f"{task.task} version {task.version}, {task.tier} tier, data {data}")
    if task.measured is not None:
        console.print(measurements_table(task.metric, task.measured))
        for concern in concerns(task.metric, task.tier, task.measured):
            console.print(f"! {concern}", style="yellow")
    for name, trial in (("starter", task.starter), ("solution", task.solution)):
        if trial is not None:
            console.print(f"now: {_trial(name, trial)}")
    console.print()
    console.print(_results_table(task.results))
    counts = {ok: sum(result.ok is ok for result in task.results) for ok in (True, False, None)}
    style = "green" if task.ok else "bold red"
    console.print(
        f"{task.task}: {counts[True]} hold, {counts[False]} failed, {counts[None]} not applicable",
        style=style,
    )


def _trial(name: str, trial: TimedScore) -> str:
    return (
        f"{name} {trial.score:.6g}, {trial.cpu_seconds:.1f} CPU s ({trial.seconds:.1f} s of wall "
        "time)"
    )


def _results_table(results: Iterable[CheckResult]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(min_width=26)
    table.add_column(ratio=1, overflow="fold")
    for result in results:
        mark, style = MARKS[result.ok]
        table.add_row(text_line(mark, style), result.name, text_line(result.detail, "dim"))
    return table
