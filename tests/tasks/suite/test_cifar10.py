"""The task cifar10: the official archive, the generated pictures, the grader, the networks."""

import csv
import io
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_folder

CIFAR = TaskModules("cifar10")
COLUMNS = ["id", *map(str, range(10))]
WORDS = [b"airplane", b"automobile", b"bird", b"cat", b"deer",
         b"dog", b"frog", b"horse", b"ship", b"truck"]  # fmt: skip
OFFICIAL_ROWS = 40


class Python2Pickler(pickle._Pickler):
    """Writes strings as Python 2 did, with which the official batches were written."""

    def save_string(self, value: bytes) -> None:
        self.write(  # type: ignore[attr-defined]
            b"T" + struct.pack("<i", len(value)) + value
        )

    dispatch = {**pickle._Pickler.dispatch, bytes: save_string}  # type: ignore[dict-item]


def official_pickle(value: dict) -> bytes:
    stream = io.BytesIO()
    Python2Pickler(stream, protocol=2).dump(value)
    return stream.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def official_batch(name: str, rng: np.random.Generator) -> dict:
    labels = rng.integers(10, size=OFFICIAL_ROWS)
    data = rng.integers(0, 256, size=(OFFICIAL_ROWS, 3072), dtype=np.uint8)
    return {
        b"batch_label": name.encode(),
        b"labels": labels.tolist(),
        b"data": data,
        b"filenames": [WORDS[label] + b"_s_%06d.png" % row for row, label in enumerate(labels)],
    }


def official_tree(directory: Path) -> dict[str, dict]:
    """The official folder with few images; returns what is in its files."""
    rng = np.random.default_rng(0)
    names = [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]
    contents = {name: official_batch(name, rng) for name in names}
    contents["batches.meta"] = {b"label_names": WORDS, b"num_vis": 3072}
    folder = directory / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name, value in contents.items():
        (folder / name).write_bytes(official_pickle(value))
    (folder / "readme.html").write_text("<meta>")
    return contents


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return CIFAR.prepare_mini(tmp_path_factory.mktemp("cifar10"))


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict], Prepared]:
    directory = tmp_path_factory.mktemp("official")
    contents = official_tree(directory / "raw")
    return contents, CIFAR.prepare_from(directory / "raw", directory)


def as_csv(probabilities: np.ndarray) -> str:
    rows = [[row, *values] for row, values in enumerate(probabilities.tolist())]
    return "\n".join(",".join(map(str, row)) for row in [COLUMNS, *rows]) + "\n"


def one_hot(labels: np.ndarray) -> np.ndarray:
    return np.eye(10)[labels]


def test_the_folder_is_valid() -> None:
    spec = load_folder(CIFAR.folder).spec
    assert "torch==2.13.0" in spec.python.requirements
    assert spec.sources[0].files[0].md5 == "c58f30108f718f92721af3b95e74349a"


def test_the_official_images_are_turned_upright(official: tuple[dict[str, dict], Prepared]) -> None:
    contents, prepared = official
    images = np.load(prepared.public / "train_images.npy")
    labels = np.load(prepared.public / "train_labels.npy")
    assert images.shape == (5 * OFFICIAL_ROWS, 32, 32, 3)
    row = contents["data_batch_2"][b"data"][3]
    place = OFFICIAL_ROWS + 3
    assert images[place, 0, 1].tolist() == [row[1], row[1024 + 1], row[2048 + 1]]
    assert images[place, 2, 0].tolist() == [row[64], row[1024 + 64], row[2048 + 64]]
    assert labels[place] == contents["data_batch_2"][b"labels"][3]
    names = json.loads((prepared.public / "class_names.json").read_text())
    assert names == [word.decode() for word in WORDS]
    assert json.loads((prepared.public / "training.json").read_text()) == {
        "optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9, "batch_size": 128, "epochs": 5,
    }  # fmt: skip


def test_test_images_have_a_new_order_and_keep_their_labels(
    official: tuple[dict[str, dict], Prepared],
) -> None:
    contents, prepared = official
    shown = np.load(prepared.public / "test_images.npy").transpose(0, 3, 1, 2).reshape(-1, 3072)
    batch = contents["test_batch"]
    by_image = {row.tobytes(): n for n, row in enumerate(batch[b"data"])}
    order = [by_image[row.tobytes()] for row in shown]
    assert sorted(order) == list(range(OFFICIAL_ROWS))
    assert order != sorted(order)
    answers = np.load(prepared.private / "labels.npy")
    assert answers.tolist() == [batch[b"labels"][n] for n in order]


def test_nothing_else_of_the_test_batch_is_public(
    official: tuple[dict[str, dict], Prepared],
) -> None:
    contents, prepared = official
    assert sorted(file.name for file in prepared.public.iterdir()) == [
        "class_names.json", "sample_submission.csv", "test_images.npy", "train_images.npy",
        "train_labels.npy", "training.json",
    ]  # fmt: skip
    everything = b"".join(file.read_bytes() for file in prepared.public.iterdir())
    assert b"test_batch" not in everything
    assert not any(name in everything for name in contents["test_batch"][b"filenames"])


@pytest.mark.parametrize("prefix", ["", "./"])
def test_the_archive_gives_the_same_as_its_folder(
    official: tuple[dict[str, dict], Prepared], tmp_path: Path, prefix: str
) -> None:
    raw = official[1].raw
    (tmp_path / "raw").mkdir()
    with tarfile.open(tmp_path / "raw" / "cifar-10-python.tar.gz", "w:gz") as archive:
        archive.add(raw / "cifar-10-batches-py", prefix + "cifar-10-batches-py")
    assert CIFAR.prepare_from(tmp_path / "raw", tmp_path).files() == official[1].files()


def test_an_archive_with_a_missing_batch_is_named(tmp_path: Path) -> None:
    official_tree(tmp_path / "tree")
    (tmp_path / "tree/cifar-10-batches-py/data_batch_4").unlink()
    (tmp_path / "raw").mkdir()
    with tarfile.open(tmp_path / "raw" / "cifar-10-python.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "tree/cifar-10-batches-py", "cifar-10-batches-py")
    with pytest.raises(FileNotFoundError, match="lacks data_batch_4"):
        CIFAR.prepare_from(tmp_path / "raw", tmp_path)


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'was-here'}",)

    with pytest.raises(pickle.UnpicklingError, match="has no place in a batch"):
        CIFAR.prepare.unpickle(pickle.dumps({b"data": Evil()}))
    assert not (tmp_path / "was-here").exists()


def test_near_copies_are_found_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, size=(1600, 4, 4, 3))
    images = coarse.repeat(8, axis=1).repeat(8, axis=2)
    train, test = images[:1000], images[1000:]
    for row in (5, 250, 599):
        noisy = 0.8 * train[row] + 20 + rng.normal(scale=3, size=(32, 32, 3))
        test[row] = np.clip(np.round(noisy), 0, 255)
    found = CIFAR.prepare.near_copies(test.astype(np.uint8), train.astype(np.uint8), rows=100)
    assert found.tolist() == [5, 250, 599]


@pytest.mark.slow
def test_mini_has_ten_balanced_classes_and_noisy_labels(mini: Prepared) -> None:
    for name, count in (("train", 5000), ("test", 1000)):
        images = np.load(mini.public / f"{name}_images.npy")
        assert (images.shape, images.dtype) == ((count, 32, 32, 3), np.uint8)
    classes = np.load(mini.private / "classes.npy")
    assert np.bincount(classes).tolist() == [100] * 10
    ceiling = CIFAR.grade.ceiling(mini.private)
    assert 0.94 < ceiling < 0.985
    assert len(json.loads((mini.public / "class_names.json").read_text())) == 10
    assert np.load(mini.private / "near_copies.npy").tolist() == []


def test_the_ceiling_of_real_images_is_unknown(
    official: tuple[dict[str, dict], Prepared],
) -> None:
    assert CIFAR.grade.ceiling(official[1].private) is None


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert CIFAR.prepare_mini(tmp_path / "same").files() == mini.files()
    other = CIFAR.prepare_mini(tmp_path / "other", seed=6).files()
    assert other["public/test_images.npy"] != mini.files()["public/test_images.npy"]


def test_trivial_predictors_are_valid_and_near_chance(mini: Prepared, tmp_path: Path) -> None:
    submissions = CIFAR.trivial.predictors(mini.public)
    assert set(submissions) == {"uniform", "class_frequencies", "colour_statistics"}
    for text in submissions.values():
        assert 0.07 < CIFAR.score(text, mini.private, tmp_path).score < 0.25


def test_the_sample_submission_is_valid_and_constant(mini: Prepared) -> None:
    sample = mini.public / "sample_submission.csv"
    CIFAR.grade.check_format(sample, mini.public)
    rows = list(csv.reader(sample.open()))
    assert len(rows) == 1001
    assert {value for row in rows[1:] for value in row[1:]} == {"0.1"}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A private/ with five answers, one of them a near copy."""
    np.save(tmp_path / "labels.npy", np.array([3, 1, 4, 1, 5]))
    np.save(tmp_path / "near_copies.npy", np.array([4]))
    return tmp_path


def test_accuracy_with_and_without_near_copies(small: Path, tmp_path: Path) -> None:
    guesses = one_hot(np.array([3, 1, 4, 9, 9])) * 0.82 + 0.018
    grade = CIFAR.score(as_csv(guesses), small, tmp_path / "outputs")
    assert grade.score == pytest.approx(0.6)
    assert grade.extra["accuracy_without_near_copies"] == pytest.approx(0.75)
    assert grade.extra["near_copies"] == 1
    expected = -(3 * np.log(0.838) + 2 * np.log(0.018)) / 5
    assert grade.extra["log_loss"] == pytest.approx(expected)


def test_rows_may_come_in_any_order(small: Path, tmp_path: Path) -> None:
    header, *rows = as_csv(one_hot(np.array([3, 1, 4, 1, 5]))).splitlines()
    text = "\n".join([header, *rows[::-1]])
    assert CIFAR.score(text, small, tmp_path / "outputs").score == 1


def test_of_equal_probabilities_the_first_class_counts(small: Path, tmp_path: Path) -> None:
    assert CIFAR.score(as_csv(np.full((5, 10), 0.1)), small, tmp_path / "outputs").score == 0
    two = (one_hot(np.full(5, 1)) + one_hot(np.full(5, 3))) / 2
    assert CIFAR.score(as_csv(two), small, tmp_path / "outputs").score == pytest.approx(0.4)


GOOD = as_csv(one_hot(np.array([3, 1, 4, 1, 5])))
BAD = {
    "a missing row": ("\n".join(GOOD.splitlines()[:-1]), "1 missing, first: 4"),
    "a repeated row": (GOOD + GOOD.splitlines()[-1], "row ids repeat"),
    "an unknown row": (GOOD + "5" + ",0.1" * 10, "1 unknown, first: 5"),
    "a missing column": (re.sub(r",[^,\n]+\n", "\n", GOOD), "expected id, 0, 1"),
    "text": (GOOD.replace("1.0", "certain"), "'certain' is not a number"),
    "not a number": (GOOD.replace("1.0", "nan"), "is not finite"),
    "infinite": (GOOD.replace("1.0", "inf"), "is not finite"),
    "a wrong sum": (GOOD.replace("1.0", "0.99"), "id 0: probabilities add up to 0.99, expected 1"),
    "a negative one": (GOOD.replace("1.0,0.0", "1.5,-0.5"), "id 0: a probability is negative"),
    "nothing": ("", "is empty"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_submissions_are_invalid_with_a_reason(small: Path, tmp_path: Path, kind: str) -> None:
    text, reason = BAD[kind]
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        CIFAR.score(text, small, tmp_path / "outputs")


def test_a_part_can_be_held_back_for_feedback(mini: Prepared, tmp_path: Path) -> None:
    held = Prepared(tmp_path)
    CIFAR.prepare.hold_out(mini.public, held.public, held.private, np.random.default_rng(1))
    kept, shown = (np.load(held.public / f"{name}_images.npy") for name in ("train", "validation"))
    assert (len(kept), len(shown)) == (4000, 1000)
    before = {
        image.tobytes(): label
        for image, label in zip(
            np.load(mini.public / "train_images.npy"),
            np.load(mini.public / "train_labels.npy"),
            strict=True,
        )
    }
    assert {image.tobytes() for image in kept}.isdisjoint(image.tobytes() for image in shown)
    answers = np.load(held.private / "labels.npy")
    assert answers.tolist() == [before[image.tobytes()] for image in shown]
    kept_labels = np.load(held.public / "train_labels.npy")
    assert kept_labels.tolist() == [before[image.tobytes()] for image in kept]
    same = (held.public / "test_images.npy", mini.public / "test_images.npy")
    assert same[0].read_bytes() == same[1].read_bytes()
    assert CIFAR.score(as_csv(one_hot(answers)), held.private, tmp_path / "outputs").score == 1
    sample = (held.public / "validation_sample_submission.csv").read_text()
    assert CIFAR.score(sample, held.private, tmp_path / "outputs").score < 0.2


def run(env: PythonEnv, workspace: Path, command: str, seed: int) -> str:
    settings = {
        "MLAGENTBENCH_SEED": str(seed),
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads take minutes on a busy machine
    }
    done = subprocess.run(
        [env.python, command], cwd=workspace, env={**os.environ, **settings},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_starter_runs_on_official_images(
    official: tuple[dict[str, dict], Prepared], torch_env: PythonEnv, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    for source in (official[1].public, CIFAR.folder / "starter"):
        shutil.copytree(source, workspace, dirs_exist_ok=True)
    first = run(torch_env, workspace, "train.py", seed=1)
    CIFAR.grade.check_format(workspace / "submission.csv", official[1].public)
    assert run(torch_env, workspace, "train.py", seed=1) == first
    assert run(torch_env, workspace, "train.py", seed=2) != first
