"""What pages in the terminal share: texts of others as they are, and differences in colour."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mlagentbench.report.clipping import visible
from mlagentbench.report.pages.diffs import Block, BlockKind, WorkspaceChange

STYLES: dict[BlockKind, str] = {"same": "dim", "removed": "red", "added": "green", "place": "cyan"}


def plain(text: str, style: str = "") -> Text:
    """A text of others: nothing in it is read as markup, and nothing stays unseen."""
    return Text(visible(text), style=style)


def plain_table(*headings: str, right: Sequence[str] = ()) -> Table:
    """An empty table without lines; columns named in `right` hold numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        number = heading in right
        table.add_column(heading, justify="right" if number else "left", no_wrap=number)
    return table


def print_heading(console: Console, text: str) -> None:
    console.print()
    console.print(plain(text, "bold"))


def print_blocks(console: Console, blocks: Sequence[Block], left_out: int = 0) -> None:
    """A difference, line by line; long lines go on as they are, to be copied."""
    for block in blocks:
        console.print(plain(block.text.removesuffix("\n"), STYLES[block.kind]), soft_wrap=True)
    if left_out:
        console.print(plain(f"… {left_out:,} more lines", "dim"))


def print_change(console: Console, change: WorkspaceChange) -> None:
    """What differs between two states of a workspace, file by file."""
    if change.missing:
        console.print(plain(f"what changed is not known: {change.missing}"))
    for file in change.files:
        console.print(plain(f"{file.path} ({file.words})", "bold"))
        print_blocks(console, file.blocks, file.left_out)
    if change.left_out:
        console.print(plain(f"{change.left_out:,} more files"))
