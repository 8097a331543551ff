"""Regresses the ways of graphs of 3 nodes on lengths by contexts of marks; refines, teaches a network."""

from itertools import product

import numpy as np
import torch
from graphs import labelled
from scipy.optimize import minimize
from ways import FIRST, SECOND, Rule, accuracy, features, fit, memory, snap, teach

OWN = {"none": 0 * FIRST, "first": FIRST, "second": SECOND, "both": 4 * FIRST + SECOND}
MEMORIES = ("none", "first", "prev:0", "prev:1")
POWERS = (1.0, 2.0, 6.0)
MOST_CLASSES = 32


def triangles() -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """(lengths, marks) of the edges i-j, i-k and k-j, and whether the way is by k."""
    weights, pointers = labelled(3)
    full = (weights[..., 4] > 0).sum(axis=(1, 2)) == 6
    weights, pointers = weights[full], pointers[full]
    seen = features(torch.from_numpy(weights)).numpy()[..., :4]
    triples = [(i, j, 3 - i - j) for i in range(3) for j in range(3) if i != j]
    edges = []
    for a, b in ((0, 1), (0, 2), (2, 1)):
        lengths = np.stack([seen[:, t[a], t[b]] for t in triples], axis=1)
        marks = np.stack([weights[:, t[a], t[b], 4:6] for t in triples], axis=1).astype(int) - 1
        edges.append((lengths.reshape(-1, 4), marks.reshape(-1, 2)))
    by = np.stack([pointers[:, i, j] == k for i, j, k in triples], axis=1).reshape(-1)
    return edges, by


def design(edges: list, own: np.ndarray, kind: str, power: float) -> np.ndarray:
    """Cost of the direct edge minus that of the way by k, as a linear function of what counts."""
    after = memory(kind)
    classes = int(own.max()) + 1
    rows = np.arange(len(edges[0][0]))
    found = np.zeros((len(rows), len(after) * classes, 4))
    state = np.zeros(len(rows), int)
    for which, (lengths, marks) in enumerate(edges):
        if which == 2:
            before = edges[1][1]
            state = after[0, before[:, 0], before[:, 1]]
        place = state * classes + own[marks[:, 0], marks[:, 1]]
        found[rows, place] += (1 if which == 0 else -1) * lengths**power
    return found.reshape(len(rows), -1)


def regress(x: np.ndarray, by: np.ndarray, ridge: float, most: int) -> np.ndarray:
    """Logistic regression with weights that are not negative."""
    sign = np.where(by, 1.0, -1.0)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (x @ theta)
        slope = -sign / (1 + np.exp(np.clip(margin, -50, 50)))
        value = np.logaddexp(0, -margin).sum() + ridge * theta.sum()
        return value, x.T @ slope + ridge

    start = np.full(x.shape[1], 1.0)
    bounds = [(0, None)] * x.shape[1]
    options = {"maxiter": most}
    return minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x


def crossed(x: np.ndarray, by: np.ndarray) -> float:
    """Accuracy on triangles that the regression has not seen (6 rows are of one graph)."""
    fold = np.arange(len(x)) // 6 % 3
    right = 0
    for part in range(3):
        theta = regress(x[fold != part], by[fold != part], 0.3, 40)
        right += ((x[fold == part] @ theta > 0) == by[fold == part]).sum()
    return right / len(x)


def as_rule(theta: np.ndarray, own: np.ndarray, kind: str, power: float) -> Rule:
    after = memory(kind)
    table = theta.reshape(len(after), int(own.max()) + 1, 4)[:, own] ** (1 / power)
    count = np.concatenate([table, np.zeros((*table.shape[:3], 12))], axis=3)
    return Rule(count / max(count.max(), 1e-9), after, power, 1.0, f"{kind} power {power}")


def main() -> None:
    torch.set_num_threads(1)
    edges, by = triangles()
    tried = []
    for (name, own), kind, power in product(OWN.items(), MEMORIES, POWERS):
        if (int(own.max()) + 1) * len(memory(kind)) > MOST_CLASSES:
            continue
        x = design(edges, own, kind, power)
        tried.append((crossed(x, by) - 2e-4 * x.shape[1] / 4, name, kind, power))
    tried.sort(reverse=True)
    for entry in tried[:5]:
        print(*entry, flush=True)
    rules = []
    for _, name, kind, power in tried[:4]:
        theta = regress(design(edges, OWN[name], kind, power), by, 0.3, 300)
        rules.append(as_rule(theta, OWN[name], kind, power))
    rules.sort(key=lambda r: -accuracy(r, 5, 6) - accuracy(r, 8, 7, 20))
    rules = [rules[0], fit(rules[0], 100, (3, 5, 8), 0.02)]
    rules += [snap(r) for r in rules]
    teach(max(rules, key=lambda r: accuracy(r, 5, 6) + 2 * accuracy(r, 8, 7)), 900)


if __name__ == "__main__":
    main()
