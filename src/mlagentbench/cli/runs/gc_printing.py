"""What `mlagentbench runs gc` prints."""

from collections.abc import Iterator

import typer

from mlagentbench.cli.console import print_json
from mlagentbench.runs.garbage import Amount, Freed

UNITS = ("kB", "MB", "GB", "TB")


def print_freed(freed: Freed, *, as_json: bool) -> None:
    """One line for each kind of thing that went away, and one for what stays."""
    if as_json:
        print_json(freed.model_dump(mode="json"))
        return
    for line in _lines(freed):
        typer.echo(line)


def _lines(freed: Freed) -> Iterator[str]:
    done = "would remove" if freed.dry_run else "removed"
    yield f"{done} {_text(freed.objects, 'object')} that no run refers to"
    if freed.leftovers.number:
        yield f"{done} {_text(freed.leftovers, 'file')} that a process began and never finished"
    if freed.workspaces.number:
        yield f"{done} {_text(freed.workspaces, 'workspace')} and outputs of finished runs"
    yield from freed.kept_workspaces
    yield f"{_text(freed.kept, 'object')} stay"


def _text(amount: Amount, noun: str) -> str:
    plural = noun if amount.number == 1 else f"{noun}s"
    return f"{amount.number:,} {plural} ({size_text(amount.size)})"


def size_text(size: float) -> str:
    """Bytes in the unit in which they are a short number."""
    if size < 1000:
        return f"{size:.0f} bytes"
    step = min((len(str(int(size))) - 1) // 3, len(UNITS))
    return f"{size / 1000**step:.1f} {UNITS[step - 1]}"
