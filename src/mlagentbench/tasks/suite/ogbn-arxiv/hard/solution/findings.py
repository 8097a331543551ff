# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What is special about this graph, as far as the public data show it.

- What a citation says about two papers' fields may depend on what kind of citation it is.
- Features may be measured differently in parts of the data.
- What a feature says about a field may change over the years.
"""

import numpy as np
from papers import CLASSES, Papers, batches, citations_by, normal_scores

ORDERED_VALUES = 15
"""An ordered property with more values is cut into so many parts."""
DOUBTFUL, CERTAIN = 2.0, 5.0
"""Standard deviations."""


def find(papers: Papers) -> dict:
    by = batches_by(papers)
    return {
        "relation": relation(papers),
        "batches": by,
        "unstable": unstable_features(papers, by),
    }


def relation(papers: Papers) -> dict:
    """The property of citations by which the fields at both ends depend on each other most.

    Neighbouring values under which they depend on each other alike make one kind.
    """
    one, other = papers.label_of[papers.edges].T
    known = (one >= 0) & (other >= 0)
    found = {}
    for name, values in citations_by(papers).items():
        lowest = np.unique(values)
        if len(lowest) > ORDERED_VALUES:
            lowest = np.unique(np.quantile(values, np.arange(ORDERED_VALUES) / ORDERED_VALUES))
        kinds = np.searchsorted(lowest, values, side="right") - 1
        tables = [
            surprise(one[known & (kinds == kind)], other[known & (kinds == kind)])
            for kind in range(len(lowest))
        ]
        # The squares of a table of pure chance add up to about its number of cells.
        strength = sum((table**2).sum() - (CLASSES - 1) ** 2 for table in tables) / known.sum()
        found[name] = strength, lowest, tables
    name = max(found, key=lambda name: found[name][0])
    _, lowest, tables = found[name]
    starts = [0]
    for kind in range(1, len(lowest)):
        before = sum(tables[starts[-1] : kind])
        likeness = (before * tables[kind]).sum() / np.linalg.norm(before)
        if "venue" in name or likeness < -DOUBTFUL:
            starts.append(kind)
    return {"by": name, "lowest": [int(lowest[start]) for start in starts]}


def surprise(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How many standard deviations each pair of fields is commoner than by chance."""
    counts = np.zeros((CLASSES, CLASSES))
    np.add.at(counts, (one, other), 1)
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / max(counts.sum(), 1)
    return (counts - expected) / np.sqrt(np.maximum(expected, 1e-9))


def batches_by(papers: Papers) -> list[str]:
    """The coarsest parts of the data that explain what can be explained of the features' spread."""
    options = [[], ["venue"], ["year"], ["venue", "year"]]
    shares = [explained(papers.features, batches(papers, by)).mean() for by in options]
    return next(
        by for by, share in zip(options, shares, strict=True) if share > 0.9 * max(shares) - 0.01
    )


def explained(features: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The share of each feature's variance between groups, less what chance gives."""
    within, left = np.zeros(features.shape[1]), 0
    for group in np.unique(groups):
        part = features[groups == group]
        within += ((part - part.mean(axis=0)) ** 2).sum(axis=0)
        left += len(part) - 1
    return 1 - within / left / features.var(axis=0, ddof=1)


def unstable_features(papers: Papers, by: list[str]) -> list[int]:
    """Features whose means by field differ between years more than others' do."""
    seen = normal_scores(papers.features, batches(papers, by))[papers.nodes]
    field_and_year = papers.labels * 10_000 + papers.years[papers.nodes]
    change = explained(seen, field_and_year) - explained(seen, papers.labels)
    usual = np.median(change)
    spread = 1.4826 * np.median(np.abs(change - usual))
    return np.flatnonzero(change > usual + CERTAIN * spread).tolist()
