# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Logistic regression on year-standardised features and older neighbours' fields, year by year."""

import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
CLASSES = 40
FORGET = 0.9  # weight of a training paper, per year of age


def load(name):
    return np.load(f"{name}.npy")


def standardise_by_year(features, years):
    """Each column with mean 0 and spread 1 within each year, without outliers."""
    out = np.zeros_like(features, dtype=np.float64)
    for year in np.unique(years):
        rows = years == year
        part = features[rows].astype(np.float64)
        part = (part - np.median(part, axis=0)) / (part.std(axis=0) + 1e-6)
        out[rows] = np.clip(part, -3, 3)
    return out


def relations(edges, venues, n):
    """Adjacency matrices: citing and cited, split by whether both papers share their venue."""
    source, target = edges[:, 0].astype(int), edges[:, 1].astype(int)
    proper = source != target
    source, target = source[proper], target[proper]
    same = venues[source] == venues[target]
    matrices = []
    for mask in (same, ~same):
        a = sparse.csr_matrix((np.ones(mask.sum()), (source[mask], target[mask])), shape=(n, n))
        matrices += [a, a.T.tocsr()]
    whole = sparse.csr_matrix((np.ones(len(source)), (source, target)), shape=(n, n))
    return matrices, whole


def shares(counts):
    return counts / (counts.sum(axis=1, keepdims=True) + 1.0)


def graph_block(beliefs, years, matrices, whole):
    """Shares of the fields among the older papers around each paper."""
    back = whole.T.tocsr()
    block = np.zeros((len(years), CLASSES * (len(matrices) + 2)))
    for year in np.unique(years):
        rows = years == year
        known = beliefs * (years < year)[:, None]
        parts = [shares(m[rows] @ known) for m in matrices]
        parts.append(shares(whole[rows] @ (back @ known)))
        parts.append(shares(whole[rows] @ (whole @ known)))
        block[rows] = np.hstack(parts)
    return block


def predict_forward(own, years, matrices, whole, nodes, labels, targets):
    """Probabilities of the target papers; the older of them help with the newer."""
    beliefs = np.zeros((len(years), CLASSES))
    beliefs[nodes, labels] = 1.0
    block = graph_block(beliefs, years, matrices, whole)
    spread = block[nodes].std(axis=0) + 0.02
    weights = FORGET ** (years[nodes].max() - years[nodes]).astype(float)
    model = LogisticRegression(C=0.03, max_iter=60)
    model.fit(np.hstack([own[nodes], block[nodes] / spread]), labels, sample_weight=weights)
    for year in np.unique(years[targets]):
        rows = targets[years[targets] == year]
        block = graph_block(beliefs, years, matrices, whole)
        probability = model.predict_proba(np.hstack([own[rows], block[rows] / spread]))
        beliefs[np.ix_(rows, model.classes_)] = probability
    return beliefs[targets]


def main():
    features, years, venues = load("node_features"), load("node_years"), load("node_venues")
    nodes, labels, test = load("train_nodes"), load("train_labels"), load("test_nodes")
    years = years.astype(int)
    matrices, whole = relations(load("edges"), venues, len(years))
    own = np.hstack([standardise_by_year(features, years), np.eye(5)[np.clip(venues, 0, 4)]])

    newest = years[nodes] == years[nodes].max()
    guess = predict_forward(
        own, years, matrices, whole, nodes[~newest], labels[~newest], nodes[newest]
    ).argmax(axis=1)
    print(f"validation accuracy={(guess == labels[newest]).mean():.4f}")

    guess = predict_forward(own, years, matrices, whole, nodes, labels, test).argmax(axis=1)
    pd.DataFrame({"node": test, "label": guess}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
