# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Subjects from features that are made comparable, and the rest from citations, kind by kind.

What kinds of citations there are, in which parts features are comparable and which of them keep
their meaning is found out first. Papers then tell their neighbours which fields they may be of.
"""

import csv
import json

import numpy as np
from findings import find
from papers import CLASSES, Papers, batches, citations_by, normal_scores
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

ROUNDS = 4
PRIOR = 1.0
"""Imaginary citations per pair of fields, shared out as by chance."""
RANK = 8
"""Of the tables that say which fields cite which."""


def main() -> None:
    papers = Papers()
    found = find(papers)
    print("findings", json.dumps(found))
    newest = papers.years[papers.nodes].max()
    held = papers.nodes[papers.years[papers.nodes] == newest]
    guesses = learn(Papers(until=newest), found).argmax(axis=1)
    print(f"validation accuracy={(guesses[held] == papers.label_of[held]).mean():.4f}")
    test = np.load("test_nodes.npy")
    write_submission(test, learn(papers, found)[test].argmax(axis=1))


def learn(papers: Papers, found: dict) -> np.ndarray:
    """Log probabilities of each field for every node."""
    own = own_beliefs(papers, found)
    values = citations_by(papers)[found["relation"]["by"]]
    kinds = np.searchsorted(found["relation"]["lowest"], values, side="right") - 1
    tables = citation_tables(papers, kinds, len(found["relation"]["lowest"]))
    known = np.eye(CLASSES)[papers.labels]
    beliefs = own
    for _ in range(ROUNDS):
        probable = np.exp(beliefs - beliefs.max(axis=1, keepdims=True))
        probable /= probable.sum(axis=1, keepdims=True)
        probable[papers.nodes] = known
        beliefs = own.copy()
        for kind, table in enumerate(tables):
            citing, cited = papers.edges[kinds == kind].T
            np.add.at(beliefs, citing, np.log(probable[cited] @ table.T))
            np.add.at(beliefs, cited, np.log(probable[citing] @ table))
    return beliefs


def own_beliefs(papers: Papers, found: dict) -> np.ndarray:
    """Log probabilities of each field, from what a paper's features say alone."""
    seen = normal_scores(papers.features, batches(papers, found["batches"]))
    seen = np.delete(seen, found["unstable"], axis=1)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    model.fit(seen[papers.nodes], papers.labels)
    own = np.full((len(seen), CLASSES), -20.0)
    own[:, model.classes_] = np.maximum(model.predict_log_proba(seen), -20)
    return own


def citation_tables(papers: Papers, kinds: np.ndarray, count: int) -> np.ndarray:
    """For each kind, how many times as often as by chance a field cites another.

    Fields that cite alike, and are cited alike, lend each other strength.
    """
    one, other = papers.label_of[papers.edges].T
    known = (one >= 0) & (other >= 0)
    counts = np.zeros((count, CLASSES, CLASSES))
    np.add.at(counts, (kinds[known], one[known], other[known]), 1)
    common = ratios(counts.sum(axis=0))
    return np.stack([common * ratios(table, common) for table in counts])


def ratios(counts: np.ndarray, expected: np.ndarray | float = 1.0) -> np.ndarray:
    """How many times as often as expected each pair of fields occurs, with little detail."""
    chance = expected * counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    prior = PRIOR * chance.mean()
    left, values, right = np.linalg.svd((counts + prior) / (chance + prior))
    smooth = (left[:, :RANK] * values[:RANK]) @ right[:RANK]
    return np.clip(smooth, 0.1, None)


def write_submission(nodes: np.ndarray, labels: np.ndarray) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["node", "label"])
        writer.writerows(zip(nodes.tolist(), labels.tolist(), strict=True))


if __name__ == "__main__":
    main()
