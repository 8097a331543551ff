# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The papers as they are given, kinds of citations, and features that are made comparable."""

import numpy as np
from scipy.special import ndtri

CLASSES = 40


class Papers:
    """The graph, and what is known of its nodes; labels may be held back."""

    def __init__(self, until: int | None = None) -> None:
        self.features = np.load("node_features.npy").astype(float)
        self.years, self.venues = np.load("node_years.npy").astype(int), np.load("node_venues.npy")
        self.edges = np.load("edges.npy")
        self.nodes, self.labels = np.load("train_nodes.npy"), np.load("train_labels.npy")
        if until is not None:
            kept = self.years[self.nodes] < until
            self.nodes, self.labels = self.nodes[kept], self.labels[kept]
        self.label_of = np.full(len(self.years), -1)
        self.label_of[self.nodes] = self.labels


def citations_by(papers: Papers) -> dict[str, np.ndarray]:
    """Properties of each citation by which kinds may be told."""
    citing, cited = papers.edges.T
    nodes = len(papers.years)
    return {
        "age": papers.years[citing] - papers.years[cited],
        "citing venue": papers.venues[citing],
        "cited venue": papers.venues[cited],
        "citing year": papers.years[citing],
        "cited year": papers.years[cited],
        "references": np.bincount(citing, minlength=nodes)[citing],
        "citations": np.bincount(cited, minlength=nodes)[cited],
    }


def batches(papers: Papers, by: list[str]) -> np.ndarray:
    """The number of each paper's batch."""
    columns = {"venue": papers.venues, "year": papers.years}
    keys = np.stack([np.zeros_like(papers.years), *(columns[name] for name in by)], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1]


def normal_scores(features: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Every feature's ranks within each group, as if normally distributed."""
    found = np.empty_like(features)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        ranks = features[rows].argsort(axis=0).argsort(axis=0)
        found[rows] = ndtri((ranks + 0.5) / len(rows))
    return found
