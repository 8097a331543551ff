"""What commands share when they print: JSON, progress, texts of others as they are, tables."""

import json
import sys
from collections.abc import Sequence

import typer
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from mlagentbench.records import Json
from mlagentbench.report.untrusted_text import visible


def print_json(values: Json) -> None:
    """What `--json` prints: JSON on stdout, and nothing else."""
    sys.stdout.write(json.dumps(values, indent=2) + "\n")


def say(text: str) -> None:
    """Tell a person something that is not the result: on stderr."""
    typer.echo(visible(text), err=True)


def progress_console(as_json: bool) -> Console:
    """Where progress is shown: on stdout, unless only JSON may be there."""
    return Console(file=sys.stderr if as_json else sys.stdout)


def plain(text: str, style: str = "") -> Text:
    """A text of others: nothing in it is read as markup, and nothing stays unseen."""
    return Text(visible(text), style=style)


def plain_table(*headings: str, right: Sequence[str] = ()) -> Table:
    """An empty table without lines; columns named in `right` hold numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        number = heading in right
        justify: JustifyMethod = "right" if number else "left"
        table.add_column(heading, justify=justify, no_wrap=number, overflow="fold")
    return table


def print_heading(console: Console, text: str) -> None:
    console.print()
    console.print(plain(text, "bold"))
