"""Predictors that look at no shape: at the labels alone, or at an image's colours as a whole."""

import io
from pathlib import Path

import numpy as np

CLASSES = 10


def predictors(public: Path) -> dict[str, str]:
    """The submissions, as CSV text, by the predictor's name."""
    labels = np.load(public / "train_labels.npy")
    test = np.load(public / "test_images.npy")
    frequencies = np.bincount(labels, minlength=CLASSES) / len(labels)
    return {
        "uniform": as_csv(np.full((len(test), CLASSES), 1 / CLASSES)),
        "class_frequencies": as_csv(np.tile(frequencies, (len(test), 1))),
        "colour_statistics": as_csv(
            nearest_class(colours(np.load(public / "train_images.npy")), labels, colours(test))
        ),
    }


def colours(images: np.ndarray) -> np.ndarray:
    """Mean, spread and roughness of each colour, one row per image."""
    parts = []
    for some in np.array_split(images, max(1, len(images) // 1000)):
        pixels = some.astype(np.float32)
        rough = np.abs(np.diff(pixels, axis=1)).mean(axis=(1, 2))
        parts.append(np.hstack([pixels.mean(axis=(1, 2)), pixels.std(axis=(1, 2)), rough]))
    return np.concatenate(parts)


def nearest_class(train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    """All probability to the class whose mean is nearest, in units of each feature's spread."""
    scale = train.std(axis=0) + 1e-9
    means = np.stack([train[labels == n].mean(axis=0) for n in range(CLASSES)])
    distances = np.linalg.norm((test[:, None] - means[None]) / scale, axis=2)
    return np.eye(CLASSES)[distances.argmin(axis=1)]


def as_csv(probabilities: np.ndarray) -> str:
    text = io.StringIO()
    text.write(",".join(["id", *map(str, range(CLASSES))]) + "\n")
    for row, values in enumerate(probabilities):
        text.write(",".join([str(row), *(f"{value:.6g}" for value in values)]) + "\n")
    return text.getvalue()
