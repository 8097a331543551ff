"""Actions that show and change files, always through the sandbox, never by host paths."""

from typing import Annotated

from pydantic import Field

from mlagentbench.environment.actions.action import ActionContext, action, file_error
from mlagentbench.errors import ActionError
from mlagentbench.runs.objects.snapshot_trees import entry_at
from mlagentbench.sandbox.base import CommandResult

MAX_SHOWN = 20_000
"""Characters of a file that one Read File shows."""
MAX_LINES = 100
"""Lines that one Inspect Script Lines shows."""
MAX_LISTED = 500
MAX_SECONDS = 600.0
"""Of a command that lists, copies or removes files."""
_COPY = """
for file in "$1" "$2"; do
    if [ -p "$file" ]; then echo "cp: $file is a named pipe, not a file"; exit 1; fi
done
mkdir -p -- "$(dirname -- "$2")" && cp -fT -- "$1" "$2"
"""

LineNumber = Annotated[int, Field(ge=1)]


@action("List Files")
async def list_files(at: ActionContext, dir_path: str = ".") -> str:
    """List the files and directories in a directory, with their sizes.

    Args:
        dir_path: Path of the directory, relative to the workspace; "." is the workspace itself.
    """
    folder = at.workspace.resolve(dir_path)
    only_inside = ["-mindepth", "1", "-maxdepth", "1"]
    result = await at.sandbox.run(
        ["find", f"./{folder}/.", *only_inside, "-printf", r"%f\0%y\0%s\0%l\0"],
        timeout=_patience(at),
    )
    if result.exit_code != 0:
        raise ActionError(f"{dir_path} {_why_not_listed(result)}")
    fields = result.stdout.decode(errors="replace").split("\0")[:-1]
    items = sorted(zip(*(fields[place::4] for place in range(4)), strict=True))
    if not items:
        return f"{dir_path} is empty"
    lines = []
    for name, kind, size, target in items[:MAX_LISTED]:
        read_only = at.workspace.is_protected(name if folder == "." else folder)
        lines.append(_listed(name, kind, size, target) + (", read-only" if read_only else ""))
    if len(items) > MAX_LISTED:
        lines.append(f"... and {len(items) - MAX_LISTED:,} more")
    return "\n".join(lines)


def _why_not_listed(result: CommandResult) -> str:
    if result.limit is not None:
        return f"cannot be listed: {result.limit}"
    reasons = {
        "Not a directory": "is not a directory",
        "Permission denied": "cannot be read: permission denied",
    }
    return next((reasons[said] for said in reasons if said in result.output), "does not exist")


def _listed(name: str, kind: str, size: str, target: str) -> str:
    shown = name if name.isprintable() else repr(name)
    if kind == "d":
        return f"{shown}/"
    return f"{shown} -> {target}" if kind == "l" else f"{shown}  {int(size):,} bytes"


@action("Read File")
async def read_file(at: ActionContext, file_name: str, start_line_number: LineNumber = 1) -> str:
    """Show a text file. A long one is cut off, and it is said how to read on.

    Args:
        file_name: Path of the file, relative to the workspace.
        start_line_number: Number of the first line to show.
    """
    lines = (await at.read_text(file_name)).splitlines(keepends=True)
    if start_line_number > max(1, len(lines)):
        raise ActionError(f"{file_name} has only {len(lines)} lines")
    shown: list[str] = []
    left = MAX_SHOWN
    for number, line in enumerate(lines[start_line_number - 1 :], start=start_line_number):
        if len(line) > left:
            if not shown:
                return (
                    f"{line[:left]}\n[Line {number} of {len(lines)} is cut off after {left:,} of "
                    f"{len(line):,} characters. Read on with start_line_number {number + 1}.]"
                )
            note = f"[Cut off: lines {start_line_number} to {number - 1} of {len(lines)}. "
            return "".join(shown) + f"{note}Read on with start_line_number {number}.]"
        shown.append(line)
        left -= len(line)
    return "".join(shown) or f"{file_name} is empty"


@action("Write File")
async def write_file(at: ActionContext, file_name: str, content: str) -> str:
    """Write a text file; what was in it before is replaced.

    Args:
        file_name: Path of the file, relative to the workspace.
        content: The whole new content of the file.
    """
    await at.edit(file_name, content)
    return f"{file_name} was written: {_size(content)}"


@action("Append File")
async def append_file(at: ActionContext, file_name: str, content: str) -> str:
    """Add text at the end of a file, which is created if it does not exist.

    Args:
        file_name: Path of the file, relative to the workspace.
        content: The text to add.
    """
    found = at.workspace.resolve_for_writing(file_name)
    at.require_readable_size(file_name, found)
    try:
        before = await at.sandbox.read(found)
    except FileNotFoundError:
        before = b""
    except OSError as error:
        raise ActionError(file_error(file_name, error)) from error
    await at.write(file_name, found, before + at.encode(file_name, content))
    return f"{_size(content)} were added to {file_name}"


@action("Replace in File")
async def replace_in_file(at: ActionContext, file_name: str, old: str, new: str) -> str:
    """Replace a piece of a text file by another; what is replaced must be there exactly once.

    Args:
        file_name: Path of the file, relative to the workspace.
        old: The text to replace, exactly as it stands there, with enough of it to be unique.
        new: What to put in its place; may be empty.
    """
    before = at.encode(file_name, old)
    text = await at.read(file_name)
    found = text.count(before) if before else 0
    if found != 1:
        reason = f"stands there {found} times instead of once" if before else "is empty"
        raise ActionError(f"{file_name} was not changed: the text to replace {reason}")
    path = at.workspace.resolve_for_writing(file_name)
    await at.write(file_name, path, text.replace(before, at.encode(file_name, new)))
    line = text[: text.index(before)].count(b"\n") + 1
    return f"{file_name} was changed at line {line}"


@action("Copy File")
async def copy_file(at: ActionContext, source: str, destination: str) -> str:
    """Copy a file.

    Args:
        source: Path of the file to copy, relative to the workspace.
        destination: Path of the copy, relative to the workspace; an existing file is replaced.
    """
    original = at.workspace.resolve(source)
    found = at.workspace.resolve_for_writing(destination)
    result = await at.sandbox.run(["sh", "-c", _COPY, "sh", original, found], timeout=_patience(at))
    if result.limit is not None:
        raise ActionError(f"{source} was not copied: {result.limit}")
    if result.exit_code != 0:
        raise ActionError(result.output.strip().removeprefix("cp: "))
    at.notes.edited = found
    return f"{source} was copied to {destination}"


@action("Inspect Script Lines")
async def inspect_script_lines(
    at: ActionContext,
    script_name: str,
    start_line_number: LineNumber,
    end_line_number: LineNumber,
) -> str:
    """Show a part of a script with line numbers, at most 100 lines.

    Args:
        script_name: Path of the script, relative to the workspace.
        start_line_number: Number of the first line to show.
        end_line_number: Number of the last line to show.
    """
    if end_line_number < start_line_number:
        raise ActionError("end_line_number is smaller than start_line_number")
    if end_line_number - start_line_number + 1 > MAX_LINES:
        raise ActionError(f"at most {MAX_LINES} lines can be shown at once")
    lines = (await at.read_text(script_name)).splitlines()
    if start_line_number > len(lines):
        raise ActionError(f"{script_name} has only {len(lines)} lines")
    part = lines[start_line_number - 1 : end_line_number]
    shown = [f"{number:5} {line}" for number, line in enumerate(part, start=start_line_number)]
    last = start_line_number + len(part) - 1
    text = "\n".join(
        [f"{script_name}, lines {start_line_number} to {last} of {len(lines)}", *shown]
    )
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}\n[Cut off: the lines are long.]"


@action("Undo Edit Script")
async def undo_edit_script(at: ActionContext, script_name: str) -> str:
    """Take back the last change that an action made to a file; can be repeated.

    Args:
        script_name: Path of the file, relative to the workspace.
    """
    found = at.workspace.resolve_for_writing(script_name)
    if not at.undo.get(found):
        raise ActionError(f"there is no change of {script_name} to take back")
    store = at.snapshots.store
    before = entry_at(store, at.undo[found][-1], found)
    if before is None:
        await at.sandbox.run(["rm", "-f", "--", found], timeout=_patience(at))
        done = f"{script_name} did not exist before its last change, and was removed"
    elif before.kind != "file":
        raise ActionError(f"{script_name} was not a file before its last change")
    else:
        what = f"{script_name} before its last change"
        at.require_text_size(what, store.size(before.value, what))
        await at.write(script_name, found, store.read(before.value, what))
        done = f"{script_name} is again as it was before its last change"
    at.notes.edited, at.notes.undone = None, found
    left = len(at.undo[found]) - 1
    return f"{done}; {left} earlier {'change' if left == 1 else 'changes'} can be taken back"


def _patience(at: ActionContext) -> float:
    return min(MAX_SECONDS, at.command_time())


def _size(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines} line{'' if lines == 1 else 's'}, {len(text):,} characters"
