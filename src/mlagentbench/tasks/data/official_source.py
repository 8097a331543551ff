"""Fetching one file of a task's official source, and what to do by hand when that fails."""

import re
from collections.abc import Mapping
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data import hugging_face, kaggle
from mlagentbench.tasks.data.download import NotThere, download
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.spec import Source, SourceFile
from mlagentbench.tasks.task import Task


async def fetch(
    task: Task, source: Source, file: SourceFile, target: Path, progress: Progress
) -> None:
    """Bring the file to `target`; where that cannot be, a UsageError says the next step.

    An optional file that the source does not have is left out.
    """
    size = "size unknown" if file.bytes is None else f"{file.bytes / 1e6:,.1f} MB"
    progress.say(f"{task.id}: fetching {file.path} ({size})")
    try:
        if source.kind == "kaggle":
            await kaggle.fetch(source, file, target, progress)
        elif source.kind == "huggingface":
            await hugging_face.fetch(source, file, target, progress)
        else:
            await download(file.url or f"{source.ref.rstrip('/')}/{file.path}", target, progress)
    except NotThere as error:
        if not file.optional:
            raise UsageError(f"{task.id}: {error}\n{_by_hand(task, source)}") from error
        progress.say(f"{task.id}: {file.path} is optional and not there: left out")
    except UsageError as error:
        raise UsageError(f"{task.id}: {error}\n{_by_hand(task, source)}") from error


def _by_hand(task: Task, source: Source) -> str:
    names = ", ".join(file.path for file in source.files if not file.optional)
    pages: Mapping[str, str] = {
        "kaggle": kaggle.page(source.ref, "data"),
        "huggingface": f"https://huggingface.co/{re.sub('@.*', '', source.ref)}",
    }
    page = source.page or pages.get(source.kind, source.ref)
    return (
        f"Or place the files by hand: get {names} from {page} into a directory DIR, and run: "
        f"mlagentbench tasks prepare {task.address} --tier full --from DIR"
    )
