"""Fetching one file of a task's official source."""

from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.tasks.download import download
from mlagentbench.tasks.progress import Progress
from mlagentbench.tasks.task import Source, SourceFile, Task


async def fetch(
    task: Task, source: Source, file: SourceFile, target: Path, progress: Progress
) -> None:
    """Bring the file to `target`; a UsageError says what to do, by hand, when that cannot be."""
    progress.say(f"{task.id}: fetching {file.path} ({_size(file)})")
    try:
        if source.kind == "url":
            await download(_address(source, file), target, progress)
        else:
            raise UsageError(f"{source.kind} is not there yet")
    except UsageError as error:
        if file.optional:
            progress.say(f"{task.id}: {file.path} is optional and left out ({error})")
            return
        raise UsageError(f"{task.id}: {error}\n{_by_hand(task, source)}") from error


def _address(source: Source, file: SourceFile) -> str:
    return file.url or f"{source.ref.rstrip('/')}/{file.path}"


def _size(file: SourceFile) -> str:
    return "size unknown" if file.bytes is None else f"{file.bytes / 1e6:,.1f} MB"


def _by_hand(task: Task, source: Source) -> str:
    names = ", ".join(file.path for file in source.files if not file.optional)
    page = source.page or source.ref
    return (
        f"Or place the files by hand: get {names} from {page} into a directory DIR and type: "
        f"mlagentbench prepare {task.id} --tier full --from DIR"
    )
