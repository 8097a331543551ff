"""Tries to predict the answers from data that should not reveal them; runs in a sandbox.

`python probe_program.py PUBLIC ANSWERS.json` prints one JSON object. The features of a test row:

| sight    | features                                                                             |
|----------|--------------------------------------------------------------------------------------|
| position | the row of its id in each public table                                               |
| id       | the numbers in it, their lowest bits, its length, its first and last characters      |
| file     | for each public file named after its id: size, inode, change time, position in the   |
|          | directory, and the header of a PNG, JPEG, GIF or npy file                            |
| name     | the rest of the names of these files and their folders                               |

Gradient boosting on all features, and nearest neighbours on each sight, learn from one half of the
answers and predict the other. Rows whose ids share a first part, like 0012_01 and 0012_02, are in
the same half, because tasks do not split such groups. The gain over the best constant is measured
for classes in hits, weighted so that all classes count the same, and for numbers in the squared
error of their ranks. The median of five random halvings is reported: within one halving, the
predicted answers were not learnt from, so its standard error is right.
"""

import csv
import json
import os
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neighbors import NearestNeighbors

HALVINGS = 5
NEIGHBOURS = 10
MAX_ROWS = 20_000
MANY_VALUES = 20
LEAST_IN_CLASS = 10
CHARACTERS = 3
NUMBERS = 4
BITS = 8
HEADER = 65_536
BOOSTING = {
    "max_iter": 40,
    "learning_rate": 0.05,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 20,
    "early_stopping": False,
    "random_state": 0,
}
"""Cautious: a model that overfits is worse than a constant, and hides what it has learnt."""


def main() -> None:
    public, answers = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    ids = answers["ids"]
    seen = {
        "position": positions(public, ids),
        "id": id_features(ids),
        "file": file_features(public, ids),
        "name": name_features(public, ids),
    }
    sights = {name: as_matrix(columns) for name, columns in seen.items()}
    rows = np.random.default_rng(0).permutation(len(ids))[:MAX_ROWS]
    sights = {name: table[rows] for name, table in sights.items() if table.shape[1]}
    halves = halvings([ids[row] for row in rows])
    found = [
        test
        for name, values in answers["targets"].items()
        for test in probe(name, [values[row] for row in rows], sights, halves)
    ]
    features = {name: table.shape[1] for name, table in sights.items()}
    json.dump({"rows": len(rows), "features": features, "tests": found}, sys.stdout)


# Features


def positions(public: Path, ids: list[str]) -> list[np.ndarray]:
    """The row of each id in every table that has all of them."""
    found = []
    for file in sorted(public.rglob("*")):
        if file.suffix in (".csv", ".tsv"):
            for column in columns_of(file):
                place = {value: row for row, value in enumerate(column)}
                if all(value in place for value in ids):
                    found.append(np.array([place[value] for value in ids], dtype=float))
                    break
    if not found and ids == [str(row) for row in range(len(ids))]:
        found.append(np.arange(len(ids), dtype=float))
    return found


def columns_of(file: Path) -> Iterator[tuple[str, ...]]:
    with file.open(newline="", encoding="utf-8-sig", errors="replace") as handle:
        rows = list(csv.reader(handle, delimiter="\t" if file.suffix == ".tsv" else ","))
    width = min(map(len, rows), default=0)
    yield from zip(*(row[:width] for row in rows[1:]), strict=True)


def id_features(ids: list[str]) -> list[np.ndarray]:
    rows = []
    for text in ids:
        numbers = [int(part) for part in re.findall(r"\d{1,15}", text)][:NUMBERS]
        value = int(text, 16) if re.fullmatch(r"[0-9a-fA-F]{1,64}", text) else sum(numbers)
        decimal = numbers[-1] if numbers else 0
        padded = text.ljust(CHARACTERS, "\0"), text.rjust(CHARACTERS, "\0")
        ends = padded[0][:CHARACTERS] + padded[1][-CHARACTERS:]
        rows.append(
            [
                *(len(text), value % 2**53, decimal % 10, decimal % 3, decimal % 7),
                *(value >> bit & 1 for bit in range(BITS)),
                *map(ord, ends),
                *numbers,
                *[-1] * (NUMBERS - len(numbers)),
            ]
        )
    return list(np.array(rows, dtype=float).T)


def file_features(public: Path, ids: list[str]) -> list[np.ndarray]:
    """One set of columns for each kind of file, such as `images/{id}.png`."""
    row_of = {value: row for row, value in enumerate(ids)}
    kinds: dict[str, dict[int, list[float]]] = {}
    for folder, _, _ in os.walk(public):
        with os.scandir(folder) as entries:
            for place, entry in enumerate(entries):
                path = Path(entry.path).relative_to(public)
                named = id_in(path, row_of)
                if entry.is_file() and named is not None:
                    kind = str(path).replace(named, "{id}")
                    facts = describe(Path(entry.path), place)
                    kinds.setdefault(kind, {})[row_of[named]] = facts
    found = []
    for rows in kinds.values():
        width = max(map(len, rows.values()))
        table = np.full((len(ids), width), np.nan)
        for row, facts in rows.items():
            table[row, : len(facts)] = facts
        found += list(table.T)
    return found


def name_features(public: Path, ids: list[str]) -> list[np.ndarray]:
    """Features of the names without the id: their kind, and the numbers in them."""
    row_of = {value: row for row, value in enumerate(ids)}
    rest: list[set[str]] = [set() for _ in ids]
    for file in sorted(public.rglob("*")):
        path = file.relative_to(public)
        named = id_in(path, row_of)
        if file.is_file() and named is not None:
            rest[row_of[named]].add(str(path).replace(named, "{id}", 1))
    texts = [" ".join(sorted(names)) for names in rest]
    kinds = {text: place for place, text in enumerate(sorted(set(texts)))}
    numbers = [list(map(float, re.findall(r"\d{1,15}", text)))[:NUMBERS] for text in texts]
    columns = [[float(kinds[text]) for text in texts]]
    for place in range(NUMBERS):
        columns.append([row[place] if place < len(row) else -1.0 for row in numbers])
    return list(np.array(columns, dtype=float))


def id_in(path: Path, known: dict[str, int]) -> str | None:
    """The id in the name of a file or of one of its folders."""
    for part in reversed(path.parts):
        words = re.split(r"[^0-9A-Za-z]+", Path(part).stem)
        for name in (part, part.split(".")[0], Path(part).stem, *words):
            if name in known:
                return name
    return None


def describe(file: Path, place: int) -> list[float]:
    status = file.stat()
    with file.open("rb") as handle:
        start = handle.read(HEADER)
    basics = [status.st_size, status.st_ino, status.st_ctime_ns, status.st_mtime_ns, place]
    return [*map(float, basics), *header_facts(start)]


def header_facts(start: bytes) -> list[float]:
    """Dimensions and metadata in a file's header, by its format."""
    formats: dict[bytes, Callable[[bytes], list[float]]] = {
        b"\x89PNG\r\n\x1a\n": png_facts,
        b"\xff\xd8": jpeg_facts,
        b"GIF8": lambda head: [float(value) for value in struct.unpack("<HHB", head[6:11])],
        b"\x93NUMPY": npy_facts,
    }
    for magic, read in formats.items():
        if start.startswith(magic):
            try:
                return read(start)
            except (struct.error, IndexError, ValueError):
                return []
    return []


def png_facts(head: bytes) -> list[float]:
    """Width, height, depth, colour type, interlacing, and the size of what precedes the pixels."""
    facts = [float(value) for value in struct.unpack(">IIBBBBB", head[16:29])]
    place, chunks, extra = 8, 0, 0
    while place + 8 <= len(head):
        length, kind = struct.unpack(">I4s", head[place : place + 8])
        if kind == b"IDAT":
            break
        chunks += 1
        extra += length
        place += 12 + length
    return [*facts, float(chunks), float(extra)]


def jpeg_facts(head: bytes) -> list[float]:
    """Height, width, components, segments, bytes of metadata, coarseness of the quantisation."""
    size, segments, metadata, coarseness, place = [0.0, 0.0, 0.0], 0, 0, 0, 2
    while place + 4 <= len(head) and head[place] == 0xFF:
        marker, length = head[place + 1], struct.unpack(">H", head[place + 2 : place + 4])[0]
        body = head[place + 4 : place + 2 + length]
        if marker == 0xDA:
            break
        segments += 1
        if 0xE0 <= marker <= 0xEF or marker == 0xFE:
            metadata += length
        elif marker == 0xDB:
            coarseness += sum(body)
        elif marker in (0xC0, 0xC1, 0xC2):
            size = [float(value) for value in struct.unpack(">HHB", body[1:6])]
        place += 2 + length
    return [*size, float(segments), float(metadata), float(coarseness)]


def npy_facts(head: bytes) -> list[float]:
    """The header's length, and the dimensions that it names."""
    length = struct.unpack("<H", head[8:10])[0]
    shape = re.search(rb"'shape': \(([^)]*)\)", head[10 : 10 + length])
    sides = [float(side) for side in re.findall(rb"\d+", shape[1])] if shape else []
    return [float(length), float(len(sides)), *sides[:4]]


def as_matrix(columns: list[np.ndarray]) -> np.ndarray:
    """The ranks of all columns that differ between rows; a missing value is -1."""
    useful = [column for column in columns if len(np.unique(column[~np.isnan(column)])) > 1]
    if not useful:
        return np.empty((len(columns[0]) if columns else 0, 0))
    return np.stack([ranks(column) for column in useful], axis=1)


def ranks(column: np.ndarray) -> np.ndarray:
    """Ranks between 0 and 1; equal values share one."""
    known = ~np.isnan(column)
    found = np.full(len(column), -1.0)
    found[known] = (rankdata(column[known]) - 1) / max(1, known.sum() - 1)
    return found


# Learning


def halvings(ids: list[str]) -> list[np.ndarray]:
    """Several choices of the rows to learn from; rows of one small group are kept together."""
    first_parts = [re.split(r"[_\-/]", text)[0] for text in ids]
    groups = first_parts if len(set(first_parts)) >= len(ids) / 10 else ids
    _, number = np.unique(groups, return_inverse=True)
    rng = np.random.default_rng(0)
    return [(rng.permutation(number.max() + 1) % 2 == 0)[number] for _ in range(HALVINGS)]


def probe(
    target: str, values: list[str], sights: dict[str, np.ndarray], halves: list[np.ndarray]
) -> Iterator[dict[str, Any]]:
    """Every model on one target: its gain over the best constant, and the standard error."""
    if not sights or len(set(values)) < 2:
        return
    measure = class_gains if is_classes(values) else number_gains
    labels = as_classes(values) if is_classes(values) else as_numbers(values)
    everything = np.concatenate(list(sights.values()), axis=1)
    models = [("gradient boosting", "everything", everything, boosting)]
    models += [("nearest neighbours", name, table, neighbours) for name, table in sights.items()]
    for model, sight, table, predict in models:
        found = [gain_and_error(measure(labels, table, half, predict)) for half in halves]
        found.sort(key=lambda pair: pair[0] / pair[1] if pair[1] else np.sign(pair[0]) * np.inf)
        gain, error = found[len(found) // 2]
        test = {"target": target, "model": model, "sight": sight}
        yield {**test, "gain": gain, "standard_error": error}


def gain_and_error(gains: np.ndarray) -> tuple[float, float]:
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def is_classes(values: list[str]) -> bool:
    distinct = set(values)
    if len(distinct) <= MANY_VALUES:
        return True
    return not all(map(is_number, distinct)) and len(distinct) <= len(values) / LEAST_IN_CLASS


def is_number(value: str) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False


def as_classes(values: list[str]) -> np.ndarray:
    """Class numbers; all rare classes share one."""
    counts = Counter(values)
    common = [name for name, count in counts.items() if count >= LEAST_IN_CLASS]
    number = {name: place for place, name in enumerate(sorted(common))}
    return np.array([number.get(value, len(number)) for value in values])


def as_numbers(values: list[str]) -> np.ndarray:
    """Ranks of the numbers; other texts are ranked by their length."""
    numeric = all(map(is_number, values))
    return ranks(np.array([float(value) if numeric else len(value) for value in values]))


Predict = Callable[[np.ndarray, np.ndarray, np.ndarray, "np.ndarray | None"], np.ndarray]


def class_gains(
    labels: np.ndarray, table: np.ndarray, seen: np.ndarray, predict: Predict
) -> np.ndarray:
    """For each unseen row its weighted hit, minus that of a constant on average."""
    hidden = labels[~seen]
    guesses = predict(table[seen], labels[seen], table[~seen], class_weights(labels[seen]))
    return np.asarray(class_weights(hidden) * ((guesses == hidden) - 1 / len(set(hidden))))


def class_weights(labels: np.ndarray) -> np.ndarray:
    """Weights with mean 1 that make all classes count the same."""
    classes, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.asarray((len(labels) / (len(classes) * counts))[inverse])


def number_gains(
    labels: np.ndarray, table: np.ndarray, seen: np.ndarray, predict: Predict
) -> np.ndarray:
    """For each unseen row the squared error of the mean, minus that of the prediction."""
    hidden = labels[~seen]
    guesses = predict(table[seen], labels[seen], table[~seen], None)
    return np.asarray((hidden - labels[seen].mean()) ** 2 - (hidden - guesses) ** 2)


def boosting(
    seen: np.ndarray, labels: np.ndarray, unseen: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    if weights is None:
        model = HistGradientBoostingRegressor(**BOOSTING).fit(seen, labels)
    else:
        model = HistGradientBoostingClassifier(**BOOSTING).fit(seen, labels, sample_weight=weights)
    return np.asarray(model.predict(unseen))


def neighbours(
    seen: np.ndarray, labels: np.ndarray, unseen: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """The mean of the nearest rows' numbers, or the class with the most weight among them."""
    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(seen))).fit(seen)
    nearest = search.kneighbors(unseen, return_distance=False)
    if weights is None:
        return np.asarray(labels[nearest].mean(axis=1))
    votes = np.zeros((len(unseen), labels.max() + 1))
    np.add.at(votes, (np.arange(len(unseen))[:, None], labels[nearest]), weights[nearest])
    return np.asarray(votes.argmax(axis=1))


if __name__ == "__main__":
    main()
