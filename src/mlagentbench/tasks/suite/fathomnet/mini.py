"""The mini tier: generated pictures of a sea floor, in the official layout.

Sixty kinds of animals are ten forms in six colours, all about as frequent. Every dive has a light
of its own, which changes all colours, and a fauna of its own; so what a random split would give
away (this light, hence these animals) helps nobody on the dives that are held back. A share of the
labels is redrawn, so that no honest ranking is perfect.

A draw draws, besides the dives: which ten of thirteen forms and which six of ten colours there
are, the exact colours, the numbers of the categories and of the dives.
"""

import csv
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

FORMS = (
    "disc", "ring", "star", "cross", "worm", "crescent", "fish", "urchin", "pair", "pen", "kite",
    "box", "bow",
)  # fmt: skip
PIGMENTS = {
    "red": (0.95, 0.25, 0.20),
    "orange": (0.95, 0.50, 0.12),
    "yellow": (0.95, 0.85, 0.20),
    "green": (0.25, 0.85, 0.35),
    "teal": (0.12, 0.75, 0.75),
    "blue": (0.20, 0.40, 0.95),
    "violet": (0.75, 0.25, 0.90),
    "pink": (0.95, 0.50, 0.75),
    "white": (0.95, 0.95, 0.95),
    "black": (0.10, 0.10, 0.12),
}
FORMS_IN_DRAW, PIGMENTS_IN_DRAW = 10, 6
LEAST_CONTRAST = 0.6
"""Between two colours of a draw, as the distance of their logarithms."""
PIGMENT_SPREAD = 0.03

DIVES, PICTURES_PER_DIVE = 50, 40
SIZE = 40
MOST_ANIMALS = 3
LEAST_DISTANCE = 12
REDRAWN_LABELS = 0.06
PIXEL_NOISE = 0.05
TRAINING = {"image_size": SIZE, "batch_size": 32, "learning_rate": 0.01, "epochs": 1}


class Kind(NamedTuple):
    """A kind of animal; its category is its place in the list, counted from 1."""

    form: str
    colour: str
    pigment: np.ndarray


def draw_kinds(rng: np.random.Generator) -> list[Kind]:
    forms = rng.choice(FORMS, FORMS_IN_DRAW, replace=False).tolist()
    names = list(PIGMENTS)
    while True:
        chosen = rng.choice(names, PIGMENTS_IN_DRAW, replace=False).tolist()
        spread = rng.normal(scale=PIGMENT_SPREAD, size=(PIGMENTS_IN_DRAW, 3))
        pigments = np.clip(np.array([PIGMENTS[name] for name in chosen]) + spread, 0.05, 1)
        logarithms = np.log(pigments + 0.05)
        apart = np.linalg.norm(logarithms[:, None] - logarithms[None], axis=2)
        if apart[np.triu_indices(PIGMENTS_IN_DRAW, 1)].min() > LEAST_CONTRAST:
            break
    pairs = list(zip(chosen, pigments, strict=True))
    kinds = [Kind(form, name, pigment) for form in forms for name, pigment in pairs]
    return [kinds[n] for n in rng.permutation(len(kinds))]


def make(raw: Path, rng: np.random.Generator) -> None:
    for folder in ("images", "multilabel_classification", "object_detection"):
        (raw / folder).mkdir()
    kinds = draw_kinds(rng)
    surroundings = zip(faunas(len(kinds), rng), lights(rng), strict=True)
    pictures = [
        draw(raw, f"Ventana/images/{dive:04d}", picture, kinds, fauna, light, rng)
        for dive, (fauna, light) in enumerate(surroundings, start=rng.integers(1000, 9000))
        for picture in range(PICTURES_PER_DIVE)
    ]
    write_labels(raw / "multilabel_classification" / "train.csv", pictures, "labels")
    write_labels(raw / "noise_free.csv", pictures, "kinds")
    write_coco(raw / "object_detection" / "train.json", pictures)
    with (raw / "category_key.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "name", "supercat"])
        writer.writerows(
            [n, f"{kind.colour} {kind.form}", kind.form] for n, kind in enumerate(kinds, start=1)
        )
    (raw / "training.json").write_text(json.dumps(TRAINING))


def faunas(kinds: int, rng: np.random.Generator) -> np.ndarray:
    """How common each kind is where a dive goes, one row per dive."""
    weights = rng.exponential(size=(DIVES, kinds))
    return weights / weights.sum(axis=1, keepdims=True)


def lights(rng: np.random.Generator) -> list[dict]:
    """How each dive sees: strength of red, green and blue, and the water's own haze."""
    return [
        {
            "gains": np.exp(rng.normal(scale=0.35, size=3)) * 0.8,
            "haze": rng.uniform(0.0, 0.45, size=3) * (0.5, 1, 1),
            "thickness": rng.uniform(0.05, 0.3),
            "sediment": rng.uniform(0.3, 0.5) * (1 + rng.uniform(-0.1, 0.1, size=3)),
        }
        for _ in range(DIVES)
    ]


def draw(
    raw: Path,
    folder: str,
    number: int,
    kinds: list[Kind],
    fauna: np.ndarray,
    light: dict,
    rng: np.random.Generator,
) -> dict:
    """Write one picture; returns what is known of it."""
    count = rng.integers(1, MOST_ANIMALS + 1)
    seen = rng.choice(len(kinds), size=count, replace=False, p=fauna)
    centres = scattered(count, rng)
    scene = sea_floor(light["sediment"], rng)
    boxes = []
    for kind, centre in zip((kinds[n] for n in seen), centres, strict=True):
        radius = rng.uniform(5.5, 7.5)
        pigment = kind.pigment * rng.uniform(0.8, 1) + rng.normal(scale=0.04, size=3)
        place = inside(kind.form, *turned_grid(centre, rng.uniform(0, 2 * np.pi), radius))
        shading = 1 + 0.3 * cloud(rng)[..., None]
        scene = np.where(place[..., None], pigment * shading, scene)
        boxes.append(box_around(place))
    scene = scene * light["gains"] * (1 + 0.25 * cloud(rng)[..., None])
    scene = scene * (1 - light["thickness"]) + light["haze"] * light["thickness"]
    scene = scene + rng.normal(scale=PIXEL_NOISE, size=scene.shape)
    name = f"{rng.integers(2**32):08x}-{rng.integers(2**48):012x}"
    Image.fromarray(np.round(np.clip(scene, 0, 1) * 255).astype(np.uint8)).save(
        raw / "images" / f"{name}.png"
    )
    redrawn = rng.random(count) < REDRAWN_LABELS
    labels = np.where(redrawn, rng.integers(len(kinds), size=count), seen)
    return {
        "id": name,
        "coco_url": f"https://example.org/framegrabs/{folder}/00_{number:02d}_00_00.png",
        "kinds": (seen + 1).tolist(),
        "labels": (labels + 1).tolist(),
        "boxes": boxes,
    }


def scattered(count: int, rng: np.random.Generator) -> np.ndarray:
    """Places in the picture that keep their distance."""
    while True:
        places = rng.uniform(7, SIZE - 7, size=(count, 2))
        distances = np.linalg.norm(places[:, None] - places[None], axis=2)
        if count == 1 or distances[np.triu_indices(count, 1)].min() > LEAST_DISTANCE:
            return places


def sea_floor(sediment: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return sediment * (1 + 0.3 * cloud(rng) + 0.15 * cloud(rng, cells=12))[..., None]


def cloud(rng: np.random.Generator, cells: int = 4) -> np.ndarray:
    """A smooth random field over the picture, between -1 and 1."""
    corners = rng.uniform(-1, 1, size=(cells + 1, cells + 1))
    place = np.arange(SIZE) * cells / SIZE
    low = place.astype(int)
    share = place - low
    rows = corners[low] * (1 - share)[:, None] + corners[low + 1] * share[:, None]
    return rows[:, low] * (1 - share) + rows[:, low + 1] * share


def turned_grid(centre: np.ndarray, angle: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates of all pixels, seen from the centre, turned, in units of the radius."""
    rows, columns = np.mgrid[:SIZE, :SIZE]
    x, y = (columns - centre[0]) / radius, (rows - centre[1]) / radius
    return x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)


def inside(form: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points lie in a form of radius 1."""
    distance, angle = np.hypot(x, y), np.arctan2(y, x)
    across, along = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    match form:
        case "disc":
            return distance < 0.7
        case "ring":
            return (distance < 1) & (distance > 0.55)
        case "star":
            return distance < 0.6 + 0.4 * np.cos(5 * angle)
        case "cross":
            return (across < 0.25) & (along < 1)
        case "worm":
            return (abs(y) < 0.22) & (abs(x) < 1.1)
        case "crescent":
            return (distance < 0.95) & (np.hypot(x - 0.5, y) > 0.75)
        case "fish":
            tail = (x > 0.5) & (x < 1.1) & (abs(y) < x - 0.4)
            return (np.hypot(x / 0.75, y / 0.4) < 1) | tail
        case "urchin":
            return distance < 0.5 + 0.5 * (np.cos(8 * angle) > 0.2)
        case "kite":
            return abs(x) + abs(y) / 0.55 < 1.1
        case "box":
            return along < 0.72
        case "bow":
            return (abs(x) < 0.95) & (abs(y) < 0.75 * abs(x))
        case "pair":
            return np.hypot(abs(x) - 0.6, y) < 0.42
        case _:  # a sea pen: a stem with short branches
            branches = (abs(y) < 0.6) & (np.cos(8 * x) > 0.2)
            return (abs(x) < 1.05) & ((abs(y) < 0.14) | branches)


def box_around(place: np.ndarray) -> list[int]:
    """Left, top, width and height, as COCO has it."""
    rows, columns = np.flatnonzero(place.any(axis=1)), np.flatnonzero(place.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1]


def write_labels(file: Path, pictures: list[dict], field: str) -> None:
    with file.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "categories"])
        for picture in pictures:
            numbers = sorted({float(label) for label in picture[field]})
            writer.writerow([picture["id"], numbers])


def write_coco(file: Path, pictures: list[dict]) -> None:
    images = [
        {
            "id": n,
            "file_name": f"{picture['id']}.png",
            "coco_url": picture["coco_url"],
            "width": SIZE,
            "height": SIZE,
            "date_captured": f"2020-01-01 {n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}",
        }
        for n, picture in enumerate(pictures, start=1)
    ]
    found = [
        (n, label, box)
        for n, picture in enumerate(pictures, start=1)
        for label, box in zip(picture["labels"], picture["boxes"], strict=True)
    ]
    annotations = [
        {"id": k, "image_id": n, "category_id": label, "bbox": box, "area": box[2] * box[3]}
        for k, (n, label, box) in enumerate(found, start=1)
    ]
    file.write_text(json.dumps({"images": images, "annotations": annotations}))
