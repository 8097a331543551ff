# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Ridge on blocks of features chosen by forecasting 2016, 2017 and 2018 from the years before."""

import numpy as np
import pandas as pd
from scipy import sparse

CLASSES = 40
PENALTY = 100.0


def load(name):
    return np.load(f"{name}.npy")


def by_year(features, years, whiten):
    """Features made alike in all years: centred and scaled, or whitened too."""
    out = np.zeros((len(years), features.shape[1]))
    for year in np.unique(years):
        rows = years == year
        part = features[rows].astype(np.float64)
        part = np.clip((part - part.mean(axis=0)) / (part.std(axis=0) + 1e-6), -3, 3)
        if whiten:
            covariance = part.T @ part / len(part) + 0.3 * np.eye(part.shape[1])
            values, vectors = np.linalg.eigh(covariance)
            part = part @ (vectors / np.sqrt(values)) @ vectors.T
        out[rows] = part
    return out


def shares(counts):
    return 4.0 * counts / (counts.sum(axis=1, keepdims=True) + 1.0)


def fill_graph_blocks(blocks, beliefs, years, wanted, out, venues):
    """Per paper: fields of older papers next to it, by direction, by venue, and at two steps."""
    back = out.T.tocsr()
    both = (out + back).tocsr()
    for year in wanted:
        rows = np.flatnonzero(years == year)
        known = beliefs * (years < year)[:, None]
        blocks["near"][rows] = np.hstack([shares(out[rows] @ known), shares(back[rows] @ known)])
        blocks["far"][rows] = np.hstack(
            [shares(out[rows] @ (back @ known)), shares(out[rows] @ (out @ known))]
        )
        for venue in np.unique(venues[rows]):
            mine = rows[venues[rows] == venue]
            at = (venues == venue)[:, None]
            blocks["split"][mine] = np.hstack(
                [shares(both[mine] @ (known * at)), shares(both[mine] @ (known * ~at))]
            )


def ridge(x, y, weights):
    mean_x = np.average(x, axis=0, weights=weights)
    target = np.eye(CLASSES)[y]
    mean_y = np.average(target, axis=0, weights=weights)
    centred = x - mean_x
    weighted = centred * weights[:, None]
    slope = np.linalg.solve(
        weighted.T @ centred + PENALTY * np.eye(x.shape[1]), weighted.T @ (target - mean_y)
    )
    return lambda z: mean_y + (z - mean_x) @ slope


def fit(choice, blocks, nodes, labels, years):
    names, forget = choice
    weights = forget ** (years[nodes].max() - years[nodes]).astype(float)
    model = ridge(np.hstack([blocks[name][nodes] for name in names]), labels, weights)
    return lambda rows: model(np.hstack([blocks[name][rows] for name in names]))


def sharpen(scores):
    """Scores of a ridge as probabilities."""
    scores = np.exp(6.0 * (scores - scores.max(axis=1, keepdims=True)))
    return scores / scores.sum(axis=1, keepdims=True)


def main():
    features, venues, edges = load("node_features"), load("node_venues"), load("edges")
    nodes, labels, test = load("train_nodes"), load("train_labels"), load("test_nodes")
    years = load("node_years").astype(int)
    edges = edges[edges[:, 0] != edges[:, 1]].astype(int)
    n = len(years)
    out = sparse.csr_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    beliefs = np.zeros((n, CLASSES))
    beliefs[nodes, labels] = 1.0
    blocks = {
        "scaled": by_year(features, years, whiten=False),
        "white": by_year(features, years, whiten=True),
        **{name: np.zeros((n, 2 * CLASSES)) for name in ("near", "split", "far")},
    }
    fill_graph_blocks(blocks, beliefs, years, np.unique(years[nodes]), out, venues)

    graph = ("near", "split", "far")
    kinds = [graph, ("scaled",), ("scaled", *graph), ("white", *graph), ("scaled", "near", "far")]
    scored = []
    for choice in [(names, forget) for names in kinds for forget in (0.75, 1.0)]:
        hits = []
        for year in np.unique(years[nodes])[-3:]:
            old, new = years[nodes] < year, years[nodes] == year
            model = fit(choice, blocks, nodes[old], labels[old], years)
            hits.append((model(nodes[new]).argmax(axis=1) == labels[new]).mean())
        scored.append((float(np.mean(hits)), choice))
    scored.sort(key=lambda item: -item[0])
    print(f"validation accuracy={scored[0][0]:.4f}")

    models = [fit(choice, blocks, nodes, labels, years) for _, choice in scored[:2]]
    for year in np.unique(years[test]):
        rows = test[years[test] == year]
        fill_graph_blocks(blocks, beliefs, years, [year], out, venues)
        beliefs[rows] = np.mean([sharpen(model(rows)) for model in models], axis=0)
    pd.DataFrame({"node": test, "label": beliefs[test].argmax(axis=1)}).to_csv(
        "submission.csv", index=False
    )


if __name__ == "__main__":
    main()
