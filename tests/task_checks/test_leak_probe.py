"""The probe that trains finds answers in positions, ids and files, and nowhere else."""

import asyncio
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from prepared import Contents, table, write_data

from mlagentbench.task_checks.leak_probe import probe_answers
from mlagentbench.task_checks.verdicts import CheckResult
from mlagentbench.tasks.task import load_task

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]
N = 300
RNG = np.random.default_rng(3)
IDS = RNG.choice(900_000, N, replace=False) + 100_000
CLASSES = RNG.integers(0, 3, N)
NUMBERS = RNG.normal(size=N).round(4)


def probe(
    tmp_path: Path,
    public: Mapping[str, Contents],
    private: Mapping[str, Contents],
    kind: str = "predictions",
) -> CheckResult:
    task = load_task("house-price")
    task.spec = task.spec.model_copy(update={"kind": kind})
    return asyncio.run(probe_answers(task, write_data(tmp_path / "data", public, private), print))


def answers(values: np.ndarray, ids: np.ndarray = IDS) -> dict[str, Contents]:
    return {"answers.csv": table("id,y", ids, values)}


def png(width: int, comment: bytes = b"") -> bytes:
    """A header, a comment, and no pixels: nobody looks at them."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, 32, 8, 2, 0, 0, 0)), (b"IDAT", b"\0" * 40)]
    if comment:
        chunks.insert(1, (b"tEXt", comment))
    parts = [
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_honest_data_teach_nothing(tmp_path: Path) -> None:
    public: dict[str, Contents] = {f"images/{i}.png": png(32) for i in IDS}
    public["test.csv"] = table("id,x", RNG.permutation(IDS), NUMBERS)
    private = {"answers.csv": table("id,y,z", IDS, CLASSES, NUMBERS)}
    result = probe(tmp_path, public, private)
    assert result.ok is True, result.detail
    assert "300 answers, 8 models" in result.detail


def test_rows_sorted_by_answer(tmp_path: Path) -> None:
    by_answer = np.argsort(NUMBERS)
    result = probe(tmp_path, {"test.csv": table("id", IDS[by_answer])}, answers(NUMBERS))
    assert result.ok is False and "nearest neighbours on position" in result.detail


def test_ids_in_the_order_of_the_answers(tmp_path: Path) -> None:
    ids = np.empty(N, dtype=int)
    ids[np.argsort(CLASSES, kind="stable")] = np.sort(IDS)
    shuffled = {"test.csv": table("id", RNG.permutation(ids))}
    result = probe(tmp_path, shuffled, answers(CLASSES, ids))
    assert result.ok is False and "on id" in result.detail


def test_files_that_look_different(tmp_path: Path) -> None:
    sizes = {f"{i}.txt": "x" * (100 + int(RNG.integers(0, 60)) + 30 * k)
             for i, k in zip(IDS, CLASSES, strict=True)}  # fmt: skip
    metadata = {f"{i}.png": png(32, b"made by camera" if k == 1 else b"made by scanner"[:14 - k])
                for i, k in zip(IDS, CLASSES, strict=True)}  # fmt: skip
    for name, files in (("sizes", sizes), ("metadata", metadata)):
        result = probe(tmp_path / name, dict(files), answers(CLASSES))
        assert result.ok is False and "nearest neighbours on file" in result.detail


def test_ratings_in_file_names(tmp_path: Path) -> None:
    files = {f"texts/{i}_{5 * k + int(RNG.integers(0, 5))}.txt": "a text"
             for i, k in zip(IDS, CLASSES, strict=True)}  # fmt: skip
    result = probe(tmp_path, dict(files), answers(CLASSES))
    assert result.ok is False and "nearest neighbours on name" in result.detail


def test_labels_without_ids(tmp_path: Path) -> None:
    result = probe(
        tmp_path, {"test_images.npy": np.zeros((N, 2))}, {"labels.npy": np.sort(CLASSES)}
    )
    assert result.ok is False and "position" in result.detail


def test_what_cannot_be_probed_is_not_called_sound(tmp_path: Path) -> None:
    few = probe(tmp_path / "few", {}, answers(CLASSES[:20], IDS[:20]))
    assert few.ok is None and "20 answers" in few.detail
    unreadable = probe(tmp_path / "none", {}, {"truth.bin": b"1"})
    assert unreadable.ok is False and "answers.csv" in unreadable.detail
    timed = probe(tmp_path / "timed", {}, {"layer.json": "{}"}, kind="timed")
    assert timed.ok is None and "not applicable" in timed.detail
