"""Invents dives, and recorders that stored what their cameras saw in another order.

A category is a form and a trait. Animals have a coloured body with a coloured core, and the trait
is in one of the two colours, or in both together. On surveys it is always there; on transits the
crew went by the other colour, and half of the traits are not those of the category. Every dive has
a recorder with settings of its
own, so nothing that is learned about stored pictures holds on the dives that are tested.

| mechanism | eval                     | train               | what it does                        |
|-----------|--------------------------|---------------------|-------------------------------------|
| lines     | reordered, or rolled     | mirrored            | rows or columns of all frames of a  |
|           |                          |                     | dive are stored elsewhere           |
| frames    | delayed, differences, or | sums, or predicted  | a stored frame mixes several frames |
|           | echo                     |                     | or planes                           |
| trait     | body, core or difference | core or sum         | the colour that tells categories    |
|           |                          |                     | apart; the other one is a shortcut  |
|           |                          |                     | on transits, random on surveys      |
| depth     | present, or absent       | present, or absent  | a decoy: forms have a depth on      |
|           |                          |                     | transits only                       |

The ceiling knows which animals are there, not which labels were redrawn.
"""

import colorsys
import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mini import inside
from prepare import Frame, as_text, give_new_ids, write_answers, write_inputs, write_png, write_rows

FORMS = ("disc", "ring", "cross", "worm", "crescent", "fish", "pair", "box", "bow")
FORMS_IN_DRAW, HUES = 6, 8
SIZE, FRAMES = 24, 24
TRANSITS, SURVEYS, TESTED = 38, 6, 20
"""Dives of each kind; those that are tested are surveys, too."""
RADII, MARGIN, LEAST_DISTANCE, CORE = (4.3, 5.0), 5, 11.5, 1.6
SHORTCUT, HASTY = 0.95, 0.5
"""On transits: how often the free colour follows the category, and how often the trait need not."""
REDRAWN_LABELS = 0.06
PIXEL_NOISE = 0.05
LONGEST_DELAY = 3
ECHO = (0.55, 0.68)
TRAINING = {"image_size": SIZE, "batch_size": 32, "learning_rate": 0.01, "epochs": 1}


class Mechanisms(NamedTuple):
    """What a draw has."""

    lines: str
    axis: int
    frames: str
    trait: str
    depth: bool


POOLS: dict[str, dict[str, list[Any]]] = {
    "eval": {
        "lines": ["reordered", "rolled"],
        "axis": [0, 1],
        "frames": ["delayed", "differences", "echo"],
        "trait": ["body", "core", "difference"],
        "depth": [False, True],
    },
    "train": {
        "lines": ["mirrored"],
        "axis": [0, 1],
        "frames": ["sums", "predicted"],
        "trait": ["core", "sum"],
        "depth": [False, True],
    },
}


class Fauna(NamedTuple):
    """Per form (row) and place in it: the category, what its trait is, and the shortcut."""

    forms: list[str]
    categories: np.ndarray
    traits: np.ndarray
    shortcuts: np.ndarray
    palette: np.ndarray
    depths: np.ndarray


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    mechanisms = Mechanisms(**{k: rng.permutation(v)[0].item() for k, v in POOLS[pool].items()})
    fauna = draw_fauna(rng)
    count = TRANSITS + SURVEYS + TESTED
    purposes = ["transit"] * TRANSITS + ["survey"] * (SURVEYS + TESTED)
    numbers = rng.permutation(count).tolist()
    seen, facts, pixels, settings = [], [], [], {}
    for number, purpose in zip(numbers, purposes, strict=True):
        depth = rng.uniform(200, 2000)
        frames, scenes = draw_dive(number, purpose, depth, fauna, mechanisms, rng)
        stored, settings[number] = record(scenes, mechanisms, rng)
        seen += frames
        pixels += list(stored)
        facts += [[number, t, purpose, round(depth)] for t in range(FRAMES)]
    give_new_ids(seen, rng)
    pictures = {frame.id: picture for frame, picture in zip(seen, pixels, strict=True)}
    rows = [[frame.id, *row] for frame, row in zip(seen, facts, strict=True)]
    known = (TRANSITS + SURVEYS) * FRAMES
    parts = {"train": shuffled(seen[:known], rng), "test": shuffled(seen[known:], rng)}
    for part, frames in parts.items():
        (public / f"{part}_images").mkdir()
        for frame in frames:
            write_png(public / f"{part}_images" / f"{frame.id}.png", pictures[frame.id])
    write_tables(public, private, parts, fauna, shuffled(rows, rng))
    has = mechanisms._asdict() | {"settings": settings}
    (private / "mechanisms.json").write_text(json.dumps(has) + "\n", encoding="utf-8")


def draw_fauna(rng: np.random.Generator) -> Fauna:
    turn = rng.uniform(0, 1)
    hues = [colorsys.hsv_to_rgb((n + turn) / HUES, 0.75, 0.95) for n in range(HUES)]
    return Fauna(
        rng.choice(FORMS, FORMS_IN_DRAW, replace=False).tolist(),
        1 + rng.permutation(FORMS_IN_DRAW * HUES).reshape(FORMS_IN_DRAW, HUES),
        np.stack([rng.permutation(HUES) for _ in range(FORMS_IN_DRAW)]),
        np.stack([rng.permutation(HUES) for _ in range(FORMS_IN_DRAW)]),
        np.array(hues),
        rng.permutation(np.linspace(300, 1900, FORMS_IN_DRAW)),
    )


# What the camera saw


def draw_dive(
    number: int,
    purpose: str,
    depth: float,
    fauna: Fauna,
    mechanisms: Mechanisms,
    rng: np.random.Generator,
) -> tuple[list[Frame], np.ndarray]:
    """The frames of a dive, and their pictures as bytes."""
    chances = np.ones(FORMS_IN_DRAW)
    if mechanisms.depth and purpose == "transit":
        chances = 0.05 + np.exp(-(((depth - fauna.depths) / 350) ** 2))
    chances = chances / chances.sum()
    gains = 0.9 * np.exp(rng.normal(scale=0.25, size=3))
    sediment = rng.uniform(0.3, 0.45)
    frames, scenes = [], []
    for _ in range(FRAMES):
        scene = np.full((SIZE, SIZE, 3), sediment)
        scene = scene * (1 + 0.3 * cloud(rng))[..., None]
        places = scattered(rng.integers(1, 3), rng)
        seen, labels, boxes = [], [], []
        for place in places:
            form, kind = rng.choice(FORMS_IN_DRAW, p=chances), rng.integers(HUES)
            body, core = colours(form, kind, purpose, fauna, mechanisms.trait, rng)
            shape, middle = outline(fauna.forms[form], place, rng)
            shade = rng.uniform(0.85, 1.05)
            scene[shape] = fauna.palette[body] * shade
            scene[middle] = fauna.palette[core] * shade
            seen.append(int(fauna.categories[form, kind]))
            redrawn = rng.random() < REDRAWN_LABELS
            labels.append(int(rng.choice(fauna.categories.ravel())) if redrawn else seen[-1])
            boxes.append((labels[-1], box_around(shape | middle)))
        scene = scene * gains * (1 + 0.2 * cloud(rng))[..., None]
        scene = scene + rng.normal(scale=PIXEL_NOISE, size=scene.shape)
        scenes.append(np.round(np.clip(scene, 0, 1) * 255).astype(np.uint8))
        labels, seen = sorted(set(labels)), sorted(set(seen))
        size = (SIZE, SIZE)
        frames.append(Frame("", str(number), labels, boxes, size=size, noise_free=seen))
    return frames, np.stack(scenes)


def colours(
    form: int, kind: int, purpose: str, fauna: Fauna, trait: str, rng: np.random.Generator
) -> tuple[int, int]:
    """The hues of an animal's body and core."""
    tells = int(fauna.traits[form, kind])
    free = int(rng.integers(HUES))
    if purpose == "transit" and rng.random() < SHORTCUT:
        free = int(fauna.shortcuts[form, kind])
    if purpose == "transit" and rng.random() < HASTY:
        tells = int(rng.integers(HUES))
    return {
        "body": (tells, free),
        "core": (free, tells),
        "difference": (free, (free + tells) % HUES),
        "sum": (free, (tells - free) % HUES),
    }[trait]


def cloud(rng: np.random.Generator, cells: int = 3) -> np.ndarray:
    """A smooth random field over the picture, between -1 and 1."""
    corners = rng.uniform(-1, 1, size=(cells + 1, cells + 1))
    place = np.arange(SIZE) * cells / SIZE
    low = place.astype(int)
    share = place - low
    rows = corners[low] * (1 - share)[:, None] + corners[low + 1] * share[:, None]
    return rows[:, low] * (1 - share) + rows[:, low + 1] * share


def scattered(count: int, rng: np.random.Generator) -> np.ndarray:
    """Places in the picture that keep their distance."""
    while True:
        places = rng.uniform(MARGIN, SIZE - 1 - MARGIN, size=(count, 2))
        if count == 1 or np.linalg.norm(places[0] - places[1]) > LEAST_DISTANCE:
            return places


def outline(
    form: str, place: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The pixels of an animal, and those of its core."""
    rows, columns = np.mgrid[:SIZE, :SIZE]
    radius, angle = rng.uniform(*RADII), rng.uniform(0, 2 * np.pi)
    x, y = columns - place[0], rows - place[1]
    core = np.hypot(x, y) < CORE
    x, y = x / radius, y / radius
    turned = x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)
    return inside(form, *turned), core


def box_around(shape: np.ndarray) -> list[float]:
    """Left, top, width and height."""
    rows, columns = np.flatnonzero(shape.any(axis=1)), np.flatnonzero(shape.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1]


# What the recorder stored


def record(
    scenes: np.ndarray, mechanisms: Mechanisms, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, Any]]:
    """The pictures of a dive as they were stored, and how."""
    stored, frames = mix_frames(scenes, mechanisms.frames, rng)
    stored, lines = move_lines(stored.swapaxes(1, 1 + mechanisms.axis), mechanisms.lines, rng)
    return stored.swapaxes(1, 1 + mechanisms.axis), {"frames": frames, "lines": lines}


def mix_frames(scenes: np.ndarray, how: str, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
    """Frames are in the first axis; bytes overflow."""
    stored = scenes.copy()
    if how == "delayed":
        delays = rng.permutation(LONGEST_DELAY + 1)[:3]
        delays = (delays - delays.min()).tolist()
        for plane, delay in enumerate(delays):
            stored[..., plane] = np.roll(scenes[..., plane], delay, axis=0)
        return stored, delays
    if how == "echo":
        share, lag = float(rng.uniform(*ECHO)), int(rng.integers(1, LONGEST_DELAY + 1))
        mixed = share * scenes[lag:] + (1 - share) * scenes[:-lag].astype(float)
        stored[lag:] = np.round(mixed).astype(np.uint8)
        return stored, {"share": share, "lag": lag}
    if how == "predicted":
        order = rng.permutation(3).tolist()
        for before, plane in itertools.pairwise(order):
            stored[..., plane] = scenes[..., plane] - scenes[..., before]
        return stored, order
    gap = int(rng.integers(3, 7))
    for t in range(1, len(scenes)):
        if t % gap and how == "differences":
            stored[t] = scenes[t] - scenes[t - 1]
        elif t % gap:
            stored[t] = stored[t - 1] + scenes[t]
    return stored, gap


def move_lines(stored: np.ndarray, how: str, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
    """Lines are in the second axis."""
    if how == "reordered":
        order = rng.permutation(SIZE)
        return stored[:, order], order.tolist()
    if how == "rolled":
        offsets = rng.integers(SIZE, size=SIZE)
        moved = [np.roll(stored[:, n], offset, axis=1) for n, offset in enumerate(offsets)]
        return np.stack(moved, axis=1), offsets.tolist()
    mirrored = rng.permutation(SIZE) < SIZE // 2
    return np.where(mirrored[:, None, None], stored[:, :, ::-1], stored), mirrored.tolist()


# Writing


def shuffled(things: list, rng: np.random.Generator) -> list:
    return [things[place] for place in rng.permutation(len(things))]


def write_tables(
    public: Path, private: Path, parts: dict[str, list[Frame]], fauna: Fauna, rows: list[list]
) -> None:
    forms = {int(c): f for f, row in zip(fauna.forms, fauna.categories, strict=True) for c in row}
    key = [
        {"id": str(n), "name": f"{forms[n]} sp. {n}", "supercat": forms[n]} for n in sorted(forms)
    ]
    write_rows(public / "category_key.csv", key[0].keys(), (row.values() for row in key))
    write_rows(public / "frames.csv", ["id", "dive", "frame", "purpose", "depth"], rows)
    write_rows(
        public / "train.csv",
        ["id", "dive", "categories"],
        ([f.id, f.dive, as_text(f.categories)] for f in parts["train"]),
    )
    write_rows(
        public / "train_boxes.csv",
        ["id", "category", "left", "top", "width", "height"],
        (
            [f.id, category, *(f"{side:.1f}" for side in box)]
            for f in parts["train"]
            for category, box in f.boxes
        ),
    )
    write_inputs(public, "test", parts["test"], key)
    (public / "training.json").write_text(json.dumps(TRAINING, indent=2) + "\n")
    write_answers(private, parts["test"], parts["train"], key)
    write_rows(
        private / "noise_free.csv",
        ["id", "categories"],
        ([f.id, as_text(f.noise_free)] for f in parts["test"]),
    )
