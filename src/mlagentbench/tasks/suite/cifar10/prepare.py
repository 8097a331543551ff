"""Turns the official archive into arrays; the test images get a new order and lose all else.

The official files hold more than images and labels: file names with class words in them, and the
order of the test set that everybody knows. Neither goes into public/.
"""

import csv
import io
import json
import pickle
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from mlagentbench_task import Findings

ARCHIVE = "cifar-10-python.tar.gz"
FOLDER = "cifar-10-batches-py"
TRAIN_FILES = [f"data_batch_{n}" for n in range(1, 6)]
TEST_FILE = "test_batch"
NAMES_FILE = "batches.meta"
CLASSES = 10
BATCH_IMAGES = 10_000
COLUMNS = ["id", *map(str, range(CLASSES))]
HELD_SHARE = 0.2
NEAR_COPY = 0.99
"""Images whose pixels correlate at least this well are taken for copies of one photograph."""
PAPERS_TRAINING = {
    "optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9, "batch_size": 128, "epochs": 5,
}  # fmt: skip

Part = tuple[np.ndarray, np.ndarray]


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    files = read_files(raw)
    train, (test_images, test_labels) = read_parts(files)
    order = rng.permutation(len(test_images))
    write_parts(raw, files, train, (test_images[order], test_labels[order]), public, private)
    if (raw / "test_classes.npy").is_file():
        np.save(private / "classes.npy", np.load(raw / "test_classes.npy")[order])


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the official test images one half is for testing, the other joins.

    Each class keeps its share of both.
    """
    files = read_files(raw)
    (images, labels), (test_images, test_labels) = read_parts(files)
    order = rng.permutation(len(test_images))
    halves = [order[test_labels[order] == label] for label in np.unique(test_labels)]
    tested = rng.permutation(np.concatenate([rows[: len(rows) // 2] for rows in halves]))
    others = np.setdiff1d(order, tested)
    images = np.concatenate([images, test_images[others]])
    labels = np.concatenate([labels, test_labels[others]])
    rows = rng.permutation(len(images))
    test = test_images[tested], test_labels[tested]
    write_parts(raw, files, (images[rows], labels[rows]), test, public, private)


def read_parts(files: dict[str, bytes]) -> tuple[Part, Part]:
    """The official training and test images, with their labels."""
    parts = [read_batch(files[name]) for name in TRAIN_FILES]
    train_images = np.concatenate([images for images, _ in parts])
    train_labels = np.concatenate([labels for _, labels in parts])
    return (train_images, train_labels), read_batch(files[TEST_FILE])


def write_parts(
    raw: Path, files: dict[str, bytes], train: Part, test: Part, public: Path, private: Path
) -> None:
    (train_images, train_labels), (test_images, test_labels) = train, test
    names = [as_text(name) for name in unpickle(files[NAMES_FILE])["label_names"]]
    np.save(public / "train_images.npy", train_images)
    np.save(public / "train_labels.npy", train_labels)
    np.save(public / "test_images.npy", test_images)
    (public / "class_names.json").write_text(json.dumps(names) + "\n")
    given = raw / "training.json"
    training = json.loads(given.read_text()) if given.is_file() else PAPERS_TRAINING
    (public / "training.json").write_text(json.dumps(training, indent=2) + "\n")
    write_sample(public / "sample_submission.csv", len(test_images))

    np.save(private / "labels.npy", test_labels)
    np.save(private / "near_copies.npy", near_copies(test_images, train_images))


def check_raw(raw: Path) -> Findings:
    """What is different from the official batches."""
    findings, files = Findings(), {}
    with findings.reading(ARCHIVE):
        files = read_files(raw)
    for name in sorted(files.keys() - {NAMES_FILE}):
        with findings.reading(name):
            images, labels = read_batch(files[name])
            findings.expect_count(f"images in {name}", len(images), BATCH_IMAGES)
            findings.require(f"labels in {name}, one for each image", len(labels), len(images))
            findings.expect(f"classes in {name}", len(np.unique(labels)), CLASSES)
            others = sum(not 0 <= label < CLASSES for label in labels)
            findings.require(f"labels in {name} outside of 0 to {CLASSES - 1}", others, 0)
    if files:
        with findings.reading(NAMES_FILE):
            names = [as_text(name) for name in unpickle(files[NAMES_FILE])["label_names"]]
            findings.expect(f"classes in {NAMES_FILE}", len(names), CLASSES)
    return findings


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold back a part of the training data, on which a submission is scored during a run."""
    images, labels = (np.load(public / f"train_{name}.npy") for name in ("images", "labels"))
    order = rng.permutation(len(images))
    size = int(len(images) * HELD_SHARE)
    held, kept = order[:size], np.sort(order[size:])
    for file in sorted(public.iterdir()):
        if not file.name.startswith("train_"):
            shutil.copyfile(file, held_public / file.name)
    np.save(held_public / "train_images.npy", images[kept])
    np.save(held_public / "train_labels.npy", labels[kept])
    np.save(held_public / "validation_images.npy", images[held])
    write_sample(held_public / "validation_sample_submission.csv", size)
    np.save(held_private / "labels.npy", labels[held])
    np.save(held_private / "near_copies.npy", near_copies(images[held], images[kept]))


def read_files(raw: Path) -> dict[str, bytes]:
    """The official files by name: from their folder, or straight out of the archive."""
    wanted = {*TRAIN_FILES, TEST_FILE, NAMES_FILE}
    for folder in (raw / FOLDER, raw):
        if (folder / TEST_FILE).is_file():
            return {name: (folder / name).read_bytes() for name in wanted}
    if not (raw / ARCHIVE).is_file():
        raise FileNotFoundError(f"neither {ARCHIVE} nor {FOLDER}/ found among the raw files")
    files = {}
    with tarfile.open(raw / ARCHIVE) as archive:
        for member in archive:
            name = Path(member.name).name
            contents = archive.extractfile(member) if name in wanted else None
            if contents is not None:
                files[name] = contents.read()
    if missing := wanted - files.keys():
        raise FileNotFoundError(f"{ARCHIVE} lacks {', '.join(sorted(missing))}")
    return files


def read_batch(contents: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The images (n, 32, 32, 3) and labels of an official batch."""
    batch = unpickle(contents)
    planes = np.asarray(batch["data"], dtype=np.uint8)
    images = np.ascontiguousarray(planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    return images, np.array(batch["labels"], dtype=np.int64)


class PlainUnpickler(pickle.Unpickler):
    """Builds numpy arrays and Python's plain values, and nothing else."""

    ALLOWED = frozenset({
        ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode"),
        ("numpy._core.multiarray", "_reconstruct"), ("numpy._core.numeric", "_frombuffer"),
    })  # fmt: skip

    def find_class(self, module: str, name: str) -> Any:
        module = module.replace("numpy.core", "numpy._core")
        if (module, name) in self.ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a batch of images")


def unpickle(contents: bytes) -> dict[str, Any]:
    values = PlainUnpickler(io.BytesIO(contents), encoding="bytes").load()
    return {as_text(key): value for key, value in values.items()}


def as_text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def write_sample(file: Path, rows: int) -> None:
    with file.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(COLUMNS)
        writer.writerows([row, *[1 / CLASSES] * CLASSES] for row in range(rows))


def near_copies(images: np.ndarray, others: np.ndarray, rows: int = 500) -> np.ndarray:
    """The rows of `images` that are nearly the same picture as one of `others`.

    Small versions of all pairs are compared first; what is alike there is compared in full.
    """
    small, small_others = thumbnails(images), thumbnails(others)
    found = []
    for start in range(0, len(images), rows):
        likeness = small[start : start + rows] @ small_others.T
        for row, other in np.argwhere(likeness > NEAR_COPY - 0.01):
            pair = standardised(np.stack([images[start + row], others[other]]))
            if pair[0] @ pair[1] > NEAR_COPY:
                found.append(start + row)
    return np.unique(np.array(found, dtype=np.int64))


def thumbnails(images: np.ndarray) -> np.ndarray:
    """8 x 8 pixels an image, made comparable."""
    n = len(images)
    blocks = images.reshape(n, 8, 4, 8, 4, 3)
    return standardised(blocks.mean(axis=(2, 4), dtype=np.float32))


def standardised(images: np.ndarray) -> np.ndarray:
    """Each image as a vector of mean 0 and length 1: a product of two is their correlation."""
    vectors = images.reshape(len(images), -1).astype(np.float32)
    vectors -= vectors.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-6)
