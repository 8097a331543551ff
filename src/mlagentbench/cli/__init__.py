"""The command line: a folder for each group of commands, a file for each command."""

import sys
from collections.abc import Callable
from gc import set_threshold
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from mlagentbench.cli.agents import agents_group
from mlagentbench.cli.demo import demo
from mlagentbench.cli.doctor import doctor
from mlagentbench.cli.jobs import jobs_group
from mlagentbench.cli.report import report
from mlagentbench.cli.resume import resume
from mlagentbench.cli.run import run
from mlagentbench.cli.runs import runs_group
from mlagentbench.cli.tasks import tasks_group
from mlagentbench.cli.verb_group import Verb, VerbGroup
from mlagentbench.cli.view import view
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import DISK_FIXES, disk_trouble

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""With Python's own 700, looking for garbage while Inspect's modules load takes a second."""

HELP = """Can language-model agents do machine-learning experimentation?

Examples:
  mlagentbench demo
  mlagentbench run --tasks house-price --agents baseline,oracle
  mlagentbench report results
"""
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start here": (demo, doctor),
    "Run": (run, resume),
    "Look": (report, view),
}
GROUPS = {
    "tasks": tasks_group,
    "runs": runs_group,
    "jobs": jobs_group,
    "agents": agents_group,
}

app = typer.Typer(
    name="mlagentbench",
    cls=VerbGroup,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for panel, verbs in PANELS.items():
    for verb in verbs:
        app.command(verb.__name__, cls=Verb, rich_help_panel=panel)(verb)
for name, group in GROUPS.items():
    app.add_typer(group, name=name, rich_help_panel="Groups")


def _print_version(wanted: bool) -> None:
    if wanted:
        from mlagentbench import __version__
        from mlagentbench.terminal import tell

        tell(__version__)
        raise typer.Exit


@app.callback()
def options_of_all(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options that belong to no command."""


def main() -> None:
    """Run the command line; a person's mistake is one line, not a traceback."""
    set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    sys.excepthook = _print_traceback
    try:
        sys.exit(app(prog_name="mlagentbench", standalone_mode=False))
    except TyperException as error:
        _complain_of_usage(error)
        sys.exit(2)
    except UsageError as error:
        _complain(str(error))
        sys.exit(2)
    except RunFailed as error:
        _complain(f"failed ({error.cause}): {error.detail}")
        sys.exit(1)
    except OSError as error:
        if error.errno not in DISK_FIXES:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{disk_trouble(error)}")
        sys.exit(1)


def _complain_of_usage(error: Any) -> None:
    """Say which option or argument is wrong; a group without a command has shown its help."""
    if text := error.format_message():
        context = getattr(error, "ctx", None)
        command = "mlagentbench" if context is None else context.command_path
        text = text.rstrip(".").replace("Value error, ", "")
        _complain(f"{text}; see: {command} --help")


def _complain(text: str) -> None:
    from mlagentbench.terminal import complain

    complain(text)


def _print_traceback(_kind: object, error: BaseException, _trace: object) -> None:
    from mlagentbench.terminal import print_traceback

    print_traceback(error)
