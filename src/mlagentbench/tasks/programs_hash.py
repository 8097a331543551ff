"""A hash of the programs of a task that its measurements depend on."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from mlagentbench.tasks.task import ABLATIONS, DEFAULT, Task

_PROGRAMS = ("starter", "solution", "grade.py", "requests.py", "alterations.py", "trivial.py")
"""The parts of a task's folder that scores depend on, besides its data."""
SETTINGS = {"kind", "metric", "submission", "commands", "collect", "tool", "python", "read_only"}
"""The parts of task.toml that they depend on, on any hardware."""


def programs_hash(task: Task) -> str:
    """Starter, solution, grader and trivial predictors, and how they are run."""
    parts = (
        task.spec.model_dump(mode="json", include=SETTINGS),
        program_hashes(task),
    )
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def program_hashes(task: Task) -> list[str]:
    """The hashes of the programs that scores depend on."""
    names = (*_PROGRAMS, DEFAULT, ABLATIONS) if task.is_hard else _PROGRAMS
    return [files_hash(task.part(name)) for name in names]


def files_hash(path: Path) -> str:
    """The hash of a file, or of the names and contents of all files below a directory."""
    digest = hashlib.sha256()
    for file in _files(path):
        name, contents = file.relative_to(path.parent).as_posix().encode(), file.read_bytes()
        for part in (name, contents):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        found = (file for file in path.rglob("*") if "__pycache__" not in file.parts)
        yield from sorted(file for file in found if file.is_file() and not file.is_symlink())
