"""Splits the labelled images by dive into a public training and a private test part.

Frames of one dive show the same ground in the same light minutes apart, so no dive is in both
parts. The official files say more than the pictures do: addresses hold the dive and the time, and
rows are sorted by both. So every image gets a new id and is encoded anew, which leaves nothing but
its pixels, and rows are shuffled.
"""

import csv
import json
import re
import shutil
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import numpy as np
from mlagentbench_task import Findings, read_table
from PIL import Image

TEST_SHARE = 0.2
HELD_SHARE = 0.2
TESTED_AGAIN = 0.5
"""In another split, the share of the given test images that are for testing."""
LONGEST_SIDE = 512
"""Larger images are made smaller; as they are, they would take several times the disk."""
MOST_EXCLUDED = 0.05
OFFICIAL_IMAGES = 5_950
OFFICIAL_CATEGORIES = 290
SAMPLE = 20
PAPERS_TRAINING = {"image_size": 256, "batch_size": 32, "learning_rate": 0.001, "epochs": 1}
"""As the paper's starter has it: all images once, at 256 by 256."""


@dataclass
class Frame:
    """An image of the official data; `id` is the new one."""

    original: str
    dive: str
    categories: list[int]
    boxes: list[tuple[int, list[float]]]
    id: str = ""
    size: tuple[int, int] = (0, 0)
    scale: float = 1.0
    noise_free: list[int] = field(default_factory=list)


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    frames = read_frames(raw)
    key = read_rows(raw / "category_key.csv")
    give_new_ids(frames, rng)
    chosen = choose_dives(frames, TEST_SHARE, rng)
    frames = [frames[place] for place in rng.permutation(len(frames))]

    folders = {True: public / "test_images", False: public / "train_images"}
    for folder in folders.values():
        folder.mkdir()
    excluded = read_missing(raw)
    for frame in frames:
        wrong = encode(frame, raw / "images", folders[frame.dive in chosen])
        if wrong is not None:
            excluded.setdefault(frame.original, wrong)
    if len(excluded) > MOST_EXCLUDED * len(frames):
        first, why = min(excluded.items())
        raise ValueError(
            f"{len(excluded)} of {len(frames)} images are missing or damaged, first: {first}.png: "
            f"{why}; get them again"
        )
    used = [frame for frame in frames if frame.original not in excluded]
    test = [frame for frame in used if frame.dive in chosen]
    train = [frame for frame in used if frame.dive not in chosen]

    write_rows(public / "category_key.csv", key[0].keys(), (row.values() for row in key))
    write_training(public, train, rng)
    write_inputs(public, "test", test, key)
    given = raw / "training.json"
    training = json.loads(given.read_text()) if given.is_file() else PAPERS_TRAINING
    (public / "training.json").write_text(json.dumps(training, indent=2) + "\n")

    write_answers(private, test, train, key, excluded=len(excluded))
    write_rows(
        private / "mapping.csv",
        ["id", "original", "part"],
        ([frame.id, frame.original, "test" if frame.dive in chosen else "train"] for frame in used),
    )
    write_rows(private / "excluded.csv", ["original", "reason"], sorted(excluded.items()))
    write_noise_free(raw, private, test)


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the given test dives one half is for testing, the other for training."""
    train = read_training(given_public)
    frames = read_tested(raw, given_public, given_private)
    chosen = choose_dives(frames, TESTED_AGAIN, rng)
    test = [frame for frame in frames if frame.dive in chosen]
    train = [*train, *(frame for frame in frames if frame.dive not in chosen)]
    parts = {"train": train, "test": test}
    given = {
        path.stem: path for part in parts for path in (given_public / f"{part}_images").iterdir()
    }
    files = [given[frame.id] for part in parts.values() for frame in part]
    give_new_ids([*train, *test], rng)
    for part, shown in parts.items():
        (public / f"{part}_images").mkdir()
        for frame in shown:
            shutil.copyfile(files.pop(0), public / f"{part}_images" / f"{frame.id}.png")
    for name in ("category_key.csv", "training.json"):
        shutil.copyfile(given_public / name, public / name)
    key = read_rows(public / "category_key.csv")
    write_training(public, [train[place] for place in rng.permutation(len(train))], rng)
    test = [test[place] for place in rng.permutation(len(test))]
    write_inputs(public, "test", test, key)
    write_answers(private, test, train, key)


def check_raw(raw: Path) -> Findings:
    """What is different from the official images and labels."""
    findings = Findings()
    labels, listing, keys = (
        "multilabel_classification/train.csv", "object_detection/train.json", "category_key.csv",
    )  # fmt: skip
    used: set[int] = set()
    with findings.reading(labels):
        rows = read_rows(raw / labels)
        findings.expect_count(f"rows of {labels}", len(rows), OFFICIAL_IMAGES)
        repeated = len(rows) - len({row["id"] for row in rows})
        findings.require(f"rows of {labels} with the id of another row", repeated, 0)
        used = {category for row in rows for category in as_categories(row["categories"])}
        findings.require_at_least(f"categories in {labels}", len(used), 1)
    with findings.reading(listing):
        coco = json.loads((raw / listing).read_text(encoding="utf-8"))
        findings.expect(f"images in {listing}", len(coco["images"]), OFFICIAL_IMAGES)
        if not findings.faults:
            read_frames(raw)
    with findings.reading(keys):
        key = read_rows(raw / keys)
        findings.expect_count(f"rows of {keys}", len(key), OFFICIAL_CATEGORIES)
        unknown = used - {int(row["id"]) for row in key}
        findings.expect(f"categories of images that {keys} lacks", len(unknown), 0)
    return findings


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold a part of the training dives back, to be asked for a score on it during a run."""
    frames = read_training(public)
    key = read_rows(public / "category_key.csv")
    chosen = choose_dives(frames, HELD_SHARE, rng)
    held = [frame for frame in frames if frame.dive in chosen]
    train = [frame for frame in frames if frame.dive not in chosen]
    for name in ("category_key.csv", "training.json", "test.csv", "sample_submission.csv"):
        shutil.copyfile(public / name, held_public / name)
    shutil.copytree(public / "test_images", held_public / "test_images")
    for folder, part in (("train_images", train), ("validation_images", held)):
        (held_public / folder).mkdir()
        for frame in part:
            name = f"{frame.id}.png"
            shutil.copyfile(public / "train_images" / name, held_public / folder / name)
    for frame in held:
        with Image.open(held_public / "validation_images" / f"{frame.id}.png") as image:
            frame.size = image.size
    write_training(held_public, train, rng)
    write_inputs(held_public, "validation", held, key)
    write_answers(held_private, held, train, key)


# Reading


def read_frames(raw: Path) -> list[Frame]:
    """The labelled images that the official files list."""
    coco = json.loads((raw / "object_detection" / "train.json").read_text(encoding="utf-8"))
    boxes: dict[object, list[tuple[int, list[float]]]] = {}
    for one in coco["annotations"]:
        boxes.setdefault(one["image_id"], []).append((int(one["category_id"]), one["bbox"]))
    listed = {PurePosixPath(one["file_name"]).stem: one for one in coco["images"]}
    frames = []
    for row in read_rows(raw / "multilabel_classification" / "train.csv"):
        if row["id"] not in listed:
            raise ValueError(f"object_detection/train.json has no image {row['id']}")
        image = listed[row["id"]]
        categories, found = as_categories(row["categories"]), boxes.get(image["id"], [])
        frames.append(Frame(row["id"], dive_of(image["coco_url"]), categories, found))
    return frames


def read_missing(raw: Path) -> dict[str, str]:
    """Which images could not be had, and why."""
    file = raw / "images_missing.csv"
    rows = read_rows(file) if file.is_file() else []
    return {PurePosixPath(row["name"]).stem: row["reason"] for row in rows}


def read_training(public: Path) -> list[Frame]:
    boxes: dict[str, list[tuple[int, list[float]]]] = {}
    for row in read_rows(public / "train_boxes.csv"):
        box = [float(row[name]) for name in ("left", "top", "width", "height")]
        boxes.setdefault(row["id"], []).append((int(row["category"]), box))
    return [
        Frame(
            "", row["dive"], as_categories(row["categories"]), boxes.get(row["id"], []), row["id"]
        )
        for row in read_rows(public / "train.csv")
    ]


def read_tested(raw: Path, public: Path, private: Path) -> list[Frame]:
    """The test images of a split, with what only the official files say of them."""
    official = {frame.original: frame for frame in read_frames(raw)}
    mapping = read_table(private / "mapping.csv", ["id", "original", "part"])
    original = dict(zip(mapping["id"], mapping["original"], strict=True))
    frames = []
    for row in read_rows(public / "test.csv"):
        frame = official[original[row["id"]]]
        frame.id, frame.size = row["id"], (int(row["width"]), int(row["height"]))
        with Image.open(raw / "images" / f"{frame.original}.png") as image:
            frame.scale = min(1.0, LONGEST_SIDE / max(image.size))
        frames.append(frame)
    return frames


def read_rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8-sig") as handle:
        return list(csv.DictReader(handle, skipinitialspace=True))


def as_categories(text: str) -> list[int]:
    """The numbers in `[1.0, 9.0]` or `1 9`, each once."""
    return sorted({int(float(number)) for number in re.findall(r"\d+(?:\.\d+)?", text)})


def dive_of(address: str) -> str:
    """The directory of an image's address: a vehicle and the number of its dive.

    Addresses write the number of one dive in several ways, such as 824 and 0824.
    """
    folder = str(PurePosixPath(urlsplit(address).path).parent)
    return re.sub(r"(?<!\d)0+(?=\d)", "", folder)


# Splitting


def give_new_ids(frames: Sequence[Frame], rng: np.random.Generator) -> None:
    for frame, number in zip(frames, rng.choice(2**32, len(frames), replace=False), strict=True):
        frame.id = f"{number:08x}"


def choose_dives(frames: Sequence[Frame], share: float, rng: np.random.Generator) -> set[str]:
    """Random dives that together have about `share` of the images."""
    counts: dict[str, int] = {}
    for frame in frames:
        counts[frame.dive] = counts.get(frame.dive, 0) + 1
    names = sorted(counts)
    chosen: set[str] = set()
    room = round(share * len(frames))
    for place in rng.permutation(len(names)):
        if counts[names[place]] <= room:
            chosen.add(names[place])
            room -= counts[names[place]]
    if not chosen:
        raise ValueError(f"no dive has fewer than {room + 1} of the {len(frames)} images")
    return chosen


# Images


def encode(frame: Frame, source: Path, folder: Path) -> str | None:
    """Write the image anew under its new id; returns why that cannot be, if so."""
    file = source / f"{frame.original}.png"
    if not file.is_file():
        return "not there"
    try:
        with Image.open(file) as image:
            pixels = image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"damaged: {error}"
    frame.scale = min(1.0, LONGEST_SIDE / max(pixels.size))
    if frame.scale < 1:
        width, height = (max(1, round(side * frame.scale)) for side in pixels.size)
        pixels = pixels.resize((width, height), Image.Resampling.BILINEAR)
    frame.size = pixels.size
    write_png(folder / f"{frame.id}.png", np.asarray(pixels))
    return None


def write_png(file: Path, pixels: np.ndarray) -> None:
    """An RGB image as a PNG file that is not compressed: compressors differ between machines."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    data = lines.tobytes()
    blocks = [b"\x78\x01"]
    for start in range(0, len(data), 65535):
        part = data[start : start + 65535]
        last = start + 65535 >= len(data)
        blocks.append(struct.pack("<BHH", last, len(part), len(part) ^ 0xFFFF) + part)
    blocks.append(struct.pack(">I", zlib.adler32(data)))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", b"".join(blocks)), (b"IEND", b""))
    with file.open("wb") as handle:
        handle.write(b"\x89PNG\r\n\x1a\n")
        for name, contents in chunks:
            handle.write(struct.pack(">I", len(contents)) + name + contents)
            handle.write(struct.pack(">I", zlib.crc32(name + contents)))


# Writing


def write_training(public: Path, train: Sequence[Frame], rng: np.random.Generator) -> None:
    """Training labels and boxes; a dive is a random number, the same for all of its images."""
    dives = sorted({frame.dive for frame in train})
    number = dict(zip(dives, rng.permutation(len(dives)).tolist(), strict=True))
    write_rows(
        public / "train.csv",
        ["id", "dive", "categories"],
        ([frame.id, number[frame.dive], as_text(frame.categories)] for frame in train),
    )
    write_rows(
        public / "train_boxes.csv",
        ["id", "category", "left", "top", "width", "height"],
        (
            [frame.id, category, *(f"{side * frame.scale:.1f}" for side in box)]
            for frame in train
            for category, box in frame.boxes
        ),
    )


def write_inputs(public: Path, part: str, frames: Sequence[Frame], key: list[dict]) -> None:
    """The images to be labelled, and what a submission for them looks like."""
    write_rows(public / f"{part}.csv", ["id", "width", "height"], ([f.id, *f.size] for f in frames))
    first = " ".join(row["id"] for row in key[:SAMPLE])
    prefix = "" if part == "test" else f"{part}_"
    write_rows(
        public / f"{prefix}sample_submission.csv",
        ["id", "categories"],
        ([frame.id, first] for frame in frames),
    )


def write_answers(
    private: Path,
    test: Sequence[Frame],
    train: Sequence[Frame],
    key: list[dict],
    excluded: int = 0,
) -> None:
    write_rows(
        private / "answers.csv",
        ["id", "categories"],
        ([frame.id, as_text(frame.categories)] for frame in test),
    )
    write_rows(private / "dives.csv", ["id", "dive"], ([frame.id, frame.dive] for frame in test))
    seen = {category for frame in train for category in frame.categories}
    labels = [category for frame in test for category in frame.categories]
    facts = {
        "categories": [int(row["id"]) for row in key],
        "labels": len(labels),
        "labels_never_seen_in_training": sum(label not in seen for label in labels),
        "images_left_out": excluded,
    }
    (private / "facts.json").write_text(json.dumps(facts) + "\n")


def write_noise_free(raw: Path, private: Path, test: Sequence[Frame]) -> None:
    """What is really in the test images, where that is known: in the mini tier."""
    if not (raw / "noise_free.csv").is_file():
        return
    known = {
        row["id"]: as_categories(row["categories"]) for row in read_rows(raw / "noise_free.csv")
    }
    write_rows(
        private / "noise_free.csv",
        ["id", "categories"],
        ([frame.id, as_text(known[frame.original])] for frame in test),
    )


def as_text(categories: Iterable[int]) -> str:
    return " ".join(map(str, categories))


def write_rows(file: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
