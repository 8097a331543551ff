"""The key of the fresh draws of all runs below an OUT: OUT/fresh-draws.key.

A program cannot search for the seeds of its fresh draws, since they follow from a key that no
sandbox shows. All runs and workers of an OUT share it, so their fresh draws are the same. Each run
discloses the key's hash when it begins, and each rebuilt draw its seed.
"""

import re
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
    """The key of a run's fresh draws; None if these are splits of real data.

    A run under another protocol has disclosed none; for it, the key is the one that others below
    OUT have disclosed.
    """
    if not is_keyed(task, facts.tier):
        return None
    return fresh_key(out, facts.fresh_key or _disclosed(out))


def fresh_key(out: Path, disclosed: str | None = None) -> FreshKey:
    """The key of an OUT, drawn when it is first needed.

    UsageError if it is not the one that a run has disclosed.
    """
    file = out / FILE
    if not file.exists() and disclosed is None and _disclosed(out) is None:
        contents = f"{secrets.randbits(BITS):0{BITS // 4}x}\n".encode()
        create_exclusively(file, contents, mode=0o600)
    if not file.exists():
        raise UsageError(
            f"{file}: not found, and the fresh draws of the runs below {out} follow from it; copy "
            "it from where they were made, or choose another --out"
        )
    key = _read(file)
    if disclosed not in (None, key.hash):
        raise UsageError(
            f"{file}: is not the key that runs below {out} disclosed when they began "
            f"({disclosed}); copy that one from where they were made"
        )
    return key


def _read(file: Path) -> FreshKey:
    value = file.read_bytes().strip()
    if re.fullmatch(rb"[0-9a-f]{%d}" % (BITS // 4), value) is None:
        raise UsageError(
            f"{file}: expected {BITS // 4} hexadecimal digits, without which the seeds of fresh "
            "draws could be guessed; copy the key from where the runs were made, or choose another "
            "--out"
        )
    return FreshKey(value=value.decode())


def _disclosed(out: Path) -> str | None:
    """The hash of the key that a run below OUT has begun with."""
    hashes = (read_record(run).disclosure.fresh_key for run in run_directories(out))
    return next(filter(None, hashes), None)
