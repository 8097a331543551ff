# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Beliefs spread over citations by learned field-to-field tables, with features refitted per year."""

import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
CLASSES = 40
ROUNDS, SWEEPS = 2, 8


def load(name):
    return np.load(f"{name}.npy")


def standardise_by_year(features, years):
    out = np.zeros(features.shape)
    for year in np.unique(years):
        rows = years == year
        part = features[rows].astype(np.float64)
        part = (part - part.mean(axis=0)) / (part.std(axis=0) + 1e-6)
        out[rows] = np.clip(part, -3, 3)
    return out


def log_softmax(scores):
    scores = scores - scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def own_prior(own, years, nodes, labels, targets):
    """Log probabilities of the fields by the paper's own features; newer papers weigh more."""
    weights = 0.85 ** (years[nodes].max() - years[nodes]).astype(float)
    model = LogisticRegression(C=0.02, max_iter=50)
    model.fit(own[nodes], labels, sample_weight=weights)
    out = np.full((len(targets), CLASSES), 1e-4)
    out[:, model.classes_] += model.predict_proba(own[targets])
    return np.log(out / out.sum(axis=1, keepdims=True))


def edge_table(graph, beliefs, weights):
    """Log of how much likelier two fields are at the ends of a citation than by chance."""
    counts = (beliefs * weights[:, None]).T @ (graph @ beliefs)
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True)
    expected = expected / max(counts.sum(), 1e-9)
    return np.log((counts + 3.0) / (expected + 3.0))


def infer(own, years, graphs, nodes, labels, targets, prior, strength):
    """Log beliefs of the targets."""
    beliefs = np.zeros((len(years), CLASSES))
    beliefs[nodes, labels] = 1.0
    recency = np.zeros(len(years))
    recency[nodes] = 0.9 ** (years[nodes].max() - years[nodes]).astype(float)
    links = []
    for graph in graphs:
        table = edge_table(graph, beliefs, recency)
        links += [(graph[targets], table.T), (graph.T.tocsr()[targets], table)]
    final = prior
    for _ in range(ROUNDS):
        beliefs[targets] = 0.0  # messages come from the labelled papers first
        for _ in range(SWEEPS):
            messages = sum((links_in @ beliefs) @ table for links_in, table in links)
            final = log_softmax(prior + strength * messages)
            beliefs[targets] = 0.5 * beliefs[targets] + 0.5 * np.exp(final)
        prior = adapted_prior(own, years, targets, prior, np.exp(final))
    return final


def adapted_prior(own, years, targets, prior, posterior):
    """The prior, with what the features say by a ridge that is fitted within each new year."""
    out = prior.copy()
    for year in np.unique(years[targets]):
        rows = np.flatnonzero(years[targets] == year)
        if len(rows) < 50:
            continue
        x, y = own[targets[rows]], posterior[rows]
        fold = np.arange(len(rows)) % 5
        scores = np.zeros_like(y)
        for k in range(5):
            a, b = fold != k, fold == k
            gram = x[a].T @ x[a] + 200.0 * np.eye(x.shape[1])
            mean = y[a].mean(axis=0)
            scores[b] = mean + x[b] @ np.linalg.solve(gram, x[a].T @ (y[a] - mean))
        out[rows] = 0.7 * prior[rows] + 0.7 * np.log(np.clip(scores, 0.005, 1.0))
    return log_softmax(out)


def main():
    features, venues, edges = load("node_features"), load("node_venues"), load("edges")
    nodes, labels, test = load("train_nodes"), load("train_labels"), load("test_nodes")
    years = load("node_years").astype(int)
    edges = edges[edges[:, 0] != edges[:, 1]].astype(int)
    own = standardise_by_year(features, years)
    n = len(years)
    same = venues[edges[:, 0]] == venues[edges[:, 1]]
    graphs = [
        sparse.csr_matrix((np.ones(m.sum()), (edges[m, 0], edges[m, 1])), shape=(n, n))
        for m in (same, ~same)
    ]

    newest = years[nodes] == years[nodes].max()
    old, old_labels, new = nodes[~newest], labels[~newest], nodes[newest]
    prior = own_prior(own, years, old, old_labels, new)
    scored = []
    for strength in (0.3, 0.6, 1.0):
        guess = infer(own, years, graphs, old, old_labels, new, prior, strength).argmax(axis=1)
        scored.append((float((guess == labels[newest]).mean()), strength))
    accuracy, strength = max(scored)
    print(f"validation accuracy={accuracy:.4f}")

    prior = own_prior(own, years, nodes, labels, test)
    guess = infer(own, years, graphs, nodes, labels, test, prior, strength).argmax(axis=1)
    pd.DataFrame({"node": test, "label": guess}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
