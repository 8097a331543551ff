"""The mini tier: generated scenes in the official layout.

Clouds are smooth random fields. Half of the scenes have one to three contrails: thin, straight
lines that show only in the difference of two bands. Other lines are there to mislead: bands of
cloud, cold in all bands; streaks of cirrus, which differ as contrails do but are wide; arcs, which
are thin but not straight. The masks are drawn as people draw them: a little beside the line, and a
few contrails are overlooked, so that no honest mask agrees wholly.

A draw draws, besides the scenes: how warm it is, how far the bands are apart, how high and how
rough clouds are, how much bands differ and scatter, and how wide thin lines and wide ones are. So
a threshold in Kelvins that fits one draw does not fit another.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

TRAIN, TEST = 300, 300
SIZE, TIMES = 64, 5
"""The sequences end with the labelled time."""
WARMTH, BAND_11, BAND_15 = (266.0, 278.0), (-1.6, -0.4), (-2.2, -0.8)
"""Kelvins: of band 14 on average, and by how much the others differ from it."""
CLOUD, TINT, NOISE = (7.5, 10.5), (0.42, 0.52), (0.22, 0.26)
"""Kelvins: spread of clouds, of the differences between bands, of single pixels."""
CONTRAST, STREAK_CONTRAST = (0.8, 2.0), (0.5, 1.4)
"""Kelvins by which thin lines, and wide ones, are colder in band 15."""
LINE_WIDTH = (0.85, 1.15)
STREAK_WIDTH = (2.8, 4.2)
ROUGHNESS = (2.3, 2.5)
WIDER = (0.95, 1.1)
"""How much wider lines are in one draw than in another."""
MASK_WIDTH = 1.3
SHAKE, TURN = 0.25, 0.01
"""Pixels and radians by which a drawn line is off."""
OVERLOOKED = 0.05
TRAINING = {"learning_rate": 0.05, "epochs": 3, "batch_size": 2, "class_weights": [0.57, 4.17]}


class Sky(NamedTuple):
    """What all scenes of a draw have in common."""

    warmth: float
    band_11: float
    band_15: float
    cloud: float
    tint: float
    noise: float
    roughness: float
    wider: float


def draw_sky(rng: np.random.Generator) -> Sky:
    ranges = (WARMTH, BAND_11, BAND_15, CLOUD, TINT, NOISE, ROUGHNESS, WIDER)
    return Sky(*(rng.uniform(*limits) for limits in ranges))


def make(raw: Path, rng: np.random.Generator) -> None:
    sky = draw_sky(rng)
    for part, count in (("train", TRAIN), ("validation", TEST)):
        records = rng.choice(10**15, size=count, replace=False) + 10**18
        lined = rng.permutation(np.arange(count) % 2 == 0)
        for record, with_contrails in zip(records, lined, strict=True):
            bands, mask, true_mask = draw_scene(bool(with_contrails), sky, rng)
            folder = raw / part / str(record)
            folder.mkdir(parents=True)
            for band, values in bands.items():
                times = np.repeat(values[..., None], TIMES, axis=2).astype(np.float32)
                np.save(folder / f"band_{band:02d}.npy", times)
            np.save(folder / "human_pixel_masks.npy", mask[..., None].astype(np.int32))
            np.save(folder / "true_mask.npy", true_mask)
        listing = [{"record_id": str(record)} for record in sorted(records.tolist())]
        (raw / f"{part}_metadata.json").write_text(json.dumps(listing))
    (raw / "training.json").write_text(json.dumps(TRAINING))


def draw_scene(
    with_contrails: bool, sky: Sky, rng: np.random.Generator
) -> tuple[dict[int, np.ndarray], np.ndarray, np.ndarray]:
    """The bands in Kelvins, the mask as drawn by people, and the true one."""
    clouds = sky.warmth + sky.cloud * smooth_field(rng, sky.roughness)
    between_11, between_15 = (sky.tint * smooth_field(rng, sky.roughness) for _ in range(2))
    for _ in range(rng.integers(3)):
        band = random_line(rng).shade(sky.wider * rng.uniform(*STREAK_WIDTH))
        clouds -= rng.uniform(2, 8) * band
    for _ in range(rng.integers(3)):
        streak = random_line(rng).shade(sky.wider * rng.uniform(*STREAK_WIDTH))
        between_15 -= rng.uniform(*STREAK_CONTRAST) * streak
    for _ in range(rng.integers(3)):
        width = sky.wider * rng.uniform(*LINE_WIDTH)
        between_15 -= rng.uniform(*CONTRAST) * arc(rng, width)

    mask, true_mask = np.zeros((SIZE, SIZE), dtype=bool), np.zeros((SIZE, SIZE), dtype=bool)
    for _ in range(rng.integers(1, 4) if with_contrails else 0):
        contrail = random_line(rng)
        width = sky.wider * rng.uniform(*LINE_WIDTH)
        between_15 -= rng.uniform(*CONTRAST) * contrail.shade(width)
        true_mask |= contrail.covered()
        if rng.random() >= OVERLOOKED:
            mask |= contrail.shaken(rng).covered()
    apart = {11: sky.band_11 + between_11, 14: 0.0, 15: sky.band_15 + between_15}
    bands = {band: clouds + values for band, values in apart.items()}
    bands = {band: values + rng.normal(scale=sky.noise, size=values.shape)
             for band, values in bands.items()}  # fmt: skip
    return bands, mask, true_mask


def smooth_field(rng: np.random.Generator, roughness: float) -> np.ndarray:
    """A random field whose large waves are the highest, with mean 0 and spread 1."""
    frequency = np.hypot(np.fft.fftfreq(SIZE)[:, None], np.fft.rfftfreq(SIZE)[None, :])
    frequency[0, 0] = np.inf
    waves = np.fft.rfft2(rng.normal(size=(SIZE, SIZE))) * frequency ** (-roughness / 2)
    field = np.fft.irfft2(waves, s=(SIZE, SIZE))
    return (field - field.mean()) / field.std()


class Line(NamedTuple):
    """A straight line of some length through a point."""

    row: float
    column: float
    angle: float
    half_length: float

    def shaken(self, rng: np.random.Generator) -> "Line":
        """As somebody draws it by hand."""
        row, column = rng.normal(scale=SHAKE, size=2)
        angle, ends = rng.normal(scale=TURN), rng.normal(scale=2)
        return Line(self.row + row, self.column + column, self.angle + angle,
                    self.half_length + ends)  # fmt: skip

    def shade(self, width: float) -> np.ndarray:
        """1 along the line, falling to 0 beside it."""
        along, across = self._coordinates()
        return profile(across, width) * (abs(along) < self.half_length)

    def covered(self) -> np.ndarray:
        along, across = self._coordinates()
        return (abs(across) < MASK_WIDTH) & (abs(along) < self.half_length)

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = np.mgrid[:SIZE, :SIZE]
        rows, columns = rows - self.row, columns - self.column
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return columns * cosine + rows * sine, rows * cosine - columns * sine


def random_line(rng: np.random.Generator) -> Line:
    row, column = rng.uniform(8, SIZE - 8, size=2)
    return Line(row, column, rng.uniform(0, np.pi), rng.uniform(12, 45))


def arc(rng: np.random.Generator, width: float) -> np.ndarray:
    """1 along a part of a circle, falling to 0 beside it."""
    rows, columns = np.mgrid[:SIZE, :SIZE] - rng.uniform(0, SIZE, size=(2, 1, 1))
    turn = np.arctan2(rows, columns) - rng.uniform(-np.pi, np.pi)
    within = np.cos(turn) > rng.uniform(-0.5, 0.7)
    return profile(np.hypot(rows, columns) - rng.uniform(8, 26), width) * within


def profile(distance: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-0.5 * (distance / width) ** 2)
