"""Copies between training and test data are counted, and too many are a finding."""

from pathlib import Path

import numpy as np
from prepared import table, write_data

from mlagentbench.task_checks.train_test_copies import count_copies

RNG = np.random.default_rng(2)
COLUMNS = 10
HEADER = ",".join(["id", *(f"x{k}" for k in range(COLUMNS))])


def rows(n: int) -> np.ndarray:
    return RNG.integers(0, 1000, (n, COLUMNS))


def csv_text(values: np.ndarray, first_id: int) -> str:
    return table(HEADER, range(first_id, first_id + len(values)), *values.T)


def test_rows_of_tables(tmp_path: Path) -> None:
    train, test = rows(300), rows(200)
    test[:4] = train[10:14]
    test[4:10] = train[20:26]
    test[4:10, 3] += 1
    test[10:20] = train[30:40]
    test[10:20, 3:5] += 1
    public = {"train.csv": csv_text(train, 1000), "test.csv": csv_text(test, 5000)}
    private = {"answers.csv": table("id,y", range(5000, 5200), RNG.integers(0, 2, 200))}
    result = count_copies(write_data(tmp_path / "data", public, private))
    assert result.ok is False
    assert result.detail == "test.csv: 4 exact, 6 near copies of 200"


def test_a_few_copies_are_shown_but_are_no_finding(tmp_path: Path) -> None:
    train, test = rows(300), rows(200)
    test[:2] = train[:2]
    public = {"train.csv": csv_text(train, 1000), "test.csv": csv_text(test, 5000)}
    private = {"answers.csv": table("id,y", range(5000, 5200), RNG.integers(0, 2, 200))}
    result = count_copies(write_data(tmp_path / "data", public, private))
    assert result.ok is True and result.detail == "test.csv: 2 exact, 0 near copies of 200"


def test_rows_of_arrays(tmp_path: Path) -> None:
    train = RNG.integers(0, 256, (100, 16, 16, 3), dtype=np.uint8)
    test = RNG.integers(0, 256, (50, 16, 16, 3), dtype=np.uint8)
    test[:3] = train[:3]
    test[3:10] = np.clip(train[3:10].astype(int) + RNG.integers(-8, 9, train[3:10].shape), 0, 255)
    public = {"train_images.npy": train, "test_images.npy": test}
    result = count_copies(write_data(tmp_path / "data", public, {"labels.npy": np.arange(50)}))
    assert result.ok is False
    assert result.detail == "test_images.npy: 3 exact, 7 near copies of 50"


def test_single_files(tmp_path: Path) -> None:
    public = {f"train/{k}.txt": f"text {k}" for k in range(20)}
    public |= {f"test/{k}.txt": f"other {k}" for k in range(18)}
    public |= {"test/18.txt": "text 7", "test/19.txt": "text 8"}
    result = count_copies(write_data(tmp_path / "data", public, {"answers.csv": "id,y\n"}))
    assert result.ok is False
    assert result.detail == "files of test folders: 2 exact, 0 near copies of 20"


def test_without_a_pair_there_is_nothing_to_count(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", {"layer.json": "{}"}, {"seed.txt": "1"})
    assert count_copies(data).ok is None
