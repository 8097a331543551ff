"""`mlagentbench gc`: give back the space that no run needs any more."""

from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.launch.out_directory import hold_output
from mlagentbench.runs.garbage import Freed, collect_objects, remove_workspaces


def free_space(out: Path, *, dry_run: bool, workspaces: bool) -> Freed:
    """Remove objects that no run below OUT refers to and, if asked, workspaces of finished runs."""
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
