"""The hard tier: a citation graph in which neither words nor citations can be read as they are.

A field is a subject and a school. The words of a paper tell its subject, and its citations tell its
school; one without the other is worth little. Both are veiled, differently in every draw:

| mechanism | what it does | in evaluation | in training |
|---|---|---|---|
| relation | the school that is cited depends | by age, citing venue or | by cited venue or |
| | on the kind of citation | number of references | cited era |
| batches | every batch moves all papers and | a batch is a year, or | values are bent, too |
| | scales every feature | a venue's year | |
| shortcut | some features tell the subject, | later they tell another, | later they tell |
| | but only in early years | anew each year | nothing |
| decoy | some features fall into groups | present or absent | present or absent |
| | that have no meaning | | |

Papers of 2019 and 2020 are tested, so that every batch with test papers is new. The ceiling is what
is reached by whoever knows the true field of each test paper; a share of all labels is redrawn.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from prepare import Graph, write_parts

NODES, FEATURES, TOPICS = 4500, 128, 16
SCHOOLS, SUBJECTS = 5, 8
VENUES = SCHOOLS
FIRST_YEAR, LAST_YEAR, LAST_LABELLED = 2008, 2020, 2018
GROWTH = 1.05
"""Each year has so many times the papers of the year before."""
SUBJECT_SPREAD, SCHOOL_SPREAD, DRIFT, NOISE = 0.9, 0.15, 0.05, 0.5
"""Of subjects and schools among the topics, of a subject in a year; of single features."""
MOVE, BATCH_SCALE, BENDING = 5.0, 0.7, (0.5, 2.0)
"""How far batches move topics; how they scale features, and by which powers they bend them."""
REFERENCES = (4, 14)
KEPT, SAME_SUBJECT = 0.75, 0.1
"""Citations that follow the relation; those that stay within the subject."""
REDRAWN_LABELS = 0.04
SHORTCUTS, CODE_STRENGTH, MOST_ALIKE, TURNS = 24, 2.0, 0.3, 2018
"""Columns of the shortcut, and of the decoy; how strong they are; how much a shifted one may
resemble itself; the first year in which the shortcut misleads."""
RELATIONS = {
    "eval": ["age", "citing venue", "references"],
    "train": ["cited venue", "cited era"],
}
LOWEST = {
    "age": [0, 1, 2, 4, 6],
    "references": [4, 6, 8, 10, 12],
    "cited era": [2008, 2011, 2013, 2015, 2017],
}
"""Where kinds of citations begin; some begin one later."""
TRAINING = {"learning_rate": 0.01, "epochs": 10, "batch_size": 128}


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    years, venues = draw_years(rng), rng.integers(VENUES, size=NODES)
    schools, subjects = rng.integers(SCHOOLS, size=NODES), rng.integers(SUBJECTS, size=NODES)
    numbers = rng.permutation(SCHOOLS * SUBJECTS).reshape(SCHOOLS, SUBJECTS)
    classes = numbers[schools, subjects]
    redrawn = rng.random(NODES) < REDRAWN_LABELS
    labels = np.where(redrawn, rng.integers(SCHOOLS * SUBJECTS, size=NODES), classes)

    by = ["year", "venue and year"][rng.integers(2)]
    batches = years - FIRST_YEAR
    if by == "venue and year":
        batches = batches * VENUES + venues
    features = draw_features(schools, subjects, years, batches, rng)
    special = rng.permutation(FEATURES)[: 2 * SHORTCUTS].reshape(2, SHORTCUTS)
    shown = late_subjects(subjects, years, rng, lost=pool == "train")
    features = show_code(features, special[0], shown, batches, rng)
    decoy = bool(rng.random() < 0.5)
    if decoy:
        groups = rng.integers(SUBJECTS, size=NODES)
        features = show_code(features, special[1], groups, batches, rng)
    features = veil(features, batches, rng, bent=pool == "train")

    relation = str(rng.choice(RELATIONS[pool]))
    edges, kinds = draw_citations(relation, schools, subjects, years, venues, rng)

    labelled = years <= LAST_LABELLED
    graph = Graph(
        features=np.round(features, 3).astype(np.float32),
        edges=edges,
        labels=labels,
        years=years,
        labelled=np.flatnonzero(labelled),
        test=np.flatnonzero(~labelled),
    )
    order = rng.permutation(NODES)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder)
        np.save(raw / "classes.npy", classes)
        (raw / "training.json").write_text(json.dumps(TRAINING))
        write_parts(raw, graph, order, public, private)
    np.save(public / "node_venues.npy", venues[order].astype(np.int16))
    mechanisms = {
        "relation": {"by": relation, **kinds},
        "batches": {"by": by, "bent": pool == "train"},
        "shortcut": {
            "columns": np.sort(special[0]).tolist(),
            "until": TURNS - 1,
            "lost": pool == "train",
        },
        "decoy": {"columns": np.sort(special[1]).tolist() if decoy else []},
        "fields": numbers.tolist(),
    }
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=2) + "\n")


def draw_years(rng: np.random.Generator) -> np.ndarray:
    """More papers every year."""
    years = np.arange(FIRST_YEAR, LAST_YEAR + 1)
    weights = GROWTH ** np.arange(len(years))
    return rng.choice(years, size=NODES, p=weights / weights.sum())


def draw_features(
    schools: np.ndarray,
    subjects: np.ndarray,
    years: np.ndarray,
    batches: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Mixtures of a paper's topics: those of its subject and school, as its batch moves them."""
    steps = rng.normal(scale=DRIFT, size=(LAST_YEAR - FIRST_YEAR + 1, SUBJECTS, TOPICS))
    centres = rng.normal(scale=SUBJECT_SPREAD, size=(SUBJECTS, TOPICS)) + np.cumsum(steps, axis=0)
    topics = centres[years - FIRST_YEAR, subjects]
    topics = topics + rng.normal(scale=SCHOOL_SPREAD, size=(SCHOOLS, TOPICS))[schools]
    topics = topics + rng.normal(scale=MOVE, size=(batches.max() + 1, TOPICS))[batches]
    topics = topics + rng.normal(size=(NODES, TOPICS))
    mixture = rng.normal(scale=TOPICS**-0.5, size=(TOPICS, FEATURES))
    return product(topics, mixture) + rng.normal(scale=NOISE, size=(NODES, FEATURES))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of whole numbers are the same on every machine, in whatever order they are added."""
    return np.round(a * 1e4) @ np.round(b * 1e4) / 1e8


def late_subjects(
    subjects: np.ndarray, years: np.ndarray, rng: np.random.Generator, lost: bool
) -> np.ndarray:
    """The subjects, but from the year TURNS on others: any, or shifted differently each year."""
    shown = subjects.copy()
    shifts = 1 + rng.permutation(SUBJECTS - 1)
    for year in range(TURNS, LAST_YEAR + 1):
        now = years == year
        shift = rng.integers(1, SUBJECTS, size=now.sum()) if lost else shifts[year - TURNS]
        shown[now] = (subjects[now] + shift) % SUBJECTS
    return shown


def show_code(
    features: np.ndarray,
    columns: np.ndarray,
    shown: np.ndarray,
    batches: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Replace some columns by levels of eight groups, in an order of each column's own."""
    codes = np.stack([draw_levels(rng) for _ in columns], axis=1)
    moves = rng.normal(scale=MOVE, size=(batches.max() + 1, len(columns)))
    noise = rng.normal(size=(NODES, len(columns)))
    features = features.copy()
    features[:, columns] = CODE_STRENGTH * codes[shown] + moves[batches] + noise
    return features


def draw_levels(rng: np.random.Generator) -> np.ndarray:
    """A level for each group, and a quite different one when groups are shifted."""
    while True:
        levels = rng.permutation(np.linspace(-1.5, 1.5, SUBJECTS))
        alike = max(levels @ np.roll(levels, shift) for shift in range(1, SUBJECTS))
        if alike <= MOST_ALIKE * (levels @ levels):
            return levels


def veil(
    features: np.ndarray, batches: np.ndarray, rng: np.random.Generator, bent: bool
) -> np.ndarray:
    """Scale each feature anew in each batch, and bend its values if asked to."""
    size = (batches.max() + 1, FEATURES)
    scale = np.exp(rng.normal(scale=BATCH_SCALE, size=size))
    if bent:
        power = np.exp(rng.uniform(*np.log(BENDING), size=size))
        features = np.sign(features) * np.abs(features) ** power[batches]
    return features * scale[batches]


def draw_citations(
    relation: str,
    schools: np.ndarray,
    subjects: np.ndarray,
    years: np.ndarray,
    venues: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, dict]:
    """Pairs of a paper and a paper that it cites, which is no younger; some are cited often.

    There are as many kinds of citations as schools, and each leads a school to another one.
    """
    counts = rng.integers(*REFERENCES, size=NODES)
    lowest = np.array(LOWEST.get(relation, range(SCHOOLS)))
    lowest[2:] += rng.integers(2, size=SCHOOLS - 2) * (relation in LOWEST)
    jump = rng.permutation(SCHOOLS)
    fame = rng.pareto(2.5, size=NODES) + 1
    pairs = []
    for paper in range(NODES):
        free = (years <= years[paper]) & (np.arange(NODES) != paper)
        property_of = {
            "age": years[paper] - years,
            "citing venue": np.full(NODES, venues[paper]),
            "references": np.full(NODES, counts[paper]),
            "cited venue": venues,
            "cited era": years,
        }[relation]
        kinds = np.searchsorted(lowest, property_of, side="right") - 1
        offered = np.unique(kinds[free])
        for _ in range(counts[paper]):
            kind = offered[rng.integers(len(offered))]
            fits = free & (kinds == kind)
            if rng.random() < KEPT:
                fits &= schools == (schools[paper] + jump[kind]) % SCHOOLS
            if rng.random() < SAME_SUBJECT:
                fits &= subjects == subjects[paper]
            known = np.flatnonzero(fits if fits.any() else free)
            weights = np.cumsum(fame[known])
            cited = known[np.searchsorted(weights, rng.random() * weights[-1])]
            free[cited] = False
            pairs.append((paper, cited))
    return np.array(pairs), {"lowest": lowest.tolist(), "jump": jump.tolist()}
