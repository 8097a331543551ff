"""Reads the data, and describes each pixel by the line through it that stands out most."""

import csv
import math
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

ANGLES = 16
HALF = 5
OFFSETS = range(-4, 5)
CANDIDATES = 0.35


class Data:
    """Training and test images in one array, training ones first."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        train, test = np.load("train_images.npy"), np.load("test_images.npy")
        self.masks = np.load("train_masks.npy")
        self.annotators = np.load("train_annotators.npy")
        self.count = len(train)
        kelvin = np.concatenate([train, test]).astype(np.float32) / 100
        b11, b14, b15 = (kelvin[..., band] for band in range(3))
        self.bands = torch.from_numpy(np.stack([b14, b15 - b14, b14 - b11], axis=1))
        self.size = kelvin.shape[1]


def line_kernel(angle: float, half: int, offset: float, size: int) -> torch.Tensor:
    """The mean along a line through the middle, moved to its side by the offset."""
    kernel = torch.zeros(size, size)
    for step in np.arange(-half, half + 0.1, 0.5):
        row = size // 2 + step * math.sin(angle) + offset * math.cos(angle)
        column = size // 2 + step * math.cos(angle) - offset * math.sin(angle)
        top, left = math.floor(row), math.floor(column)
        for r, c in ((top, left), (top + 1, left), (top, left + 1), (top + 1, left + 1)):
            if 0 <= r < size and 0 <= c < size:
                kernel[r, c] += max(0, 1 - abs(r - row)) * max(0, 1 - abs(c - column))
    return kernel / kernel.sum()


def along_lines(pictures: torch.Tensor, half: int, side: float = 0.0) -> torch.Tensor:
    """For pictures (n, size, size) the means along lines: (n, angles, size, size).

    With a side, what lies at that distance on both sides is taken off.
    """
    size = 2 * (half + math.ceil(side)) + 3
    kernels = []
    for step in range(ANGLES):
        angle = math.pi * step / ANGLES
        kernel = line_kernel(angle, half, 0, size)
        if side:
            sides = (line_kernel(angle, half, sign * side, size) for sign in (-1, 1))
            kernel = kernel - sum(sides) / 2
        kernels.append(kernel)
    padded = functional.pad(pictures[:, None], [size // 2] * 4, mode="replicate")
    return functional.conv2d(padded, torch.stack(kernels)[:, None])


def at_angle(stack: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Of (n, angles, size, size) what each pixel's own angle (n, size, size) has."""
    return stack.gather(1, angle[:, None])[:, 0]


class Lines:
    """Each pixel's strongest line: its angle, how strong it is, and what describes it."""

    def __init__(self, data: Data) -> None:
        count, channels, size, _ = data.bands.shape
        flat = data.bands.reshape(-1, size, size)
        contrast = along_lines(flat, HALF, 3.0).reshape(count, channels, ANGLES, size, size)
        values = contrast.permute(1, 0, 2, 3, 4).reshape(channels, -1)
        limits = values[:, ::97].abs().quantile(0.9, dim=1)
        clipped = values[:, ::7].clamp(-limits[:, None], limits[:, None])
        whiten = torch.linalg.inv(torch.linalg.cholesky(torch.cov(clipped)))
        white = torch.einsum("dc,ncaxy->ndaxy", whiten, contrast)
        energy = (white**2).sum(1)
        self.strength, self.angle = energy.max(1)
        self.lineness = torch.log1p(self.strength)
        self.white = torch.stack([at_angle(white[:, c], self.angle) for c in range(channels)], 1)
        limit = self.strength.flatten()[::5].quantile(1 - CANDIDATES)
        self.candidates = (self.strength >= limit).numpy()
        self.features = self.describe(data.bands)

    def describe(self, bands: torch.Tensor) -> np.ndarray:
        """(n, size, size, features)."""
        radians = self.angle * (math.pi / ANGLES)
        parts = [self.lineness, (2 * radians).sin(), (2 * radians).cos(), *self.white.unbind(1)]
        for band in bands.unbind(1):
            parts += self.profile(band, radians)
            parts += self.surroundings(band, radians)
            parts.append(at_angle(along_lines(band, 10, 3.0), self.angle))
            deviations = (band - functional.avg_pool2d(band[:, None], 9, 1, 4)[:, 0]) ** 2
            parts.append(at_angle(along_lines(deviations, HALF), self.angle))
        parts.append(self.lineness.mean((1, 2))[:, None, None].expand_as(self.lineness))
        return torch.stack(parts, dim=-1).numpy().astype(np.float32)

    def profile(self, band: torch.Tensor, radians: torch.Tensor) -> list[torch.Tensor]:
        """Across the line, as differences to what is further out."""
        means = along_lines(band, HALF)
        size = band.shape[-1]
        rows, columns = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        image = torch.arange(len(band))[:, None, None]
        found = []
        for offset in OFFSETS:
            row = (rows + offset * radians.cos()).round().long().clamp(0, size - 1)
            column = (columns - offset * radians.sin()).round().long().clamp(0, size - 1)
            found.append(means[image, self.angle, row, column])
        ends = (found[0] + found[-1]) / 2
        return [value - ends for value in found[1:-1]] + [found[0] - found[-1]]

    def surroundings(self, band: torch.Tensor, radians: torch.Tensor) -> list[torch.Tensor]:
        """The level around, its slope along and across the line, and the image's mean."""
        padded = functional.pad(band[:, None], [5] * 4, mode="replicate")
        level = functional.avg_pool2d(padded, 11, 1)[:, 0]
        down, right = torch.gradient(level, dim=(1, 2))
        along = right * radians.cos() + down * radians.sin()
        across = down * radians.cos() - right * radians.sin()
        mean = band.mean((1, 2))[:, None, None].expand_as(band)
        return [level, along.abs(), across.abs(), mean, level - mean]

    def smoothed(self, chances: np.ndarray, rows: np.ndarray, half: int = 8) -> np.ndarray:
        """Chances (n, size, size) of these images, each joined with those along its line."""
        given = torch.from_numpy(chances.astype(np.float32))
        along = at_angle(along_lines(given, half), self.angle[torch.from_numpy(rows)])
        return (given * along).clamp(min=0).sqrt().numpy()


def dice(marked: np.ndarray, masks: np.ndarray) -> float:
    return float(2 * (marked * masks).sum() / max(1, marked.sum() + masks.sum()))


def best_threshold(chances: np.ndarray, masks: np.ndarray) -> tuple[float, float]:
    """The threshold with the highest Dice, and that Dice."""
    tried = [(dice(chances > limit, masks), limit) for limit in np.linspace(0.04, 0.9, 44)]
    value, limit = max(tried)
    return float(limit), value


def encode(mask: np.ndarray) -> str:
    """Runs of marked pixels: start and length, counted from 1, down the columns."""
    flat = np.concatenate([[0], mask.T.ravel().astype(np.int8), [0]])
    starts, ends = (np.flatnonzero(np.diff(flat) == step) for step in (1, -1))
    runs = (f"{start + 1} {end - start}" for start, end in zip(starts, ends, strict=True))
    return " ".join(runs) or "-"


def write_submission(masks: np.ndarray) -> None:
    with Path("submission.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["record_id", "encoded_pixels"])
        writer.writerows([row, encode(mask)] for row, mask in enumerate(masks))
