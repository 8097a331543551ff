# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Finds coloured animals on grey ground: where they are, their outlines and their colours."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import ndimage
from sklearn.cluster import KMeans

LEAST_PIXELS, LEAST_CORE = 8, 3
WIDEST = 12.5
MOST_HUES = 12
RINGS, RAYS, WAVES = np.arange(0.5, 7), 32, 9
FLIPS = {"as it is": (1, 1), "rows": (-1, 1), "columns": (1, -1)}
TRAITS: dict[str, Callable] = {
    "body": lambda body, core, hues: body,
    "core": lambda body, core, hues: core,
    "difference": lambda body, core, hues: (core - body) % hues,
    "sum": lambda body, core, hues: (core + body) % hues,
}
"""What may tell the categories of a form apart."""


class Animal(NamedTuple):
    """One animal: the dive and frame, its middle, its outline in numbers, and its pixels' hues."""

    dive: str
    frame: int
    row: float
    column: float
    outline: np.ndarray
    angles: np.ndarray


def find_animals(dives: dict[str, np.ndarray]) -> list[Animal]:
    coloured = {dive: colourfulness(pictures) for dive, pictures in dives.items()}
    limit = threshold(np.concatenate([strength.ravel() for strength, _ in coloured.values()]))
    found = []
    for dive, (strength, angle) in coloured.items():
        for frame, mask in enumerate(strength > limit):
            for part in separate(mask):
                row, column = (np.mean([ends.min(), ends.max()]) for ends in np.nonzero(part))
                outline = describe(part)
                found.append(Animal(dive, frame, row, column, outline, angle[frame][part]))
    return found


def colourfulness(pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each pixel, in the light that makes the ground grey: how coloured, and in which hue."""
    values = pictures / np.median(pictures, axis=(0, 1, 2))
    red, green, blue = np.moveaxis(values, -1, 0)
    x, y = red - (green + blue) / 2, (green - blue) * 3**0.5 / 2
    kernel = (0, 0.5, 0.5)
    strength = np.hypot(ndimage.gaussian_filter(x, kernel), ndimage.gaussian_filter(y, kernel))
    return strength, np.arctan2(y, x)


def threshold(values: np.ndarray) -> float:
    """Where two groups of values are best parted (Otsu)."""
    counts, limits = np.histogram(values, bins=200)
    middles = (limits[1:] + limits[:-1]) / 2
    below, total = np.cumsum(counts), np.cumsum(counts * middles)
    share = below / below[-1]
    between = (total[-1] / below[-1] * share - total / below[-1]) ** 2
    return float(middles[np.argmax(between[:-1] / (share * (1 - share))[:-1])])


def separate(mask: np.ndarray) -> list[np.ndarray]:
    """The single animals in a mask; what is too wide for one is cut in two."""
    labels, count = ndimage.label(ndimage.binary_dilation(mask))
    parts = []
    for n in range(1, count + 1):
        part = mask & (labels == n)
        points = np.argwhere(part)
        if len(points) < LEAST_PIXELS:
            continue
        if np.ptp(points, axis=0).max() < WIDEST:
            parts.append(part)
            continue
        side = KMeans(2, n_init=2, random_state=0).fit_predict(points)
        for half in (0, 1):
            cut = np.zeros_like(mask)
            cut[tuple(points[side == half].T)] = True
            parts.append(cut)
    return parts


def describe(part: np.ndarray) -> np.ndarray:
    """Numbers that do not change as an outline is turned: waves around its middle, by distance."""
    points = np.argwhere(part)
    centre = points.mean(axis=0)
    angles = np.arange(RAYS) * 2 * np.pi / RAYS
    rows = centre[0] + RINGS[:, None] * np.sin(angles)
    columns = centre[1] + RINGS[:, None] * np.cos(angles)
    values = ndimage.map_coordinates(part.astype(float), [rows, columns], order=1)
    waves = np.abs(np.fft.rfft(values, axis=1))[:, :WAVES] / RAYS
    spread = np.linalg.eigvalsh(np.cov(points.T))
    return np.concatenate([waves.ravel(), [len(points)], spread])


def with_hues(animals: list[Animal]) -> tuple[pd.DataFrame, int]:
    """A table of the animals with the hues of body and core, and how many hues there are."""
    angles = np.concatenate([animal.angles for animal in animals])
    waves = {k: np.exp(1j * k * angles).mean() for k in range(2, MOST_HUES + 1)}
    hues = max(waves, key=lambda k: abs(waves[k]))
    start = np.angle(waves[hues]) / hues
    rows = []
    for animal in animals:
        places = np.round((animal.angles - start) * hues / (2 * np.pi)).astype(int) % hues
        counts = np.bincount(places, minlength=hues)
        body, core = np.argsort(-counts, kind="stable")[:2]
        core = core if counts[core] >= LEAST_CORE else body
        rows.append((animal.dive, animal.frame, animal.row, animal.column, int(body), int(core)))
    return pd.DataFrame(rows, columns=["dive", "frame", "row", "column", "body", "core"]), hues


def match(animals: pd.DataFrame, boxes: pd.DataFrame, size: int) -> pd.Series:
    """The categories of animals in boxes; a dive may be seen in a mirror."""
    category = pd.Series(np.nan, animals.index)
    centre = (size - 1) / 2
    by_frame = dict(list(boxes.groupby(["dive", "frame"])[["row", "column", "category"]]))
    for _, rows in animals.groupby("dive"):
        options = []
        for signs in FLIPS.values():
            places = centre + (rows[["row", "column"]].to_numpy() - centre) * signs
            options.append(nearest(places, rows, by_frame))
        apart, names = min(options, key=lambda option: np.mean(option[0]))
        near = apart < size / 8
        category[rows.index[near]] = names[near]
    return category


def nearest(
    places: np.ndarray, rows: pd.DataFrame, boxes: dict[tuple, pd.DataFrame]
) -> tuple[np.ndarray, np.ndarray]:
    """For each animal how far the nearest box is, and its category."""
    apart, names = np.full(len(rows), np.inf), np.zeros(len(rows))
    for n, key in enumerate(zip(rows["dive"], rows["frame"], strict=True)):
        if key in boxes:
            table = boxes[key].to_numpy()
            distances = np.hypot(*(table[:, :2] - places[n]).T)
            apart[n], names[n] = distances.min(), table[distances.argmin(), 2]
    return apart, names
