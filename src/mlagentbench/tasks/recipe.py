"""What determines a task's prepared data: code, list of sources, and seeds."""

import hashlib
from pathlib import Path

from mlagentbench.guest import mlagentbench_papers, mlagentbench_task
from mlagentbench.records import Tier
from mlagentbench.tasks.task import HARD, Task

_CODE: dict[Tier, tuple[str, ...]] = {
    "mini": ("prepare.py", "mini.py"),
    "hard": (f"{HARD}/make.py", "prepare.py", "mini.py"),
    "full": ("prepare.py", "full.py"),
}
"""What makes the data of a tier; the hard one may use what makes the others."""


def recipe_of(task: Task, tier: Tier) -> str:
    """A hash of everything that determines the prepared data, except the seed."""
    digest = hashlib.sha256(f"1/{task.id}/{task.spec.version}/{tier}\n".encode())
    files = [task.folder / name for name in _CODE[tier]] + [Path(mlagentbench_task.__file__)]
    if task.spec.needs_model:
        files.append(Path(mlagentbench_papers.__file__))
    for file in files:
        if file.is_file():
            contents = file.read_bytes()
            digest.update(f"{file.name}\0{len(contents)}\n".encode() + contents)
    if tier == "full":
        for source in task.spec.sources:
            digest.update(source.model_dump_json(exclude={"licence", "page"}).encode())
    return digest.hexdigest()


def derived_seed(seed: int, purpose: str) -> int:
    """Another 128-bit seed, so that no two steps draw the same numbers."""
    return int(derived_hash(purpose, seed)[:32], 16)


def derived_hash(purpose: str, seed: int) -> str:
    """The hex digits that a purpose and a seed give."""
    return hashlib.sha256(f"{purpose}/{seed:032x}".encode()).hexdigest()
