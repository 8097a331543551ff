"""What `mlagentbench tasks list` prints."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mlagentbench.cli.console import print_json
from mlagentbench.cli.tasks.task_facts import (
    TIERS,
    data_size,
    measurements_text,
    needs,
    task_facts,
)
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.task import Task, load_task


def print_task_list(names: Sequence[str], *, as_json: bool) -> None:
    """These tasks, a few lines each."""
    tasks = [load_task(name) for name in names]
    console = Console()
    if as_json:
        print_json([task_facts(task) for task in tasks])
        return
    for task in tasks:
        _print_entry(console, task)
    console.print(
        "↑ higher is better, ↓ lower is better; ± is a standard deviation over runs.\n"
        "Details of one task: mlagentbench tasks show ID",
        style="dim",
    )


def _print_entry(console: Console, task: Task) -> None:
    """A task in a few lines: what it is and needs, and its state in each tier."""
    metric = task.spec.metric
    arrow = "↑" if metric.better == "higher" else "↓"
    console.print(
        f"[bold]{task.id}[/bold]  {task.inspect_name}  [dim]{task.spec.category}[/dim]\n"
        f"  {metric.name} {arrow}; needs {', '.join(needs(task)) or 'nothing beyond the package'}",
        highlight=False,
    )
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for tier in TIERS:
        here = "prepared" if find_prepared(task, tier) else "not prepared"
        table.add_row(f"  {tier}", here, data_size(task, tier), measurements_text(task, tier))
    console.print(table)
    console.print(f"  licence: {_licences(task)}\n", style="dim", no_wrap=True, overflow="ellipsis")


def _licences(task: Task) -> str:
    """Of the full tier's sources; the mini tier is generated, and under the project's own."""
    return "; ".join(dict.fromkeys(source.licence for source in task.spec.sources))
