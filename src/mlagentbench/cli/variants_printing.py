"""The table of what renaming a task's data changed, below the tables of the runs."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mlagentbench.statistics.variants import VariantDifference

EXPLANATION = (
    "Names changed, data the same. A score that falls under new names came in part from knowing\n"
    "the data set; ± one standard error over pairs of runs with the same seed."
)


def print_differences(console: Console, differences: Sequence[VariantDifference]) -> None:
    if not differences:
        return
    console.print("\nrenamed against original", style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("task", "agent", "model", "pairs", "original", "renamed", "difference"):
        table.add_column(name, justify="left" if name in ("task", "agent", "model") else "right")
    for line in differences:
        error = "" if line.standard_error is None else f" ± {line.standard_error:.2f}"
        table.add_row(
            f"{line.task} ({line.tier})",
            line.agent,
            line.model,
            str(line.pairs),
            f"{line.original_mean:.2f}",
            f"{line.renamed_mean:.2f}",
            f"{line.difference:+.2f}{error}",
        )
    console.print(table)
    console.print(EXPLANATION, style="dim", highlight=False)
