"""What `mlagentbench runs rebuild` prints."""

from collections.abc import Sequence

from rich.table import Table

from mlagentbench.analysis.rebuilt_text import draw_result, rebuilt_facts
from mlagentbench.numeric.number_format import duration_text, number_text
from mlagentbench.rebuild.rebuild_run import RebuiltRun
from mlagentbench.records import Rebuilt
from mlagentbench.terminal import Terminal, print_json, text_line


def print_rebuilt(runs: Sequence[RebuiltRun], *, as_json: bool) -> None:
    """Each run's draws in a table, and what follows from them."""
    if as_json:
        print_json([one.model_dump(mode="json") for one in runs])
        return
    console = Terminal()
    for one in runs:
        console.heading(one.run)
        if one.rebuilt is None:
            console.print(text_line(f"not rebuilt: {one.failure}", "red"), soft_wrap=True)
            continue
        console.print(_table(one.rebuilt, one.metric))
        for name, text in rebuilt_facts(one.rebuilt):
            console.print(text_line(f"{name}: {text}"), soft_wrap=True)


def _table(rebuilt: Rebuilt, metric: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("draw", overflow="fold")
    for heading in (metric, "floor", "reference", "normalised", "time", "CPU time"):
        table.add_column(heading, justify="right")
    table.add_column("remark", overflow="fold")
    for draw in (rebuilt.given, *rebuilt.fresh):
        table.add_row(
            f"{draw.draw} (given)" if draw is rebuilt.given else draw.draw,
            number_text(draw.score),
            number_text(draw.floor),
            number_text(draw.reference),
            draw_result(draw),
            duration_text(draw.seconds),
            duration_text(draw.cpu_seconds),
            text_line(draw.reason or ""),
        )
    return table
