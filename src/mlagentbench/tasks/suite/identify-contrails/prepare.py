"""Makes arrays of the labelled frames; the test records lose their names, places and times.

The official validation part is the test set. Its records are shuffled and known by their row alone:
official ids, and the place and time that the official metadata give for each, are in private/ or
nowhere. Brightness temperatures are kept as whole hundredths of a Kelvin: half floats would be too
coarse for the differences between bands that tell a contrail.
"""

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mlagentbench_task import Findings

BANDS = (11, 14, 15)
LABELLED = 4
"""Of the eight times of a record, the one that was labelled."""
MASK = "human_pixel_masks.npy"
PER_KELVIN = 100
COLUMNS = ["record_id", "encoded_pixels"]
HELD_SHARE = 0.2
OFFICIAL_RECORDS = {"train": (20_000, 21_000), "validation": (1_500, 2_500)}
OFFICIAL_SHAPE = (256, 256, 8)
KELVINS = (200.0, 320.0)
"""Clouds and ground, seen from space in the infrared."""
EMPTY = "-"
PAPERS_TRAINING = {
    "learning_rate": 1e-5, "epochs": 1, "batch_size": 16, "class_weights": [0.57, 4.17],
}  # fmt: skip


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    train, test = (rng.permutation(folders_of(raw / part)) for part in ("train", "validation"))
    write_parts(raw, train, test, public, private)


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the official test records one half is for testing, the other joins."""
    train, test = (folders_of(raw / part) for part in ("train", "validation"))
    test = rng.permutation(test).tolist()
    half = len(test) // 2
    write_parts(raw, rng.permutation([*train, *test[half:]]), test[:half], public, private)


def folders_of(part: Path) -> list[str]:
    return [str(part / record) for record in records_of(part)]


def write_parts(
    raw: Path, train: Sequence[str], test: Sequence[str], public: Path, private: Path
) -> None:
    np.save(public / "train_images.npy", stack(train, read_image))
    np.save(public / "train_masks.npy", stack(train, read_mask))
    np.save(public / "test_images.npy", stack(test, read_image))
    given = raw / "training.json"
    training = json.loads(given.read_text()) if given.is_file() else PAPERS_TRAINING
    (public / "training.json").write_text(json.dumps(training, indent=2) + "\n")
    write_table(public / "sample_submission.csv", COLUMNS, [EMPTY] * len(test))

    write_answers(private, stack(test, read_mask))
    originals = [Path(folder).name for folder in test]
    write_table(private / "mapping.csv", ["record_id", "original"], originals)
    if all((Path(folder) / "true_mask.npy").is_file() for folder in test):
        masks = stack(test, lambda folder: np.load(folder / "true_mask.npy"))
        write_table(private / "true_masks.csv", COLUMNS, [encode(mask) for mask in masks])


def check_raw(raw: Path) -> Findings:
    """What is different from the official records."""
    findings = Findings()
    sides: set[tuple[int, ...]] = set()
    for part, (least, most) in OFFICIAL_RECORDS.items():
        name = f"{part}_metadata.json"
        with findings.reading(name):
            listed = len(json.loads((raw / name).read_bytes()))
            findings.expect_between(f"records in {name}", listed, least, most)
        with findings.reading(f"{part}/"):
            sides |= check_records(raw, part, findings)
    if len(sides) > 1:
        sizes = ", ".join(f"{height} x {width}" for height, width in sorted(sides))
        findings.require("sizes of the images and masks", sizes, "one")
    return findings


def check_records(raw: Path, part: str, findings: Findings) -> set[tuple[int, ...]]:
    """Compare the arrays of a part, one after the other; returns their heights and widths."""
    records, sides = records_of(raw / part), set()
    shapes = {f"band_{band:02d}.npy": OFFICIAL_SHAPE for band in BANDS}
    shapes[MASK] = (*OFFICIAL_SHAPE[:2], 1)
    for file, shape in shapes.items():
        wrong, middles = 0, []
        for record in records:
            name = f"{part}/{record}/{file}"
            with findings.reading(name):
                array = np.load(raw / name, mmap_mode="r")  # closed when the next one is opened
                place = 0 if file == MASK else LABELLED
                if array.ndim != 3 or array.shape[2] <= place:
                    raise ValueError(f"the shape is {array.shape}, expected {shape}")
                sides.add(array.shape[:2])
                wrong += array.shape != shape
                if file != MASK:
                    middles.append(np.nanmedian(array[..., place]))
        findings.expect(f"{file} in {part}/ of another shape than {shape}", wrong, 0)
        if middles and not wrong:
            what = f"median of {file} in {part}/, in Kelvin"
            findings.expect_between(what, round(np.median(middles).item(), 1), *KELVINS)
    return sides


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold a part of the training records back, to be asked for a score on them in a run."""
    images, masks = np.load(public / "train_images.npy"), np.load(public / "train_masks.npy")
    order = rng.permutation(len(images))
    size = int(len(images) * HELD_SHARE)
    held, kept = order[:size], np.sort(order[size:])
    for file in sorted(public.iterdir()):
        if not file.name.startswith("train_"):
            shutil.copyfile(file, held_public / file.name)
    np.save(held_public / "train_images.npy", images[kept])
    np.save(held_public / "train_masks.npy", masks[kept])
    np.save(held_public / "validation_images.npy", images[held])
    write_table(held_public / "validation_sample_submission.csv", COLUMNS, [EMPTY] * size)
    write_answers(held_private, masks[held])


def records_of(folder: Path) -> list[str]:
    """The names of the records in a folder, in one order everywhere."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder.name}/ not found among the raw files")
    records = sorted(path.name for path in folder.iterdir() if path.is_dir())
    if not records:
        raise FileNotFoundError(f"{folder.name}/ has no records")
    return records


def stack(folders: Sequence[str], read) -> np.ndarray:
    """What `read` makes of each record's folder, in one array."""
    first = read(Path(folders[0]))
    rows = np.empty((len(folders), *first.shape), dtype=first.dtype)
    for row, folder in enumerate(folders):
        rows[row] = read(Path(folder))
    return rows


def read_image(folder: Path) -> np.ndarray:
    """The bands of the labelled time, (height, width, bands); 0 where nothing was measured."""
    bands = [np.load(folder / f"band_{band:02d}.npy", mmap_mode="r")[..., LABELLED]
             for band in BANDS]  # fmt: skip
    kelvins = np.nan_to_num(np.stack(bands, axis=2).astype(np.float64), posinf=0, neginf=0)
    return np.clip(np.round(kelvins * PER_KELVIN), 0, 65535).astype(np.uint16)


def read_mask(folder: Path) -> np.ndarray:
    return (np.load(folder / MASK)[..., 0] > 0).astype(np.uint8)


def encode(mask: np.ndarray) -> str:
    """Runs of marked pixels: start and length, counted from 1, down the columns."""
    flat = np.concatenate([[0], mask.T.ravel() != 0, [0]]).astype(np.int8)
    starts, ends = (np.flatnonzero(np.diff(flat) == step) for step in (1, -1))
    runs = (f"{start + 1} {end - start}" for start, end in zip(starts, ends, strict=True))
    return " ".join(runs) or EMPTY


def write_answers(private: Path, masks: np.ndarray) -> None:
    write_table(private / "answers.csv", COLUMNS, [encode(mask) for mask in masks])
    (private / "shape.json").write_text(json.dumps(masks.shape[1:]))


def write_table(file: Path, columns: list[str], values: list[str]) -> None:
    with file.open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(enumerate(values))
