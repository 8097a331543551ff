"""`mlagentbench runs gc`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlagentbench.cli.options import JsonOption
from mlagentbench.errors import UsageError

if TYPE_CHECKING:
    from mlagentbench.runs.garbage import Freed


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
    """Remove stored contents that no run refers to.

    Examples:
      mlagentbench runs gc results --dry-run
      mlagentbench runs gc results --workspaces
    """
    from mlagentbench.cli.runs.gc_printing import print_freed

    print_freed(free_space(out, dry_run=dry_run, workspaces=workspaces), as_json=json_output)


def free_space(out: Path, *, dry_run: bool, workspaces: bool) -> "Freed":
    """Remove objects that no run below OUT refers to and, if asked, workspaces of finished runs."""
    from mlagentbench.launch.out_directory import hold_output
    from mlagentbench.runs.garbage import collect_objects, remove_workspaces

    out = out.absolute()
    missing = [name for name in ("runs", "objects") if not (out / name).is_dir()]
    if missing:
        raise UsageError(
            f"{out} is no --out directory: there is no {' and no '.join(missing)} in it; "
            "name the directory that holds runs and objects"
        )
    with hold_output(out):
        freed = collect_objects(out, dry_run=dry_run)
        return remove_workspaces(out, freed) if workspaces else freed
