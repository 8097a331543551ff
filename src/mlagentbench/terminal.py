"""The only module that prints: what others wrote is shown as it is, and nothing in it takes effect.

Names, titles, reasons and outputs come from tasks, agents and models. Their control, direction-
changing and zero-width characters are shown as code points, and rich's markup in them is text.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from traceback import format_exception
from typing import TYPE_CHECKING, TextIO

from rich.console import (
    Console,
    ConsoleOptions,
    Group,
    HighlighterType,
    JustifyMethod,
    OverflowMethod,
    RenderableType,
)
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from mlagentbench.records import Json
from mlagentbench.untrusted_text import one_line, visible

if TYPE_CHECKING:
    from rich.markdown import Markdown

DELETE = "\x7f"
"""The one control character that JSON does not escape."""


class Terminal(Console):
    """Where people read: stdout, or stderr.

    A string that is printed, or is a cell of a table, is one line: line breaks in it are shown as
    code points, too. `text_block` makes a text of several lines.
    """

    def __init__(
        self,
        *,
        stderr: bool = False,
        file: TextIO | None = None,
        soft_wrap: bool = False,
        width: int | None = None,
        force_terminal: bool | None = None,
    ) -> None:
        super().__init__(
            file=file or (sys.stderr if stderr else sys.stdout),
            highlight=False,
            soft_wrap=soft_wrap,
            width=width,
            force_terminal=force_terminal,
        )

    def render_str(
        self,
        text: str,
        *,
        style: str | Style = "",
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        emoji: bool | None = None,  # noqa: ARG002
        markup: bool | None = None,  # noqa: ARG002
        highlight: bool | None = None,  # noqa: ARG002
        highlighter: HighlighterType | None = None,  # noqa: ARG002
    ) -> Text:
        """rich makes every string a Text by this method, before it measures and prints it."""
        return Text(one_line(text), style=style, justify=justify, overflow=overflow)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The last step before styles are added: here nothing is invisible any more."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def heading(self, text: str) -> None:
        self.print()
        self.print(text, style="bold")


def text_line(text: str, style: str | Style = "") -> Text:
    """One line in a style."""
    return Text(one_line(text), style=style)


def text_block(text: str, style: str | Style = "") -> Text:
    """A text of several lines."""
    return Text(visible(text), style=style)


def stacked(*parts: Text | Table) -> RenderableType:
    """Texts and tables, one below the other, for a live display."""
    return Group(*parts)


def markdown(text: str) -> "Markdown":
    """A text in Markdown; the address of a link is shown beside its words."""
    from rich.markdown import Markdown

    return Markdown(visible(text), hyperlinks=False)


def plain_table(*headings: str, right: Sequence[str] = ()) -> Table:
    """An empty table without lines; columns named in `right` hold numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        number = heading in right
        justify: JustifyMethod = "right" if number else "left"
        table.add_column(heading, justify=justify, no_wrap=number, overflow="fold")
    return table


def print_json(values: Json) -> None:
    """What `--json` prints: JSON on stdout, and nothing else."""
    sys.stdout.write(json.dumps(values, indent=2).replace(DELETE, "\\u007f") + "\n")


def tell(text: str) -> None:
    """Print a line of a command's result: on stdout."""
    sys.stdout.write(f"{one_line(text)}\n")


def say(text: str) -> None:
    """Tell a person something that is not the result: a line on stderr."""
    sys.stderr.write(f"{one_line(text)}\n")


def complain(text: str) -> None:
    """Say what went wrong; only its first line begins with our name."""
    shown = visible(f"mlagentbench: {text}").replace("\n", "\n  ")
    sys.stderr.write(f"{shown}\n")


def print_traceback(error: BaseException) -> None:
    """An unexpected error; its text may come from others."""
    sys.stderr.write(visible("".join(format_exception(error))))
