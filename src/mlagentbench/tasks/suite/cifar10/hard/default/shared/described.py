"""The task's files, the genus and the species of each class, and images described by numbers."""

import csv
import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import ndimage

SIZE = 32
FIGURE = 38  # numbers of a figure


@dataclass
class Data:
    images: np.ndarray
    labels: np.ndarray
    sources: np.ndarray
    test: np.ndarray
    tested: int
    genus: np.ndarray  # of each class
    species: np.ndarray  # of each class

    @property
    def own(self) -> np.ndarray:
        """The rows of the training images of the tested source."""
        return np.flatnonzero(self.sources == self.tested)

    def heads(self) -> dict[str, np.ndarray]:
        """What each head says of each class."""
        return {"genus": self.genus, "species": self.species, "class": np.arange(10)}


def load() -> Data:
    names = json.loads(Path("class_names.json").read_text())
    words = [name.split() for name in names]
    genera = sorted({word[0] for word in words})
    kinds = sorted({word[-1] for word in words})
    genus = np.array([genera.index(word[0]) for word in words])
    if len(kinds) == 2:
        species = np.array([kinds.index(word[-1]) for word in words])
    else:  # numbered within the genus
        species = np.array([int(row in genus[:row].tolist()) for row in genus])
    return Data(
        images=np.load("train_images.npy"),
        labels=np.load("train_labels.npy"),
        sources=np.load("train_sources.npy"),
        test=np.load("test_images.npy"),
        tested=int(np.load("test_sources.npy")[0]),
        genus=genus,
        species=species,
    )


def joined(data: Data, logs: dict[str, np.ndarray], use_class: float) -> np.ndarray:
    """The log probability of each class from the heads' ones."""
    total = (logs["genus"][:, data.genus] + logs["species"][:, data.species]) * (1 - use_class)
    total = total + use_class * logs["class"]
    return total - np.logaddexp.reduce(total, axis=1, keepdims=True)


def write(logs: np.ndarray) -> None:
    probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", *range(10)])
        for row, values in enumerate(probabilities):
            writer.writerow([row, *(f"{value:.6f}" for value in values)])


def describe(images: np.ndarray) -> np.ndarray:
    """Colours, layout, edges, frequencies, texture and the figure on the ground of each image."""
    pixels = images.astype(np.float32) / 255
    grey = pixels.mean(axis=3)
    parts = [colours(pixels), layout(pixels), edges(grey), spectrum(grey), texture(pixels)]
    parts.append(np.array([figure(image) for image in pixels], dtype=np.float32))
    return np.nan_to_num(np.hstack(parts), posinf=0, neginf=0)


def colours(pixels: np.ndarray) -> np.ndarray:
    high, low = pixels.max(axis=3), pixels.min(axis=3)
    saturation = high - low
    hue = np.arctan2(
        np.sqrt(3) * (pixels[..., 1] - pixels[..., 2]),
        2 * pixels[..., 0] - pixels[..., 1] - pixels[..., 2],
    )
    channels = np.concatenate([pixels, saturation[..., None], pixels.mean(3, keepdims=True)], 3)
    flat = channels.reshape(len(pixels), -1, 5)
    quantiles = np.quantile(flat, [0.02, 0.25, 0.5, 0.75, 0.98], axis=1)
    parts = [flat.mean(1), flat.std(1), np.hstack(list(quantiles))]
    bins = ((hue + np.pi) / (2 * np.pi) * 12).astype(int) % 12
    shares = [(saturation * (bins == number)).mean(axis=(1, 2)) for number in range(12)]
    parts.append(np.stack(shares, 1))
    centred = flat[:, :, :3] - flat[:, :, :3].mean(1, keepdims=True)
    spread = centred.std(1) + 1e-3
    for a, b in ((0, 1), (0, 2), (1, 2)):
        together = (centred[:, :, a] * centred[:, :, b]).mean(1) / spread[:, a] / spread[:, b]
        parts.append(together[:, None])
    return np.hstack(parts)


def layout(pixels: np.ndarray) -> np.ndarray:
    """Means of 16 blocks, of each colour less the image's mean; of the border and of the middle."""
    blocks = pixels.reshape(len(pixels), 4, 8, 4, 8, 3).mean(axis=(2, 4))
    centred = blocks - blocks.mean(axis=(1, 2), keepdims=True)
    grey = pixels.mean(3)
    mirrored = [(grey * turned).mean(axis=(1, 2)) for turned in turns(grey)]
    middle = pixels[:, 10:22, 10:22].mean(axis=(1, 2))
    ring = np.concatenate([pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]], 1)
    parts = [centred.reshape(len(pixels), -1), np.stack(mirrored, 1)]
    return np.hstack([*parts, middle, ring.mean(1), middle - ring.mean(1), ring.std(1)])


def turns(grey: np.ndarray) -> list[np.ndarray]:
    """The images mirrored and turned, less their mean."""
    centred = grey - grey.mean(axis=(1, 2), keepdims=True)
    centred = centred / (centred.std(axis=(1, 2), keepdims=True) + 1e-3)
    turned = centred.transpose(0, 2, 1)
    return [centred[:, ::-1], centred[:, :, ::-1], centred[:, ::-1, ::-1], turned]


def edges(grey: np.ndarray) -> np.ndarray:
    """How strong edges of each direction are, at two scales, in all and in each quarter."""
    parts = []
    for scale in (0.7, 1.5):
        down = ndimage.gaussian_filter(grey, (0, scale, scale), order=(0, 1, 0))
        across = ndimage.gaussian_filter(grey, (0, scale, scale), order=(0, 0, 1))
        strength = np.hypot(down, across)
        bins = np.round(np.arctan2(down, across) / np.pi * 8).astype(int) % 8
        maps = np.stack([strength * (bins == number) for number in range(8)], 3)
        whole = maps.mean(axis=(1, 2))
        total = whole.sum(1, keepdims=True) + 1e-6
        quarters = maps.reshape(len(grey), 2, 16, 2, 16, 8).mean(axis=(2, 4))
        parts += [whole / total, np.log(total)]
        parts.append(quarters.reshape(len(grey), -1) / total)
        parts.append(strength.std(axis=(1, 2))[:, None] / total)
    return np.hstack(parts)


def spectrum(grey: np.ndarray) -> np.ndarray:
    """The share of each band of frequencies, of each direction."""
    window = np.hanning(SIZE + 2)[1:-1]
    centred = (grey - grey.mean(axis=(1, 2), keepdims=True)) * window[:, None] * window
    power = np.abs(np.fft.fft2(centred)) ** 2
    steps = np.fft.fftfreq(SIZE) * SIZE
    radius = np.hypot(steps[:, None], steps)
    angle = np.round(np.arctan2(steps[:, None], steps) / np.pi * 8).astype(int) % 8
    total = power.sum(axis=(1, 2)) + 1e-6
    parts = []
    rings = [0.5, 2, 3, 4, 5.5, 7.5, 10.5, 23]
    for inner, outer in itertools.pairwise(rings):
        ring = (radius >= inner) & (radius < outer)
        parts.append(np.log(power[:, ring].sum(1) / total + 1e-5))
        for number in range(8):
            cell = ring & (angle == number)
            parts.append(np.log(power[:, cell].sum(1) / total + 1e-5))
    return np.stack(parts, 1)


def texture(pixels: np.ndarray) -> np.ndarray:
    """How alike near pixels are at each shift, and how noisy each colour is."""
    centred = pixels - pixels.mean(axis=(1, 2), keepdims=True)
    grey = centred.mean(3)
    variance = grey.var(axis=(1, 2)) + 1e-5
    parts = []
    for down in range(7):
        for across in range(-6, 7, 2 if down else 1):
            if down or across > 0:
                moved = np.roll(grey, (down, across), axis=(1, 2))
                parts.append((moved * grey).mean(axis=(1, 2)) / variance)
    rough = np.diff(np.diff(centred, axis=1), axis=2)
    parts += [np.log(np.abs(rough[..., channel]).mean(axis=(1, 2)) + 1e-4) for channel in range(3)]
    skew = (grey**3).mean(axis=(1, 2)) / variance**1.5
    tails = (grey**4).mean(axis=(1, 2)) / variance**2
    return np.stack([*parts, skew, tails], 1)


def figure(image: np.ndarray) -> np.ndarray:
    """Where the figure is, how large and long, how it is turned, its colours and its parts."""
    ring = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    ground = np.median(ring, axis=0)
    distance = ndimage.gaussian_filter(np.sqrt(((image - ground) ** 2).sum(2)), 0.8)
    mask = distance > threshold(distance)
    rows, columns = np.nonzero(mask)
    if len(rows) < 4:
        return np.zeros(FIGURE, dtype=np.float32)
    area = len(rows)
    y, x = rows - rows.mean(), columns - columns.mean()
    yy, xx, xy = (y * y).mean(), (x * x).mean(), (x * y).mean()
    size = yy + xx + 1e-6
    radius, angle = np.hypot(x, y) / np.sqrt(size), np.arctan2(y, x)
    lobes = [np.abs((radius * np.exp(1j * order * angle)).mean()) for order in range(2, 7)]
    reach = np.quantile(radius, [0.1, 0.5, 0.9, 1.0])
    edge = mask & ~ndimage.binary_erosion(mask)
    labelled, count = ndimage.label(mask)
    sizes = np.bincount(labelled.ravel())[1:]
    holes = ndimage.label(~np.pad(mask, 1))[1] - 1
    inside, outside = image[mask].mean(0), image[~mask].mean(0)
    numbers = [area, edge.sum() / np.sqrt(area), edge.sum() ** 2 / area, count, sizes.max() / area]
    numbers += [(sizes > 4).sum(), holes, rows.mean(), columns.mean(), rows.min(), rows.max()]
    numbers += [columns.min(), columns.max(), (xx - yy) / size, 2 * xy / size]
    numbers += [np.hypot(xx - yy, 2 * xy) / size, size / area, *lobes, *reach]
    filled = area / ((np.ptp(rows) + 1) * (np.ptp(columns) + 1))
    numbers += [filled, *inside, *outside, *(inside - outside), image[mask].std()]
    numbers.append(distance.max())
    return np.array(numbers, dtype=np.float32)


def threshold(values: np.ndarray) -> float:
    """Otsu's: between two groups that differ most."""
    counts, borders = np.histogram(values, bins=32)
    middles = (borders[1:] + borders[:-1]) / 2
    below = np.cumsum(counts)
    sums = np.cumsum(counts * middles)
    above = below[-1] - below
    low = sums / np.maximum(below, 1)
    high = (sums[-1] - sums) / np.maximum(above, 1)
    return float(borders[1:][np.argmax(below * above * (low - high) ** 2)])
