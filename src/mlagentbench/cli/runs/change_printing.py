"""What `runs show` and `runs diff` share: what was measured, and differences in colour."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from rich.table import Table
from rich.text import Text

from mlagentbench.analysis.run_summary import ScorePoint, ValidationPoint
from mlagentbench.numeric.number_format import counted, number_text
from mlagentbench.report.site.pages.text_diffs import Block, BlockKind, WorkspaceChange
from mlagentbench.terminal import Terminal, text_block, text_line

WIDE = 120
"""Columns from which on two texts are shown side by side."""
PrintBlocks = Callable[[Terminal, Sequence[Block], int], None]
STYLES: dict[BlockKind, str] = {"same": "dim", "removed": "red", "added": "green", "place": "cyan"}


def results_of(validations: Sequence[ValidationPoint], point: ScorePoint | None) -> Iterator[str]:
    """What was measured in a step, and the grade of the workspace after it."""
    for one in validations:
        yield f"{one.metric} {number_text(one.value)}"
    if point is not None:
        yield "graded: not valid" if point.score is None else f"graded {number_text(point.score)}"


def print_blocks(console: Terminal, blocks: Sequence[Block], left_out: int = 0) -> None:
    """A difference, line by line; long lines are not wrapped, so that they can be copied."""
    for one in blocks:
        console.print(text_block(one.text.removesuffix("\n"), STYLES[one.kind]), soft_wrap=True)
    if left_out:
        console.print(text_line(f"… {counted(left_out, 'more line')}", "dim"))


def print_columns(console: Terminal, blocks: Sequence[Block], left_out: int = 0) -> None:
    """A difference in two columns where the terminal is wide and both sides have something."""
    if console.width < WIDE or not {"removed", "added"} <= {block.kind for block in blocks}:
        print_blocks(console, blocks, left_out)
        return
    table = Table(box=None, pad_edge=False, show_header=False, expand=True)
    for _ in range(2):
        table.add_column(ratio=1, overflow="fold")
    for left, right in _side_by_side(blocks):
        table.add_row(left, right)
    console.print(table)
    if left_out:
        console.print(text_line(f"… {counted(left_out, 'more line')}", "dim"))


def _side_by_side(blocks: Sequence[Block]) -> Iterator[tuple[Text, Text]]:
    """What was removed beside what was added in its place."""
    removed: list[str] = []
    for block in [*blocks, Block("place", "")]:
        lines = block.text.splitlines()
        if block.kind == "removed":
            removed = lines
            continue
        added = lines if block.kind == "added" else []
        for left, right in zip_longest(removed, added, fillvalue=""):
            yield text_line(left, STYLES["removed"]), text_line(right, STYLES["added"])
        removed = []
        if block.kind != "added":
            yield from ((text_line(line, STYLES[block.kind]),) * 2 for line in lines)


def print_change(
    console: Terminal, change: WorkspaceChange, print_difference: PrintBlocks = print_blocks
) -> None:
    """What differs between two states of a workspace, file by file."""
    if change.missing:
        console.print(f"what changed is not known: {change.missing}")
    for file in change.files:
        console.print(text_line(f"{file.path} ({file.words})", "bold"))
        print_difference(console, file.blocks, file.left_out)
    if change.left_out:
        console.print(counted(change.left_out, "more file"))
