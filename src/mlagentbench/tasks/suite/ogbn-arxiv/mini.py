"""The mini tier: a generated citation graph in the official layout.

Forty fields of research in eight areas. A paper's features lie around the centre of its field, and
that moves with the years, so that what was learnt from old papers fits new ones less well. Papers
cite older ones: of their own field, of the same area, or of any. Neither the features nor the
citations tell the field alone. A share of the labels is redrawn, so that no honest classifier
reaches 1.

A draw draws all of it: which fields are in one area and how large they are, where they lie and how
they move, how features are mixed and scaled, and how much papers keep to their field.
"""

import gzip
import json
from pathlib import Path

import numpy as np

NODES, FEATURES = 3000, 128
AREAS, FIELDS_IN_AREA = 8, 5
CLASSES = AREAS * FIELDS_IN_AREA
FIRST_YEAR, LAST_YEAR = 2008, 2020
GROWTH = 1.3
"""Each year has so many times the papers of the year before."""
VALIDATION_YEAR = 2018

TOPICS = 12
"""What a paper is about has so many dimensions; its features are mixtures of them."""
AREA_SPREAD, FIELD_SPREAD, DRIFT, PAPER_SPREAD, NOISE = 0.4, 0.7, 0.09, 1.0, 0.5
"""Of areas; of fields within their area; of a field in a year; of papers; of single features."""
SCALE, OFFSET = (0.8, 1.25), 0.1
"""Of single features, when all else is done."""
CITATIONS = 5.0
SAME_FIELD, SAME_AREA = (0.25, 0.29), (0.38, 0.42)
REDRAWN_LABELS = 0.05

TRAINING = {"learning_rate": 0.01, "epochs": 10, "batch_size": 128}


def make(raw: Path, rng: np.random.Generator) -> None:
    years = draw_years(rng)
    classes = draw_classes(rng)
    areas = rng.permutation(np.arange(CLASSES) % AREAS)
    features = draw_features(classes, areas, years, rng)
    edges = draw_citations(classes, areas, years, rng)
    redrawn = rng.random(NODES) < REDRAWN_LABELS
    labels = np.where(redrawn, rng.integers(CLASSES, size=NODES), classes)

    write_rows(raw / "arxiv/raw/edge.csv.gz", edges, "%d")
    write_rows(raw / "arxiv/raw/node-feat.csv.gz", features, "%.3f")
    write_rows(raw / "arxiv/raw/node-label.csv.gz", labels, "%d")
    write_rows(raw / "arxiv/raw/node_year.csv.gz", years, "%d")
    parts = {
        "train": years < VALIDATION_YEAR,
        "valid": years == VALIDATION_YEAR,
        "test": years > VALIDATION_YEAR,
    }
    for name, within in parts.items():
        write_rows(raw / f"arxiv/split/time/{name}.csv.gz", np.flatnonzero(within), "%d")
    np.save(raw / "classes.npy", classes)
    (raw / "training.json").write_text(json.dumps(TRAINING))


def draw_years(rng: np.random.Generator) -> np.ndarray:
    """More papers every year."""
    years = np.arange(FIRST_YEAR, LAST_YEAR + 1)
    weights = GROWTH ** np.arange(len(years))
    return rng.choice(years, size=NODES, p=weights / weights.sum())


def draw_classes(rng: np.random.Generator) -> np.ndarray:
    """The field of each paper; some fields have three times as many papers as others."""
    sizes = rng.uniform(1, 3, size=CLASSES)
    return rng.choice(CLASSES, size=NODES, p=sizes / sizes.sum())


def draw_features(
    classes: np.ndarray, areas: np.ndarray, years: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Mixtures of a paper's topics: the centre of its field in its year, and what is its own."""
    centres = rng.normal(scale=AREA_SPREAD, size=(AREAS, TOPICS))[areas]
    centres = centres + rng.normal(scale=FIELD_SPREAD, size=(CLASSES, TOPICS))
    steps = rng.normal(scale=DRIFT, size=(LAST_YEAR - FIRST_YEAR + 1, CLASSES, TOPICS))
    moved = centres + np.cumsum(steps, axis=0)
    topics = moved[years - FIRST_YEAR, classes]
    topics = topics + rng.normal(scale=PAPER_SPREAD, size=(NODES, TOPICS))
    mixture = rng.normal(scale=TOPICS**-0.5, size=(TOPICS, FEATURES))
    # Products of whole numbers are the same on every machine, in whatever order they are added.
    mixed = np.round(topics * 1e4) @ np.round(mixture * 1e4) / 1e8
    found = mixed + rng.normal(scale=NOISE, size=(NODES, FEATURES))
    return found * rng.uniform(*SCALE, size=FEATURES) + rng.normal(scale=OFFSET, size=FEATURES)


def draw_citations(
    classes: np.ndarray, areas: np.ndarray, years: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Pairs of a paper and a paper that it cites, which is no younger; some are cited often."""
    fame = rng.pareto(2.5, size=NODES) + 1
    areas = areas[classes]
    same_field, same_area = rng.uniform(*SAME_FIELD), rng.uniform(*SAME_AREA)
    pairs = set()
    for paper in range(NODES):
        older = (years <= years[paper]) & (np.arange(NODES) != paper)
        circles = [older & (classes == classes[paper]), older & (areas == areas[paper]), older]
        kinds = rng.choice(3, size=1 + rng.poisson(CITATIONS - 1),
                           p=[same_field, same_area, 1 - same_field - same_area])  # fmt: skip
        for kind in kinds:
            known = np.flatnonzero(circles[kind])
            if len(known):
                weights = np.cumsum(fame[known])
                chosen = known[np.searchsorted(weights, rng.random() * weights[-1])]
                pairs.add((paper, int(chosen)))
    return rng.permutation(np.array(sorted(pairs)))


def write_rows(file: Path, rows: np.ndarray, form: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8", compresslevel=1) as handle:
        np.savetxt(handle, rows, fmt=form, delimiter=",")
