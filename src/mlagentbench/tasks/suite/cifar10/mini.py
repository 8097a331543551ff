"""The mini tier: generated pictures in the official layout.

Ten classes are five shapes with two textures each. Neither colour nor size tells the class; a share
of the labels is redrawn, so that no honest classifier reaches 1.

A draw draws, besides the pictures: which class has which number, what the shapes are exactly
(corners of the polygon, points of the star, how thick crosses and rings are) and how fine the
textures are. So what was fitted to the pictures of one draw is of no use for another.
"""

import json
import pickle
from pathlib import Path
from typing import NamedTuple

import numpy as np

SHAPES = ("disc", "polygon", "cross", "ring", "star")
TEXTURES = ("radial", "linear")
CLASSES = [(shape, texture) for shape in SHAPES for texture in TEXTURES]
POLYGONS = {3: "triangle", 4: "square"}

TRAIN, TEST, BATCHES = 5000, 1000, 5
SIZE = 32
PIXEL_NOISE = 0.08
REDRAWN_LABELS = 0.04
LEAST_COLOUR_DISTANCE = 0.4

TRAINING = {"optimizer": "adam", "learning_rate": 0.001, "batch_size": 64, "epochs": 2}


def make(raw: Path, rng: np.random.Generator) -> None:
    root = raw / "cifar-10-batches-py"
    root.mkdir()
    look = draw_look(rng)
    classes = np.concatenate([balanced(TRAIN, rng), balanced(TEST, rng)])
    images = np.stack([draw_one(*look.classes[n], look, rng) for n in classes])
    labels = redraw(classes, rng)
    rows = TRAIN // BATCHES
    for n in range(BATCHES):
        part = slice(n * rows, (n + 1) * rows)
        write_batch(root / f"data_batch_{n + 1}", images[part], labels[part])
    write_batch(root / "test_batch", images[TRAIN:], labels[TRAIN:])
    write_pickle(root / "batches.meta", {b"label_names": look.names()})
    np.save(raw / "test_classes.npy", classes[TRAIN:])
    (raw / "training.json").write_text(json.dumps(TRAINING))


def balanced(count: int, rng: np.random.Generator) -> np.ndarray:
    """Class numbers in random order, as many of each."""
    return rng.permutation(np.arange(count) % len(CLASSES))


def redraw(classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The classes as labels, a share of them drawn anew."""
    redrawn = rng.random(len(classes)) < REDRAWN_LABELS
    return np.where(redrawn, rng.integers(len(CLASSES), size=len(classes)), classes)


def write_batch(file: Path, images: np.ndarray, labels: np.ndarray) -> None:
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    write_pickle(file, {b"data": np.ascontiguousarray(planes), b"labels": labels.tolist()})


def write_pickle(file: Path, value: dict) -> None:
    with file.open("wb") as handle:
        pickle.dump(value, handle, protocol=4)


class Look(NamedTuple):
    """What all pictures of a draw have in common."""

    classes: list[tuple[str, str]]
    """Shape and texture of each class, by its number."""
    corners: int
    points: int
    disc: float
    arm: float
    hole: float
    rays: int
    fineness: float

    def names(self) -> list[bytes]:
        own = {"polygon": POLYGONS[self.corners]}
        return [f"{texture} {own.get(shape, shape)}".encode() for shape, texture in self.classes]


def draw_look(rng: np.random.Generator) -> Look:
    return Look(
        classes=[CLASSES[n] for n in rng.permutation(len(CLASSES))],
        corners=int(rng.choice(list(POLYGONS))),
        points=int(rng.integers(4, 7)),
        disc=rng.uniform(0.84, 0.94),
        arm=rng.uniform(0.34, 0.41),
        hole=rng.uniform(0.44, 0.56),
        rays=int(rng.integers(5, 7)),
        fineness=rng.uniform(0.95, 1.1),
    )


def draw_one(shape: str, texture: str, look: Look, rng: np.random.Generator) -> np.ndarray:
    """A textured shape on a ground, perhaps a bar before it."""
    radius = rng.uniform(7, 11)
    x, y = rotated_grid(centre=rng.uniform(13, 18, size=2), angle=rng.uniform(-0.4, 0.4))
    ground, first, second, bar_colour = distinct_colours(4, rng)
    stripes = stripe_pattern(texture, x, y, look, rng)
    picture = np.where(stripes[..., None] > 0, first, second)
    picture = np.where(inside(shape, x / radius, y / radius, look)[..., None], picture, ground)
    if rng.random() < 0.5:
        picture = np.where(bar(rng)[..., None], bar_colour, picture)
    picture = picture + rng.normal(scale=PIXEL_NOISE, size=picture.shape)
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def distinct_colours(count: int, rng: np.random.Generator) -> np.ndarray:
    """Random colours, no two of them nearly alike."""
    while True:
        colours = rng.random((count, 3))
        distances = np.linalg.norm(colours[:, None] - colours[None], axis=2)
        if distances[np.triu_indices(count, 1)].min() > LEAST_COLOUR_DISTANCE:
            return colours


def rotated_grid(centre: np.ndarray, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates of all pixels, seen from the centre and turned by the angle."""
    rows, columns = np.mgrid[:SIZE, :SIZE]
    x, y = columns - centre[0], rows - centre[1]
    return x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)


def stripe_pattern(
    texture: str, x: np.ndarray, y: np.ndarray, look: Look, rng: np.random.Generator
) -> np.ndarray:
    """Positive on one stripe, negative on the next: rays from the centre, or parallel lines."""
    phase = rng.uniform(0, 2 * np.pi)
    if texture == "radial":
        return np.sin(rng.integers(look.rays, look.rays + 4) * np.arctan2(y, x) + phase)
    direction = rng.uniform(0, np.pi)
    along = x * np.cos(direction) + y * np.sin(direction)
    return np.sin(look.fineness * rng.uniform(0.9, 1.4) * along + phase)


def inside(shape: str, x: np.ndarray, y: np.ndarray, look: Look) -> np.ndarray:
    """Which points lie in the shape of radius 1."""
    distance, angle = np.hypot(x, y), np.arctan2(y, x)
    if shape == "disc":
        return distance < look.disc
    if shape == "polygon":
        sector = 2 * np.pi / look.corners
        from_side = (angle + np.pi / 2) % sector - sector / 2
        return distance * np.cos(from_side) < 1.13 * np.cos(sector / 2)
    if shape == "cross":
        return (np.minimum(abs(x), abs(y)) < look.arm) & (np.maximum(abs(x), abs(y)) < 1)
    if shape == "ring":
        return (distance < 1) & (distance > look.hole)
    return distance < 0.75 + 0.3 * np.cos(look.points * angle)


def bar(rng: np.random.Generator) -> np.ndarray:
    """Which pixels lie in a bar across the picture, somewhere, at some angle."""
    x, _ = rotated_grid(centre=rng.uniform(4, 28, size=2), angle=rng.uniform(0, np.pi))
    return abs(x) < rng.uniform(1, 2.5)
