"""`mlagentbench runs gc`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlagentbench.cli.options import JsonOption
from mlagentbench.errors import UsageError

if TYPE_CHECKING:
    from mlagentbench.runs.objects.garbage_collection import Amount, Freed


def gc(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The --out directory of the runs.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    workspaces: Annotated[
        bool, typer.Option("--workspaces", help="Also remove work/ and outputs/ of finished runs.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Remove stored contents and prepared draws that no run refers to.

    Examples:
      mlagentbench runs gc results --dry-run
      mlagentbench runs gc results --workspaces
    """
    print_freed(free_space(out, dry_run=dry_run, workspaces=workspaces), as_json=json_output)


def free_space(out: Path, *, dry_run: bool, workspaces: bool) -> "Freed":
    """Remove what no run refers to: objects below OUT, and prepared draws.

    If asked, also workspaces of finished runs.
    """
    from mlagentbench.runs.objects.garbage_collection import (
        collect_objects,
        remove_draws,
        remove_workspaces,
    )

    out = out.absolute()
    missing = [name for name in ("runs", "objects") if not (out / name).is_dir()]
    if missing:
        raise UsageError(
            f"{out} is not an --out directory: {' and '.join(missing)} not found in it; "
            "name the directory that holds runs and objects"
        )
    freed = remove_draws(out, collect_objects(out, dry_run=dry_run))
    return remove_workspaces(out, freed) if workspaces else freed


def print_freed(freed: "Freed", *, as_json: bool) -> None:
    """One line for each kind of thing that went away, and one for what stays."""
    from mlagentbench.terminal import print_json, tell

    if as_json:
        print_json(freed.model_dump(mode="json"))
        return
    for line in _lines(freed):
        tell(line)


def _lines(freed: "Freed") -> Iterator[str]:
    done = "would remove" if freed.dry_run else "removed"
    yield f"{done} {_text(freed.objects, 'object')} that no run refers to"
    if freed.leftovers.number:
        yield f"{done} {_text(freed.leftovers, 'file')} that a process began and never finished"
    if freed.draws.number:
        yield f"{done} {_text(freed.draws, 'prepared draw')} that no run has"
    if freed.workspaces.number:
        yield f"{done} {_text(freed.workspaces, 'workspace')} and outputs of finished runs"
    yield from freed.kept_workspaces
    yield f"{_text(freed.kept, 'object')} stay"


def _text(amount: "Amount", noun: str) -> str:
    from mlagentbench.numeric.number_format import bytes_text, counted

    return f"{counted(amount.number, noun)} ({bytes_text(amount.size)})"
