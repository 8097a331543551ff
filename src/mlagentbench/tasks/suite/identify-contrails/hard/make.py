"""The hard tier: masks that lie on other records, in another order of pixels, by many schools.

An image has several straight lines, of which a quarter are contrails. Which ones they are depends
on a line's direction together with two of its traits, so that it takes many labelled lines to
learn it. Consensus masks of six records are as those of test records. All others were marked by
one of eight annotators, whose exports went wrong, differently in every draw and for everyone:

| mechanism | what it does | in evaluation | in training |
|---|---|---|---|
| kinds | in each sector of directions one of | two of band, polarity and warmth | the same |
| | four combinations of traits is contrail | of the scene | |
| school | of three or four schools one, of two | one trait, or both, turned round | these, by |
| | annotators, marks what the consensus does | | sector |
| order | an annotator's masks come in another | late by some, backwards, blocks | halves or pairs |
| | order than the records | backwards, in several rounds | exchanged |
| layout | the pixels of an annotator's masks | tiles exchanged, turned; strips | zoomed, turned |
| | are somewhere else | reversed, sheared, every nth together | |
| shift | an annotator's masks are a few pixels | always | always |
| | off | | |

One annotator has no wrong order, another no wrong layout, so that each of both shows alone; neither
of them is right about contrails. An evaluation draw has three of the four forms of each; which
annotator has which, with which parameters, is drawn. The trait that is not drawn is a decoy. The
ceiling is the Dice of whoever knows all contrails; consensus masks are a little beside them.
"""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mini import profile
from prepare import COLUMNS, EMPTY, PER_KELVIN, encode, write_answers, write_table

SIZE = 40
ANNOTATORS, EACH, CONSENSUS, TEST = 8, 42, 6, 200
"""Annotators are counted from 1; 0 is the consensus."""
SCHOOLS = [[2, 3, 3], [2, 2, 2, 2]]
"""Annotators of each school; the first school is right, and none has a majority."""
LEAST_AGREED = 5
"""Contrails in records with a consensus mask, so that they show which school is right."""
SECTORS, COMBINATIONS = 6, 4
TRAITS = ["band", "polarity", "warmth"]
CLEAR, LINES = 0.2, (2, 7)
"""Scenes without any line, and the number of lines of the others."""
WARMTH, DIFFERENCE, SEASONS = (268.0, 276.0), (-2.0, -0.8), (6.0, 8.0)
"""Kelvins: on average, between bands, and by how much warm scenes are warmer."""
CLOUD, TINT, NOISE, ROUGHNESS = (5.0, 7.0), (0.30, 0.38), (0.20, 0.24), (2.3, 2.5)
CONTRAST, LINE_WIDTH = (1.3, 2.4), (0.9, 1.15)
HALF_LENGTH, MASK_WIDTH = (9.0, 26.0), 1.3
MOST_SHIFT = 3
ORDERS = {"eval": ["late", "backwards", "blocks", "rounds"], "train": ["halves", "pairs"]}
LAYOUTS = {"eval": ["tiles", "strips", "sheared", "combed"], "train": ["zoomed", "turned"]}
QUARTERS = np.arange(4).reshape(2, 2)
TILES = [
    (*order, turns)
    for order in permutations(range(4))
    for turns in range(1, 4)
    # In a circle and not a turn of the whole, so that nothing simpler puts most of them right.
    if order[0] != 0 and order[order[0]] != 0 and order[order[order[0]]] != 0
    and order != tuple(np.rot90(QUARTERS, turns).ravel())
]  # fmt: skip
TRAINING = {"learning_rate": 0.05, "epochs": 3, "batch_size": 2, "class_weights": [0.57, 4.17]}


class Hand(NamedTuple):
    """How exactly somebody draws lines: pixels, radians, and the share that is overlooked."""

    shake: float
    turn: float
    overlooked: float


ONE, MANY = Hand(0.3, 0.02, 0.08), Hand(0.2, 0.01, 0.03)


class Sky(NamedTuple):
    """What all scenes of a draw have in common."""

    warmth: float
    band_11: float
    band_15: float
    seasons: float
    cloud: float
    tint: float
    noise: float
    roughness: float
    first_sector: float
    traits: tuple[str, ...]

    def is_contrail(self, line: "Line", table: np.ndarray) -> bool:
        sector = int((line.angle - self.first_sector) % np.pi // (np.pi / SECTORS)) % SECTORS
        first, second = (line.traits[trait] for trait in self.traits)
        return bool(table[sector] == 2 * first + second)


class Line(NamedTuple):
    row: float
    column: float
    angle: float
    half_length: float
    traits: dict[str, int]

    def distances(self) -> tuple[np.ndarray, np.ndarray]:
        """From the middle of the line along it, and from the line."""
        rows, columns = np.mgrid[:SIZE, :SIZE]
        rows, columns = rows - self.row, columns - self.column
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return columns * cosine + rows * sine, rows * cosine - columns * sine

    def shade(self, width: float) -> np.ndarray:
        along, across = self.distances()
        return profile(across, width) * (abs(along) < self.half_length)

    def covered(self) -> np.ndarray:
        along, across = self.distances()
        return (abs(across) < MASK_WIDTH) & (abs(along) < self.half_length)

    def drawn_by(self, hand: Hand, rng: np.random.Generator) -> "Line":
        row, column = rng.normal(scale=hand.shake, size=2)
        angle, ends = rng.normal(scale=hand.turn), rng.normal()
        return self._replace(
            row=self.row + row,
            column=self.column + column,
            angle=self.angle + angle,
            half_length=self.half_length + ends,
        )


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    sky = draw_sky(rng)
    tables, form = draw_schools(rng, pool)
    schools = draw_members(rng)
    annotators = rng.permutation(
        np.append(np.repeat(np.arange(1, ANNOTATORS + 1), EACH), [0] * CONSENSUS)
    )
    scenes = [draw_scene(sky, rng) for _ in range(len(annotators) + TEST)]
    for row, scene in zip(
        np.flatnonzero(annotators == 0), draw_agreed(sky, tables[0], rng), strict=True
    ):
        scenes[row] = scene
    images = np.stack([image for image, _ in scenes])
    train, test = scenes[: len(annotators)], scenes[len(annotators) :]
    table_of = {0: tables[0]}
    for table, members in zip(tables[: len(schools)], schools, strict=True):
        table_of |= dict.fromkeys(members, table)
    masks = np.stack([
        mark(lines, sky, table_of[who], ONE if who else MANY, rng)
        for who, (_, lines) in zip(annotators.tolist(), train, strict=True)
    ])  # fmt: skip
    exports = draw_exports(schools[0], rng, pool)
    for who, export in exports.items():
        own = annotators == who
        masks[own] = spoil(masks[own], **export)

    np.save(public / "train_images.npy", images[: len(annotators)])
    np.save(public / "train_masks.npy", masks.astype(np.uint8))
    np.save(public / "train_annotators.npy", annotators.astype(np.uint8))
    np.save(public / "test_images.npy", images[len(annotators) :])
    (public / "training.json").write_text(json.dumps(TRAINING, indent=2) + "\n")
    write_table(public / "sample_submission.csv", COLUMNS, [EMPTY] * TEST)
    answers = np.stack([mark(lines, sky, tables[0], MANY, rng) for _, lines in test])
    write_answers(private, answers)
    true = [mark(lines, sky, tables[0], None, rng) for _, lines in test]
    write_table(private / "true_masks.csv", COLUMNS, [encode(mask) for mask in true])
    mechanisms = {
        "traits": list(sky.traits),
        "first_sector": round(float(np.degrees(sky.first_sector)), 1),
        "contrails": tables[: len(schools)].tolist(),
        "schools": {"form": form, "members": schools},
        "exports": exports,
    }
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=2) + "\n")


def draw_sky(rng: np.random.Generator) -> Sky:
    ranges = (WARMTH, DIFFERENCE, DIFFERENCE, SEASONS, CLOUD, TINT, NOISE, ROUGHNESS)
    drawn = [rng.uniform(*limits) for limits in ranges]
    traits = tuple(str(trait) for trait in rng.permutation(TRAITS)[:2])
    return Sky(*drawn, first_sector=rng.uniform(0, np.pi / SECTORS), traits=traits)


def draw_schools(rng: np.random.Generator, pool: str) -> tuple[np.ndarray, str]:
    """The combination that is contrail in each sector, for each school; the first one is right."""
    right = rng.permutation(np.arange(SECTORS) % COMBINATIONS)
    while (right == np.roll(right, 1)).any():
        right = rng.permutation(right)
    turned = np.append(0, 1 + rng.permutation(COMBINATIONS - 1))
    if pool == "eval":
        return right ^ turned[:, None], "traits turned round"
    turns = np.stack([np.append(0, 1 + rng.permutation(COMBINATIONS - 1)) for _ in right], axis=1)
    return right ^ turns, "turned round by sector"


def draw_members(rng: np.random.Generator) -> list[list[int]]:
    """The annotators of each school."""
    sizes = SCHOOLS[rng.integers(len(SCHOOLS))]
    people = np.split(1 + rng.permutation(ANNOTATORS), np.cumsum(sizes)[:-1])
    return [sorted(some.tolist()) for some in people]


def draw_exports(right: list[int], rng: np.random.Generator, pool: str) -> dict[int, dict]:
    """What went wrong with each annotator's masks."""
    orders, layouts = (
        [str(form) for form in np.resize(rng.permutation(forms[pool])[:3], ANNOTATORS)]
        for forms in (ORDERS, LAYOUTS)
    )
    orders, layouts = rng.permutation(orders), rng.permutation(layouts)
    # Who has only one of both is of a wrong school: no half of a repair is enough.
    wrong = [who for who in range(1, ANNOTATORS + 1) if who not in right]
    right_order, right_layout = rng.permutation(wrong).tolist()[:2]
    exports = {}
    for place in range(ANNOTATORS):
        who = place + 1
        order, layout = draw_order(orders[place], rng), draw_layout(layouts[place], rng)
        shift = [0, 0]
        while shift == [0, 0]:
            shift = rng.integers(-MOST_SHIFT, MOST_SHIFT + 1, size=2).tolist()
        exports[who] = {
            "order": ["none", 0] if who == right_order else order,
            "layout": ["none", 0] if who == right_layout else layout,
            "shift": shift,
        }
    return exports


def draw_order(form: str, rng: np.random.Generator) -> list:
    sign = int(rng.choice([-1, 1]))
    parameter = {
        "late": sign * int(rng.integers(1, 6)),
        "backwards": 0,
        "blocks": int(rng.choice([3, 6, 7])),
        "rounds": int(rng.integers(2, 5)),
        "halves": EACH // 2,
        "pairs": 2,
    }[form]
    return [form, parameter]


def order_of(form: str, parameter: int) -> np.ndarray:
    """Which of an annotator's masks comes in each place."""
    places = np.arange(EACH)
    return {
        "none": lambda: places,
        "late": lambda: np.roll(places, parameter),
        "halves": lambda: np.roll(places, parameter),
        "backwards": lambda: places[::-1],
        "blocks": lambda: places.reshape(-1, parameter)[:, ::-1].ravel(),
        "pairs": lambda: places.reshape(-1, parameter)[:, ::-1].ravel(),
        "rounds": lambda: np.concatenate([places[i::parameter] for i in range(parameter)]),
    }[form]()


def draw_layout(form: str, rng: np.random.Generator) -> list:
    sides = ["rows", "columns"]
    # An even number of strips, and whole slopes: no large part stays in its place.
    parameter = {
        "tiles": lambda: list(TILES[rng.integers(len(TILES))]),
        "strips": lambda: [str(rng.choice(sides)), int(rng.choice([4, 5, 10]))],
        "sheared": lambda: [str(rng.choice(sides)), int(rng.choice([-2, -1, 1, 2]))],
        "combed": lambda: [str(rng.choice(sides)), int(rng.integers(2, 5))],
        "zoomed": lambda: [float(rng.choice([0.6, 0.7, 0.8])), *rng.integers(2, size=2).tolist()],
        "turned": lambda: [int(rng.integers(1, 4)), int(rng.integers(2))],
    }[form]()
    return [form, parameter]


def layout_of(form: str, parameter: list) -> np.ndarray:
    """From which pixel, counted along rows, each pixel of an exported mask is; -1 is nowhere."""
    pixels = np.arange(SIZE * SIZE).reshape(SIZE, SIZE)

    def by_side(change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return change(pixels) if parameter[0] == "rows" else change(pixels.T).T

    def tiles() -> np.ndarray:
        parts = [part for row in np.split(pixels, 2) for part in np.split(row, 2, axis=1)]
        chosen = [np.rot90(parts[place], parameter[4]) for place in parameter[:4]]
        return np.block([chosen[:2], chosen[2:]])

    def strips(rows: np.ndarray) -> np.ndarray:
        return np.concatenate(np.split(rows, SIZE // parameter[1])[::-1])

    def sheared(rows: np.ndarray) -> np.ndarray:
        return np.stack([np.roll(row, parameter[1] * i) for i, row in enumerate(rows)])

    def combed(rows: np.ndarray) -> np.ndarray:
        return np.concatenate([rows[first :: parameter[1]] for first in range(parameter[1])])

    def zoomed() -> np.ndarray:
        source = np.floor((np.arange(SIZE) + 0.5) / parameter[0]).astype(int)
        inside = source < SIZE
        source = np.where(inside, source, 0)
        part = np.where(np.outer(inside, inside), pixels[np.ix_(source, source)], -1)
        flips = [axis for axis in range(2) if parameter[1 + axis]]
        # Towards another corner: the picture itself stays as it is.
        mirrored = np.where(part >= 0, np.flip(pixels, flips).ravel()[part], -1)
        return np.flip(mirrored, flips)

    return {
        "none": lambda: pixels,
        "tiles": tiles,
        "strips": lambda: by_side(strips),
        "sheared": lambda: by_side(sheared),
        "combed": lambda: by_side(combed),
        "zoomed": zoomed,
        "turned": lambda: np.rot90(pixels[:, ::-1] if parameter[1] else pixels, parameter[0]),
    }[form]().ravel()


def spoil(masks: np.ndarray, order: list, layout: list, shift: list) -> np.ndarray:
    """The masks of an annotator as they were exported."""
    source = layout_of(*layout)
    flat = masks[order_of(*order)].reshape(len(masks), -1)
    moved = np.where(source >= 0, flat[:, source], 0).reshape(masks.shape)
    rolled = np.roll(moved, shift, axis=(1, 2))
    rows, columns = np.mgrid[:SIZE, :SIZE] - np.array(shift)[:, None, None]
    return rolled * ((rows >= 0) & (rows < SIZE) & (columns >= 0) & (columns < SIZE))


def draw_scene(sky: Sky, rng: np.random.Generator) -> tuple[np.ndarray, list[Line]]:
    """The bands in hundredths of a Kelvin, and the lines in them."""
    warm = int(rng.integers(2))
    clouds = sky.warmth + sky.seasons * (warm - 0.5) + sky.cloud * smooth_field(rng, sky.roughness)
    between = [sky.tint * smooth_field(rng, sky.roughness) for _ in range(2)]
    lines = []
    for _ in range(0 if rng.random() < CLEAR else rng.integers(*LINES)):
        row, column = rng.uniform(5, SIZE - 5, size=2)
        traits = {"band": int(rng.integers(2)), "polarity": int(rng.integers(2)), "warmth": warm}
        angle, half_length = rng.uniform(0, np.pi), rng.uniform(*HALF_LENGTH)
        line = Line(row, column, angle, half_length, traits)
        shade = rng.uniform(*CONTRAST) * line.shade(rng.uniform(*LINE_WIDTH))
        between[traits["band"]] += shade if traits["polarity"] else -shade
        lines.append(line)
    bands = np.stack(
        [clouds + sky.band_11 + between[0], clouds, clouds + sky.band_15 + between[1]], axis=2
    )
    bands += rng.normal(scale=sky.noise, size=bands.shape)
    return np.round(bands * PER_KELVIN).astype(np.uint16), lines


def draw_agreed(
    sky: Sky, table: np.ndarray, rng: np.random.Generator
) -> list[tuple[np.ndarray, list[Line]]]:
    """Scenes for the consensus, with enough contrails to show which school is right."""
    while True:
        scenes = [draw_scene(sky, rng) for _ in range(CONSENSUS)]
        contrails = [sky.is_contrail(line, table) for _, lines in scenes for line in lines]
        if sum(contrails) >= LEAST_AGREED:
            return scenes


def smooth_field(rng: np.random.Generator, roughness: float) -> np.ndarray:
    """A random field whose large waves are the highest, with mean 0 and spread 1."""
    frequency = np.hypot(np.fft.fftfreq(SIZE)[:, None], np.fft.rfftfreq(SIZE)[None, :])
    frequency[0, 0] = np.inf
    waves = np.fft.rfft2(rng.normal(size=(SIZE, SIZE))) * frequency ** (-roughness / 2)
    field = np.fft.irfft2(waves, s=(SIZE, SIZE))
    return (field - field.mean()) / field.std()


def mark(
    lines: list[Line], sky: Sky, table: np.ndarray, hand: Hand | None, rng: np.random.Generator
) -> np.ndarray:
    """The mask of what is contrail by a table, drawn by hand or exactly."""
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    for line in lines:
        if sky.is_contrail(line, table):
            if hand is None:
                mask |= line.covered()
            elif rng.random() >= hand.overlooked:
                mask |= line.drawn_by(hand, rng).covered()
    return mask
