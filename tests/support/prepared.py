"""Prepared data written by hand, with the files that a test wants."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.prepared_files import move_anonymously

Contents = str | bytes | np.ndarray


def write_data(
    directory: Path, public: Mapping[str, Contents], private: Mapping[str, Contents]
) -> PreparedData:
    """As tasks/data.py leaves it: time 0, in random order."""
    for part, files in (("public", public), ("private", private)):
        made = directory / "made" / part
        made.mkdir(parents=True)
        for name, contents in files.items():
            file = made / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(contents, np.ndarray):
                np.save(file, contents)
            else:
                file.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        move_anonymously(made, directory / part)
    return PreparedData(
        directory=directory, tier="mini", hash="-", recipe="-", verified=True, files=0, bytes=0,
        created="-", draw="public",
    )  # fmt: skip


def table(header: str, *columns: Iterable[object]) -> str:
    """CSV text of columns."""
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join([header, *rows]) + "\n"
