"""The hard tier: pictures whose class is told by how two things in them stand to each other.

Every picture has the same parts: a frame, a ground that is lit from one side, and a striped disc.
They have six features on a circle (three hues, three directions) and six levels. A class is a
genus, one of five, and a species, one of two. Which features tell them is drawn:

| mechanism | what it does | in evaluation | in training |
|---|---|---|---|
| relation | the genus is told by the sum or | a hue and a direction | two hues, or |
| | difference of two features | | two directions |
| upright | in large sources one of the two | present | present |
| | hardly varies: the other seems enough | | |
| turn | where genera begin on the circle | in all large sources | in two of three |
| | is not as in the tested source | | large sources |
| species | is told by one level | size, stripes or brightness | frame, ground or contrast |
| shortcut | another feature tells the class, | alike in all large sources | differently in each |
| | but only in large sources | | large source |
| decoy | another feature hardly varies within | present or absent | present or absent |
| | a large source, and has no meaning | | |

The pictures of one source are tested; few of them are labelled. The ceiling is what is reached by
whoever knows the true class of each test picture; a share of all labels is redrawn.
"""

import json
import pickle
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
from prepare import NAMES_FILE, write_parts

SIZE, FRAME = 32, 3
LARGE_SOURCES, LARGE, SMALL, TEST = 3, 400, 150, 800
GENERA, SPECIES = 5, 2
CLASSES = GENERA * SPECIES
HUES = ["frame hue", "ground hue", "disc hue"]
DIRECTIONS = ["light direction", "disc place", "stripe direction"]
CIRCLES = HUES + DIRECTIONS
LEVELS = {
    "eval": ["disc size", "stripe width", "disc brightness"],
    "train": ["frame brightness", "ground colourfulness", "stripe contrast"],
}
NARROW, SHORTCUT_WIDTH, GENUS_NOISE = 0.25, 0.05, 0.17
"""Spreads in radians: of a feature that hardly varies, of a class's place on the shortcut, and of
what blurs the borders between genera."""
SHORTCUT_SHARE = 0.99
REDRAWN_LABELS = 0.04
PIXEL_NOISE = 0.07
OPPONENT = np.array([[1, -1, 0], [1 / 3**0.5, 1 / 3**0.5, -2 / 3**0.5]]) / 2**0.5
"""Two directions of colour without brightness, by which hues are measured."""
NAMES = [f"{genus} {species}" for genus in ("acer", "betula", "cedrus", "ficus", "quercus")
         for species in ("alba", "nigra")]  # fmt: skip
TRAINING = {"optimizer": "adam", "learning_rate": 0.001, "batch_size": 64, "epochs": 4}


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    mechanisms = draw_mechanisms(rng, pool)
    sources = np.repeat(np.arange(LARGE_SOURCES + 1), [LARGE] * LARGE_SOURCES + [SMALL + TEST])
    tested = mechanisms["tested source"]
    sources = np.where(sources == LARGE_SOURCES, tested, sources + (sources >= tested))
    classes = np.arange(len(sources)) % CLASSES
    circles = draw_circles(mechanisms, classes, sources, rng)
    levels = draw_levels(mechanisms, classes, rng)
    images = draw_pictures(circles, levels, rng)

    numbers = rng.permutation(CLASSES)
    redrawn = rng.random(len(classes)) < REDRAWN_LABELS
    labels = numbers[np.where(redrawn, rng.integers(CLASSES, size=len(classes)), classes)]
    train = rng.permutation(len(sources) - TEST)
    test = len(train) + rng.permutation(TEST)
    names = [NAMES[place].encode() for place in np.argsort(numbers)]
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder)
        (raw / "training.json").write_text(json.dumps(TRAINING))
        files = {NAMES_FILE: pickle.dumps({b"label_names": names}, protocol=4)}
        parts = [(images[rows], labels[rows]) for rows in (train, test)]
        write_parts(raw, files, *parts, public, private)
    np.save(public / "train_sources.npy", sources[train])
    np.save(public / "test_sources.npy", sources[test])
    np.save(private / "classes.npy", numbers[classes[test]])
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=2) + "\n")


def draw_mechanisms(rng: np.random.Generator, pool: str) -> dict:
    same = [*combinations(HUES, 2), *combinations(DIRECTIONS, 2)]
    mixed = [(hue, direction) for hue in HUES for direction in DIRECTIONS]
    pairs = {"eval": mixed, "train": same}[pool]
    told, upright = rng.permutation(pairs[rng.integers(len(pairs))]).tolist()
    others = rng.permutation([name for name in CIRCLES if name not in (told, upright)]).tolist()
    tested = int(rng.integers(LARGE_SOURCES + 1))
    return {
        "tested source": tested,
        "relation": {
            "told": told, "upright": upright, "sign": int(rng.choice([-1, 1])),
            "turned": draw_turns(rng, tested, one_alike=pool == "train").tolist(),
        },
        "species": {"by": str(rng.choice(LEVELS[pool]))},
        "shortcut": {
            "by": others[0], "orders": draw_orders(rng, alike=pool == "eval").tolist(),
        },
        "decoy": {"by": others[1] if rng.random() < 0.5 else None},
    }  # fmt: skip


def draw_turns(rng: np.random.Generator, tested: int, one_alike: bool) -> np.ndarray:
    """Where genera begin in each source: as in the tested one, or far from there."""
    turns = rng.uniform(0.2, 0.8, size=LARGE_SOURCES + 1)
    turns[tested] = 0
    if one_alike:
        turns[rng.choice(np.delete(np.arange(LARGE_SOURCES + 1), tested))] = 0
    return (turns + rng.random()) * 2 * np.pi


def draw_orders(rng: np.random.Generator, alike: bool) -> np.ndarray:
    """How classes follow each other on the shortcut, for each source."""
    count = LARGE_SOURCES + 1
    if alike:
        return np.tile(rng.permutation(CLASSES), (count, 1))
    return np.stack([rng.permutation(CLASSES) for _ in range(count)])


def draw_circles(
    mechanisms: dict, classes: np.ndarray, sources: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The features on a circle, in radians."""
    count, tested = len(classes), sources == mechanisms["tested source"]
    circles = {name: rng.uniform(0, 2 * np.pi, size=count) for name in CIRCLES}
    relation, shortcut = mechanisms["relation"], mechanisms["shortcut"]
    for name in (relation["upright"], mechanisms["decoy"]["by"]):
        if name is not None:
            usual = rng.uniform(0, 2 * np.pi, size=LARGE_SOURCES + 1)[sources]
            narrow = usual + rng.normal(scale=NARROW, size=count)
            circles[name] = np.where(tested, circles[name], narrow)

    sector = 2 * np.pi / GENERA
    within = rng.uniform(0, sector, size=count) + rng.normal(scale=GENUS_NOISE, size=count)
    wanted = np.array(relation["turned"])[sources] + sector * (classes // SPECIES) + within
    circles[relation["told"]] = wanted - relation["sign"] * circles[relation["upright"]]

    place = 2 * np.pi / CLASSES * np.array(shortcut["orders"])[sources, classes]
    shows = ~tested & (rng.random(count) < SHORTCUT_SHARE)
    place = place + rng.normal(scale=SHORTCUT_WIDTH, size=count)
    circles[shortcut["by"]] = np.where(shows, place, circles[shortcut["by"]])
    return circles


def draw_levels(
    mechanisms: dict, classes: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The levels, each low or high."""
    levels = {}
    for name in LEVELS["eval"] + LEVELS["train"]:
        told = name == mechanisms["species"]["by"]
        high = classes % SPECIES if told else rng.integers(2, size=len(classes))
        levels[name] = 0.6 * high + rng.uniform(0, 0.4, size=len(classes))
    return levels


def draw_pictures(
    circles: dict[str, np.ndarray], levels: dict[str, np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """A striped disc on a ground with a frame around it, from each picture's features."""
    count = len(circles["disc hue"])
    angle = {name: values[:, None, None] for name, values in circles.items()}
    level = {name: values[:, None, None] for name, values in levels.items()}
    rows, columns = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2

    lit = columns * np.cos(angle["light direction"]) + rows * np.sin(angle["light direction"])
    ground = 0.5 + 0.12 * lit / (SIZE / 2)
    ground = coloured(ground, angle["ground hue"], 0.09 + 0.09 * level["ground colourfulness"])

    away = rng.uniform(4, 5, size=(count, 1, 1))
    x = columns - away * np.cos(angle["disc place"])
    y = rows - away * np.sin(angle["disc place"])
    across = x * np.cos(angle["stripe direction"] / 2) + y * np.sin(angle["stripe direction"] / 2)
    phase = rng.uniform(0, 2 * np.pi, size=(count, 1, 1))
    wave = np.sin(2 * np.pi * across / (3 + 2 * level["stripe width"]) + phase)
    disc = 0.4 + 0.2 * level["disc brightness"] + (0.15 + 0.15 * level["stripe contrast"]) * wave
    disc = coloured(disc, angle["disc hue"], 0.16)
    inside = np.hypot(x, y) < 5 + 2.5 * level["disc size"]

    frame = coloured(0.35 + 0.3 * level["frame brightness"], angle["frame hue"], 0.16)
    outside = np.maximum(abs(rows), abs(columns)) > SIZE / 2 - FRAME
    picture = np.where(inside[..., None], disc, ground)
    picture = np.where(outside[..., None], frame, picture)
    picture = picture + rng.normal(scale=PIXEL_NOISE, size=picture.shape)
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def coloured(brightness: np.ndarray, hue: np.ndarray, strength: np.ndarray | float) -> np.ndarray:
    """Brightness with a colour added, as red, green, blue."""
    tint = np.cos(hue)[..., None] * OPPONENT[0] + np.sin(hue)[..., None] * OPPONENT[1]
    return brightness[..., None] + np.asarray(strength)[..., None] * tint
