"""What a run submitted: the files that were graded, and the agent's last words."""

from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.runs.journal import AnyLine, BeginLine, EndLine, OutcomeLine, RunLine
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, entry_at, walk
from mlagentbench.tasks.task import Task
from mlagentbench.untrusted_text import Clipped, clip, visible

FINAL_ANSWER = "Final Answer"
MOST_FILES = 8
MOST_SHOWN_BYTES = 2_000_000
"""A larger file is named, and not shown."""
SHOWN_CHARACTERS = 1_200


@dataclass(frozen=True)
class SubmittedFile:
    path: str
    size: int | None
    """In bytes; None if it is not a file."""
    text: Clipped | None
    """Its beginning and its end; None for a file that is not text or too large."""


@dataclass(frozen=True)
class SubmittedAnswer:
    words: Clipped | None
    """What the agent said when it ended the run."""
    files: tuple[SubmittedFile, ...] = ()
    more_files: int = 0
    missing: str = ""
    """Why no file can be shown."""


def submitted_answer(
    lines: Sequence[AnyLine], store: ObjectStore, task: Task | None
) -> SubmittedAnswer:
    """The submission in the last snapshot, and the text of Final Answer."""
    begun = [line.action for line in lines if isinstance(line, BeginLine)]
    said = [action.arguments for action in begun if action.name == FINAL_ANSWER]
    text = "\n".join(str(value) for value in said[-1].values()) if said else ""
    words = clip(text, SHOWN_CHARACTERS, "the last step") if text.strip() else None
    snapshots = [
        line.snapshot for line in lines if isinstance(line, RunLine | EndLine | OutcomeLine)
    ]
    if task is None:
        return SubmittedAnswer(words, missing="the task is not installed here")
    if not snapshots:
        return SubmittedAnswer(words, missing="no snapshot was taken")
    try:
        files = list(_files(store, snapshots[-1], task.spec.submission.path))
        shown = tuple(_shown(store, path, entry) for path, entry in files[:MOST_FILES])
    except ObjectLost as lost:
        return SubmittedAnswer(words, missing=lost.detail)
    if not files:
        return SubmittedAnswer(words, missing=f"there is no {task.spec.submission.path}")
    return SubmittedAnswer(words, shown, max(0, len(files) - MOST_FILES))


def _files(store: ObjectStore, snapshot: str, path: str) -> list[tuple[str, Entry]]:
    """The submission: one file, or the files of a directory."""
    found = entry_at(store, snapshot, path)
    if found is None:
        return []
    if found.kind != "directory":
        return [(path, found)]
    inside = walk(store, found.value, f"{path.rstrip('/')}/")
    return [(name, entry) for name, entry in inside if entry.kind != "directory"]


def _shown(store: ObjectStore, path: str, entry: Entry) -> SubmittedFile:
    if entry.kind != "file":
        return SubmittedFile(visible(path), None, None)
    size = store.size(entry.value, path)
    contents = store.read(entry.value, path) if size <= MOST_SHOWN_BYTES else b"\0"
    if b"\0" in contents:
        return SubmittedFile(visible(path), size, None)
    text = contents.decode("utf-8", "replace")
    return SubmittedFile(visible(path), size, clip(text, SHOWN_CHARACTERS, "the run's snapshot"))
