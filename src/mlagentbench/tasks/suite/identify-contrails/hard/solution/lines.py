# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Lines in images: how strongly, in which direction and in which band there is one at each pixel."""

from typing import NamedTuple

import numpy as np

ANGLES = 24
TRAITS = ["band", "sign", "warmth"]
REACH, WIDTH, LENGTH = 12, 1.1, 6.0
"""Pixels: how far filters reach, and how wide and long the lines are that they look for."""


class Lines(NamedTuple):
    """For every pixel of every image."""

    strength: np.ndarray
    """Of the strongest line in any direction and any difference of bands."""
    angle: np.ndarray
    """Of that line, in degrees from 0 to 180."""
    responses: np.ndarray
    """In that direction, in each difference of bands, with its sign; (2, images, rows, columns)."""
    warmth: np.ndarray
    """The mean of its image, in Kelvins above or below what is usual."""

    def of(self, rows: np.ndarray) -> "Lines":
        """Those of some images."""
        parts = self._asdict() | {"responses": self.responses.swapaxes(0, 1)}
        chosen = {name: values[rows] for name, values in parts.items()}
        return Lines(**chosen | {"responses": chosen["responses"].swapaxes(0, 1)})

    def traits(self) -> dict[str, np.ndarray]:
        """0 or 1 for each of TRAITS."""
        band = np.abs(self.responses).argmax(axis=0)
        sign = np.take_along_axis(self.responses, band[None], axis=0)[0] > 0
        values = (band, sign.astype(int), (self.warmth > 0).astype(int))
        return dict(zip(TRAITS, values, strict=True))


def filters(surroundings: bool = True) -> np.ndarray:
    """A line, less its surroundings if asked, for each direction."""
    rows, columns = np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1]
    found = []
    for angle in np.pi * np.arange(ANGLES) / ANGLES:
        along = columns * np.cos(angle) + rows * np.sin(angle)
        across = rows * np.cos(angle) - columns * np.sin(angle)
        ridge = np.exp(-0.5 * (across / WIDTH) ** 2 - 0.5 * (along / LENGTH) ** 2)
        if surroundings:
            ridge *= 1 - (across / WIDTH) ** 2
            ridge -= ridge.mean()
        found.append(ridge / np.linalg.norm(ridge))
    return np.array(found)


def find_lines(images: np.ndarray) -> Lines:
    bands = images.astype(np.float32) / 100
    differences = np.stack([bands[..., 0] - bands[..., 1], bands[..., 2] - bands[..., 1]])
    responses = correlated(differences, filters())
    some = np.abs(responses[:, :, ::5])
    responses /= 1.4826 * np.median(some, axis=(0, 2, 3, 4), keepdims=True)
    size = np.abs(responses).max(axis=1)
    best = size.argmax(axis=0)
    strength = size.max(axis=0)
    before, after = (
        np.take_along_axis(size, (best + step)[None] % ANGLES, axis=0)[0] for step in (-1, 1)
    )
    bend = np.maximum(2 * strength - before - after, 1e-6)
    angle = 180 / ANGLES * (best + 0.5 * (after - before) / bend) % 180
    at_best = np.take_along_axis(responses, best[None, None], axis=0)[0]
    warmth = bands[..., 1].mean(axis=(1, 2), keepdims=True)
    warmth = np.broadcast_to(warmth - np.median(warmth), strength.shape)
    return Lines(strength, angle, at_best, warmth)


def pooled(lines: Lines, values: np.ndarray) -> np.ndarray:
    """The mean of values along the line through each pixel, where the line is strong."""
    weights = np.maximum(lines.strength - 2, 0.01)
    kernels = filters(surroundings=False)
    sums = correlated(np.stack([values * weights, weights]).astype(np.float32), kernels)
    nearest = np.round(lines.angle * ANGLES / 180).astype(int) % ANGLES
    top, bottom = np.take_along_axis(sums, nearest[None, None], axis=0)[0]
    return top / np.maximum(bottom, 1e-6)


def correlated(values: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """The correlation of images with each kernel; beyond their edges they are mirrored."""
    sides = [(0, 0)] * (values.ndim - 2) + [(REACH, REACH)] * 2
    padded = np.pad(values, sides, mode="reflect")
    shape = padded.shape[-2:]
    spectrum = np.fft.rfft2(padded)
    rows, columns = values.shape[-2:]
    found = []
    for kernel in kernels.astype(np.float32):
        product = spectrum * np.fft.rfft2(kernel, s=shape).conj()
        found.append(np.fft.irfft2(product, s=shape)[..., :rows, :columns])
    return np.stack(found)
