"""What `mlagentbench tasks list` prints."""

from collections.abc import Sequence

from rich.table import Table

from mlagentbench.cli.tasks.task_facts import (
    data_size,
    measurements_text,
    needs,
    task_facts,
    tiers_of,
)
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.terminal import Terminal, print_json, text_block

LEGEND = """\
↑ higher is better, ↓ lower is better; ± SD: standard deviation over runs.
Details of one task: mlagentbench tasks show ID"""


def print_task_list(names: Sequence[str], *, as_json: bool) -> None:
    """These tasks, a few lines each."""
    tasks = [load_task(name) for name in names]
    console = Terminal()
    if as_json:
        print_json([task_facts(task) for task in tasks])
        return
    for task in tasks:
        _print_entry(console, task)
    console.print(text_block(LEGEND, "dim"))


def _print_entry(console: Terminal, task: Task) -> None:
    """A task in a few lines: what it is and needs, and its state in each tier."""
    metric = task.spec.metric
    arrow = "↑" if metric.better == "higher" else "↓"
    console.print(task.id, style="bold", end="")
    console.print(f"  {task.inspect_name}", end="")
    console.print(f"  {task.spec.category}", style="dim")
    console.print(
        f"  {metric.name} {arrow}; needs {', '.join(needs(task)) or 'nothing beyond the package'}"
    )
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for tier in tiers_of(task):
        shown = task.on_tier(tier)
        here = "prepared" if find_prepared(shown, tier) else "not prepared"
        table.add_row(f"  {tier}", here, data_size(shown, tier), measurements_text(shown, tier))
    console.print(table)
    console.print(f"  licence: {_licences(task)}", style="dim", no_wrap=True, overflow="ellipsis")
    console.print()


def _licences(task: Task) -> str:
    """Of the full tier's sources; the mini tier is generated, and under the project's own."""
    return "; ".join(dict.fromkeys(source.licence for source in task.spec.sources))
