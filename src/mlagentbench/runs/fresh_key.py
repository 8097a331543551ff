"""The key of the fresh draws of all runs below an OUT: OUT/fresh-draws.key.

A program cannot search for the seeds of its fresh draws, since they follow from a key that no
sandbox shows. All runs and workers of an OUT share it, so their fresh draws are the same. Each run
discloses the key's hash when it begins, and each rebuilt draw its seed.
"""

import secrets
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import create_exclusively
from mlagentbench.records import Disclosure
from mlagentbench.runs.results import read_record, run_directories
from mlagentbench.tasks.draws import FreshKey, is_keyed
from mlagentbench.tasks.task import Task

FILE = "fresh-draws.key"
BITS = 128


def key_of_run(out: Path, task: Task, facts: Disclosure) -> FreshKey | None:
    """The key of a run's fresh draws; None if these are splits of real data."""
    return fresh_key(out, facts.fresh_key) if is_keyed(task, facts.tier) else None


def fresh_key(out: Path, disclosed: str | None = None) -> FreshKey:
    """The key of an OUT, drawn when it is first needed.

    UsageError if it is not the one that a run has disclosed.
    """
    file = out / FILE
    if not file.exists() and disclosed is None and not _is_disclosed(out):
        contents = f"{secrets.randbits(BITS):0{BITS // 4}x}\n".encode()
        create_exclusively(file, contents, mode=0o600)
    if not file.exists():
        raise UsageError(
            f"{file}: not found, and the fresh draws of the runs below {out} follow from it; copy "
            "it from where they were made, or choose another --out"
        )
    key = FreshKey(value=file.read_text(encoding="ascii").strip())
    if disclosed not in (None, key.hash):
        raise UsageError(
            f"{file}: is not the key that this run disclosed when it began ({disclosed}); copy "
            "that one from where the run was made"
        )
    return key


def _is_disclosed(out: Path) -> bool:
    """Whether a run has begun with a key that is lost now."""
    return any(read_record(run).disclosure.fresh_key for run in run_directories(out))
