"""The running runs of a plan as a table, for people."""

from collections.abc import Sequence

from rich.table import Table

from mlagentbench.launch.plans.plan_state import RunState

SHOWN = 20
"""The most runs of a kind that are listed."""


def running_table(runs: Sequence[RunState]) -> Table:
    """Which step each of the first runs has reached, what it has left, and where it runs."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("run", "step", "left", "where"):
        table.add_column(heading, overflow="fold")
    for one in runs[:SHOWN]:
        step = "-" if one.step is None else str(one.step)
        table.add_row(one.run.removeprefix("runs/"), step, one.left or "-", one.where)
    return table
