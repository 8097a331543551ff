"""One module prints, and nothing that others wrote has an effect on the terminal."""

import ast
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from hostile_texts import HOSTILE, LINE, unseen
from rich.live import Live
from rich.progress import Progress, TextColumn
from rich.table import Table

from mlagentbench.terminal import Terminal, markdown, print_json, say, tell, text_block, text_line
from mlagentbench.untrusted_text import one_line, visible, visible_values

PACKAGE = Path(__file__).parents[1] / "src" / "mlagentbench"
PRINTER = PACKAGE / "terminal.py"
ELSEWHERE = {"guest", "suite"}
"""Programs that run elsewhere: what they print goes through a pipe, and comes out as data."""
MODULES = [
    path
    for path in PACKAGE.rglob("*.py")
    if path != PRINTER and not ELSEWHERE & set(path.relative_to(PACKAGE).parts)
]
PRINTING_MODULES = {"logging", "click", "pprint"}
RICH_PARTS = {
    "rich.table": {"Table"},
    "rich.live": {"Live"},
    "rich.text": {"Text"},
    "rich.progress": {"BarColumn", "MofNCompleteColumn", "Progress", "TextColumn"},
    "rich": {"progress"},
    "rich.markup": {"escape"},
    "rich.console": {"RenderableType"},
}
"""What may be imported from rich elsewhere: it prints by a Terminal, which it is given."""
CALLS = {"print", "pprint", "Text", "input"}
ATTRIBUTES = {
    "typer": {"echo", "secho", "style", "echo_via_pager", "prompt", "confirm"},
    "sys": {"stdout", "stderr", "__stdout__", "__stderr__"},
    "warnings": {"warn", "warn_explicit"},
    "traceback": {"print_exc", "print_exception", "print_stack"},
    "Text": {"from_markup", "from_ansi", "assemble"},
}
WHAT_TO_DO = (
    "print by mlagentbench.terminal instead: tell(text) prints a line of the result, say(text) a "
    "line on stderr, print_json(values) JSON, Terminal().print(...) the rest: its strings are one "
    "line each; text_line(text, style), text_block(text, style) and markdown(text) make texts"
)


def imports_that_print(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = {alias.name for alias in node.names}
        yield from (one for one in names if one.split(".")[0] in PRINTING_MODULES | {"rich"})
    if isinstance(node, ast.ImportFrom) and node.module:
        names = {alias.name for alias in node.names}
        top = node.module.split(".")[0]
        if top in PRINTING_MODULES:
            yield node.module
        if top == "rich":
            allowed = RICH_PARTS.get(node.module, set())
            yield from (f"{node.module}.{name}" for name in names - allowed)
        yield from (f"{node.module}.{name}" for name in names & ATTRIBUTES.get(node.module, set()))


def ways_around(tree: ast.AST) -> Iterator[str]:
    """What in a module prints, or can print, without making invisible characters visible."""
    only_read = {
        node.value.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "plain"
        if isinstance(node.value, ast.Call)
    }
    for node in ast.walk(tree):
        yield from (f"line {node.lineno}: {one}" for one in imports_that_print(node))  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield f"line {node.lineno}: {node.func.id}()"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            if node.attr in ATTRIBUTES.get(name, set()) and node not in only_read:
                yield f"line {node.lineno}: {name}.{node.attr}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_prints_around_the_terminal(path: Path) -> None:
    found = list(ways_around(ast.parse(path.read_text())))
    assert not found, f"{path.relative_to(PACKAGE)}: {'; '.join(found)}: {WHAT_TO_DO}"


@pytest.mark.parametrize(
    "code",
    [
        "print(1)", "import sys\nsys.stdout.write('')", "from sys import stderr", "import logging",
        "from rich.console import Console", "import rich.console", "from rich import print",
        "import typer\ntyper.echo(1)", "from typer import echo", "from rich.markup import render",
        "Text.from_markup(a)",
        "from rich.text import Text\nText('x')", "from logging import getLogger",
        "def f():\n    from rich.markdown import Markdown",
    ],
)  # fmt: skip
def test_a_way_around_is_seen(code: str) -> None:
    assert list(ways_around(ast.parse(code)))


def printed(*, terminal: bool = False) -> tuple[StringIO, Terminal]:
    written = StringIO()
    return written, Terminal(file=written, width=1000, force_terminal=terminal)


def test_texts_are_shown_as_they_are() -> None:
    written, terminal = printed()
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(text_line(HOSTILE, "red"))
    for one in (HOSTILE, text_line(HOSTILE), table):
        terminal.print(one)
    terminal.heading(HOSTILE)
    shown = written.getvalue()
    assert not unseen(shown)
    assert shown.count(one_line(HOSTILE)) == 7, "no markup is read, no line break is left"
    terminal.print(text_block(HOSTILE))
    assert f"\n{LINE}" in written.getvalue() and not unseen(written.getvalue())


def test_what_makes_texts_by_itself_is_caught_too() -> None:
    """Progress bars, live tables and Markdown add styles of rich's, and nothing of others."""
    written, terminal = printed(terminal=True)
    table = Table()
    table.add_row(HOSTILE)
    with Live(table, console=terminal, transient=True):
        pass
    with Progress(TextColumn("{task.description}", markup=False), console=terminal) as bars:
        bars.add_task(HOSTILE)
    terminal.print(markdown(f"# {HOSTILE}\n\n[click](http://elsewhere.example/\x1b)"))
    shown = written.getvalue()
    assert "\x1b]" not in shown and "\x9b" not in shown and "\x07" not in shown
    assert "\u202e" not in shown and "http://elsewhere.example/" in shown


def test_lines_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    tell(HOSTILE)
    say(HOSTILE)
    print_json({HOSTILE: [HOSTILE]})
    shown = capsys.readouterr()
    assert not unseen(shown.out + shown.err) and shown.err == f"{one_line(HOSTILE)}\n"
    assert shown.out.count("\\u202e") == 2, "JSON says which character it is"


def test_every_value_of_a_json_value_is_made_visible() -> None:
    shown = visible(HOSTILE)
    assert visible_values({HOSTILE: [1, None, {"a": (HOSTILE, True)}]}) == {
        shown: [1, None, {"a": [shown, True]}]
    }
