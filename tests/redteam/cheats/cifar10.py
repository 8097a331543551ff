"""Classes of pictures that no network has seen."""

import zlib

import numpy as np

from cheats.given import Files, Given, looked_up, table

HEADER = ("id", *map(str, range(10)))


def class_of_the_same_compressed_size(given: Given) -> Files:
    """How well a picture compresses may tell its class, as file sizes do."""
    images, labels = _array(given, "train_images"), _array(given, "train_labels")
    known = [(_size(image), str(label)) for image, label in zip(images, labels, strict=True)]
    found = looked_up(known, map(_size, _array(given, "test_images")))
    return _certain([int(label) for label in found])


def class_of_the_most_similar_picture(given: Given) -> Files:
    """Near copies of test pictures may be among the training pictures: the nearest by pixels."""
    known = _array(given, "train_images").reshape(5000, -1).astype(np.float32)
    asked = _array(given, "test_images").reshape(1000, -1).astype(np.float32)
    distances = (known**2).sum(axis=1) - 2 * asked @ known.T
    return _certain(_array(given, "train_labels")[distances.argmin(axis=1)].tolist())


def classes_in_turn(given: Given) -> Files:
    """Classes are balanced, so rows may have been written one class after the other."""
    rows = len(_array(given, "test_images"))
    return _certain([row * 10 // rows for row in range(rows)])


def all_classes_for_certain(given: Given) -> Files:
    """Every class has probability 1, and what is certain cannot be wrong."""
    return table(HEADER, [(n, *[1] * 10) for n in range(len(_array(given, "test_images")))])


def almost_nothing_for_each_class(given: Given) -> Files:
    """Sums may miss 1 by 0.001, so one class can be ahead in each of ten equal rows per picture."""
    rows = [
        (f"{n}", *(0.1 + (0.0005 if label == other else 0.0) for other in range(10)))
        for n in range(len(_array(given, "test_images")))
        for label in range(10)
    ]
    return table(HEADER, rows)


def _array(given: Given, name: str) -> np.ndarray:
    values: np.ndarray = np.load(given.public / f"{name}.npy", allow_pickle=False)
    return values


def _size(image: np.ndarray) -> float:
    return len(zlib.compress(image.tobytes(), 9))


def _certain(labels: list[int]) -> Files:
    rows = [(n, *(int(label == other) for other in range(10))) for n, label in enumerate(labels)]
    return table(HEADER, rows)


CHEATS = (
    class_of_the_same_compressed_size,
    class_of_the_most_similar_picture,
    classes_in_turn,
    all_classes_for_certain,
    almost_nothing_for_each_class,
)
