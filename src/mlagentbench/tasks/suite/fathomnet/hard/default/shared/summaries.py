# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Numbers that describe a picture as a whole."""

import numpy as np

BINS = 12


def colours(values: np.ndarray) -> np.ndarray:
    """How many pixels have each hue, and quantiles of the planes."""
    red, green, blue = np.moveaxis(values, -1, 0)
    x, y = red - (green + blue) / 2, (green - blue) * 3**0.5 / 2
    place = ((np.arctan2(y, x) / (2 * np.pi) + 0.5) * BINS).astype(int) % BINS
    strength = np.hypot(x, y)
    hues = [((place == n) * (strength > 0.5)).mean(axis=(1, 2)) for n in range(BINS)]
    quantiles = np.quantile(values, [0.02, 0.1, 0.5, 0.9, 0.98], axis=(1, 2))
    return np.column_stack([*hues, np.moveaxis(quantiles, 0, 1).reshape(len(values), -1)])


def textures(values: np.ndarray) -> np.ndarray:
    """Spectra of the planes: how strong waves of each length are."""
    waves = np.abs(np.fft.rfft2(values, axes=(1, 2)))
    rows, columns = np.meshgrid(
        np.abs(np.fft.fftfreq(values.shape[1])), np.fft.rfftfreq(values.shape[2]), indexing="ij"
    )
    ring = np.minimum((np.hypot(rows, columns) * 16).astype(int), 8)
    return np.log(np.column_stack([waves[:, ring == n].mean(axis=1) for n in range(9)]) + 1e-3)


def thumbnails(values: np.ndarray, cells: int = 6) -> np.ndarray:
    count, height, width, planes = values.shape
    parts = values.reshape(count, cells, height // cells, cells, width // cells, planes)
    return parts.mean(axis=(2, 4)).reshape(count, -1)
