"""Each kind of leak is planted, and found; honest data pass."""

import os
from pathlib import Path

import numpy as np
import pytest
from prepared import Contents, table, write_data

from mlagentbench.task_checks import leaks
from mlagentbench.task_checks.verdicts import CheckResult
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.task import Task, load_task

N = 200
RNG = np.random.default_rng(1)
IDS = RNG.choice(900_000, N, replace=False) + 100_000
CLASSES = RNG.integers(0, 3, N)
PRICES = RNG.integers(10_000, 500_000, N)
FEATURE = RNG.normal(size=N).round(3)
ORDER = RNG.permutation(N)
"""The public rows come in another order than the private ones."""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """A task of the suite with an empty starter."""
    (tmp_path / "task" / "starter").mkdir(parents=True)
    return Task(tmp_path / "task", load_task("house-price").spec)


def data(
    tmp_path: Path, answers: np.ndarray, public: dict[str, Contents] | None = None
) -> PreparedData:
    honest: dict[str, Contents] = {
        "test.csv": table("id,x", IDS[ORDER], FEATURE),
        "train.csv": table("id,x,y", IDS + 1_000_000, FEATURE, RNG.choice(answers, N)),
        "sample_submission.csv": table("id,y", IDS[ORDER], [0] * N),
    }
    return write_data(
        tmp_path / "data",
        {**honest, **(public or {})},
        {"answers.csv": table("id,y", IDS, answers)},
    )


def found(result: CheckResult, *words: str) -> bool:
    assert result.ok is False, result
    return all(word in result.detail for word in words)


@pytest.mark.parametrize("answers", [CLASSES, PRICES], ids=["classes", "numbers"])
def test_honest_data_pass(task: Task, tmp_path: Path, answers: np.ndarray) -> None:
    honest = data(tmp_path, answers)
    (task.starter / "train.py").write_text("print(1)")
    assert leaks.search_names(task, honest).ok
    assert leaks.search_contents(task, honest).ok
    assert leaks.search_columns(task, honest).ok
    assert leaks.public_times(honest).ok


def test_private_file_by_name(task: Task, tmp_path: Path) -> None:
    planted = data(tmp_path, CLASSES, {"old/Answers.csv": "nothing of interest"})
    assert found(leaks.search_names(task, planted), "public/old/Answers.csv", "private/answers.csv")


def test_private_file_by_contents(task: Task, tmp_path: Path) -> None:
    planted = data(tmp_path, CLASSES)
    copied = (planted.private / "answers.csv").read_bytes()
    (task.starter / "notes.txt").write_bytes(copied)
    assert leaks.search_names(task, planted).ok
    assert found(leaks.search_contents(task, planted), "starter/notes.txt", "private/answers.csv")


@pytest.mark.parametrize("answers", [CLASSES, PRICES], ids=["classes", "numbers"])
def test_answers_under_another_name_by_id(task: Task, tmp_path: Path, answers: np.ndarray) -> None:
    planted = data(
        tmp_path, answers, {"test.csv": table("key,x,extra", IDS[ORDER], FEATURE, answers[ORDER])}
    )
    assert found(leaks.search_columns(task, planted), "test.csv: extra equals private/answers.csv")


def test_answers_in_other_words(task: Task, tmp_path: Path) -> None:
    words = np.array(["blue", "red", "green"])[CLASSES]
    planted = data(tmp_path, CLASSES, {"test.csv": table("id,colour", IDS[ORDER], words[ORDER])})
    assert found(leaks.search_columns(task, planted), "colour is a code for")


def test_answers_in_another_unit(task: Task, tmp_path: Path) -> None:
    euros = (PRICES * -0.92 + 17).round(2)
    planted = data(tmp_path, PRICES, {"test.csv": table("id,e", IDS[ORDER], euros[ORDER])})
    assert found(leaks.search_columns(task, planted), "e is another measure of")


def test_answers_in_row_order_without_ids(task: Task, tmp_path: Path) -> None:
    planted = data(tmp_path, CLASSES, {"extra.npy": CLASSES.astype(float)})
    assert found(leaks.search_columns(task, planted), "extra.npy: 0 equals")


def test_answers_in_another_order(task: Task, tmp_path: Path) -> None:
    planted = data(tmp_path, PRICES, {"sorted.csv": table("p", sorted(PRICES))})
    assert found(leaks.search_columns(task, planted), "sorted.csv: p holds the values")


def test_answers_among_others(task: Task, tmp_path: Path) -> None:
    amounts = RNG.normal(size=N).round(6)
    everything = RNG.permutation(np.concatenate([amounts, RNG.normal(size=500).round(6)]))
    planted = data(tmp_path, amounts, {"all.csv": table("amount", everything)})
    assert found(leaks.search_columns(task, planted), "all.csv: amount holds all values")


def test_answers_as_an_array_of_labels(task: Task, tmp_path: Path) -> None:
    private = {"labels.npy": CLASSES}
    images = RNG.integers(0, 255, (N, 4, 4), dtype=np.uint8)
    honest = write_data(tmp_path / "honest", {"test_images.npy": images}, private)
    assert leaks.search_columns(task, honest).ok
    named: dict[str, Contents] = {
        "test_images.npy": images,
        "files.csv": table("name", [f"cat{k}" for k in CLASSES]),
    }
    planted = write_data(tmp_path / "planted", named, private)
    assert found(leaks.search_columns(task, planted), "files.csv: name is a code for")


def test_other_private_columns_count_too(task: Task, tmp_path: Path) -> None:
    public = {"test.csv": table("id,hint", IDS[ORDER], PRICES[ORDER])}
    private = {
        "answers.csv": table("id,y", IDS, CLASSES),
        "mapping.csv": table("id,original", IDS, PRICES),
    }
    planted = write_data(tmp_path / "data", public, private)
    assert found(leaks.search_columns(task, planted), "hint equals private/mapping.csv: original")


def test_a_telling_feature_is_no_leak(task: Task, tmp_path: Path) -> None:
    nearly = np.where(RNG.random(N) < 0.95, CLASSES, (CLASSES + 1) % 3)
    rough = PRICES * RNG.normal(1, 0.02, N)
    classes = data(tmp_path / "a", CLASSES, {"test.csv": table("id,x", IDS[ORDER], nearly[ORDER])})
    prices = data(tmp_path / "b", PRICES, {"test.csv": table("id,x", IDS[ORDER], rough[ORDER])})
    assert leaks.search_columns(task, classes).ok
    assert leaks.search_columns(task, prices).ok


@pytest.mark.parametrize("name", ["test.csv", "."])
def test_modification_times(tmp_path: Path, name: str) -> None:
    touched = data(tmp_path, CLASSES)
    os.utime(touched.public / name, ns=(0, 1_700_000_000_000_000_000))
    assert found(leaks.public_times(touched), "public")


def test_files_in_random_order_pass_and_in_order_do_not(tmp_path: Path) -> None:
    files: dict[str, Contents] = {f"images/{k:03}.txt": "x" for k in range(40)}
    honest = data(tmp_path / "honest", CLASSES, files)
    assert leaks.writing_order(honest).ok is True
    planted = data(tmp_path / "planted", CLASSES)
    (planted.public / "images").mkdir()
    for k in range(40):
        (planted.public / f"images/{k:03}.txt").write_text("x")
    assert found(leaks.writing_order(planted), "public/images", "follow the names")


def test_a_few_files_have_no_order(tmp_path: Path) -> None:
    result = leaks.writing_order(data(tmp_path, CLASSES))
    assert result.ok is None and "not applicable" in result.detail
