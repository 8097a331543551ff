"""The key of the fresh draws of all runs below an OUT: OUT/fresh-draws.key.

A program cannot search for the seeds of its fresh draws, since they follow from a key that no
sandbox shows. All runs and workers of an OUT share it, so their fresh draws are the same. Each run
discloses the key's hash when it begins, and each rebuilt draw its seed.
"""

import secrets
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import create_exclusively
from mlagentbench.tasks.draws import FreshKey

FILE = "fresh-draws.key"
BITS = 128


def fresh_key(out: Path, disclosed: str | None = None) -> FreshKey:
    """The key of an OUT, drawn when it is first needed.

    UsageError if it is not the one that a run has disclosed.
    """
    file = out / FILE
    if not file.exists() and disclosed is None:
        contents = f"{secrets.randbits(BITS):0{BITS // 4}x}\n".encode()
        create_exclusively(file, contents, mode=0o600)
    if not file.exists():
        raise UsageError(
            f"{file}: not found, and the fresh draws of this run follow from it; copy it from "
            "where the run was made"
        )
    key = FreshKey(value=file.read_text(encoding="ascii").strip())
    if disclosed not in (None, key.hash):
        raise UsageError(
            f"{file}: is not the key that this run disclosed when it began ({disclosed}); copy "
            "that one from where the run was made"
        )
    return key
