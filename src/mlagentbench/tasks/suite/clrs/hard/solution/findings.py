# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""By which rule ways are compared, as far as the labelled graphs show it.

- In graphs of three nodes a way has one edge or, but rarely, two. Which length counts for the
  first edge, and does that depend on its mark? Which counts for the second, and does that depend on
  the first one's mark?
- If so, a traveller is in a mode, and each mode has its length. In larger graphs, what does an edge
  with a certain mark make of each mode?
"""

import itertools
from collections.abc import Sequence

import numpy as np
from ways import LENGTHS, MARK_COLUMNS, MARKS, agreement

ATTEMPTS, SWEEPS = 12, 6
ENOUGH = 0.99
"""Of several right pointers any is given, so that hardly more than this can follow from a rule."""

Labelled = tuple[np.ndarray, np.ndarray]


def find(graphs: dict[int, Labelled]) -> dict:
    """From labelled graphs by their number of nodes, the least being 3."""
    triangles = detours(*graphs[min(graphs)])
    hypotheses = [
        hypothesis(*triangles, column)
        for hypothesis in (changes_later, changes_at_once)
        for column in range(MARK_COLUMNS)
    ]
    _, begun = max(hypotheses, key=lambda found: found[0])
    return complete(begun, graphs)


def detours(weights: np.ndarray, pointers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The three edges (i, j), (i, k) and (k, j), and whether the first is the cheapest way."""
    graph, i, j = np.nonzero((pointers >= 0) & (weights[..., LENGTHS] > 0))
    k = 3 - i - j
    there = (weights[graph, i, k, LENGTHS] > 0) & (weights[graph, k, j, LENGTHS] > 0)
    graph, i, j, k = (part[there] for part in (graph, i, j, k))
    edges = np.stack([weights[graph, i, j], weights[graph, i, k], weights[graph, k, j]])
    return edges, pointers[graph, i, j] == i


def changes_later(edges: np.ndarray, direct: np.ndarray, column: int) -> tuple[float, list[dict]]:
    """An edge's mark decides which length counts for the next one; one counts for all first ones."""
    groups = edges[1, :, LENGTHS + column].astype(int) - 1
    found = []
    for first in range(LENGTHS):
        right, second = second_lengths(edges, direct, edges[:2, :, first], groups)
        found.append((right, first, second))
    right, first, second = max(found)
    return right, [begin(first, second, column, after=False)]


def changes_at_once(edges: np.ndarray, direct: np.ndarray, column: int) -> tuple[float, list[dict]]:
    """An edge's mark decides which length counts for it, and both marks which for a second one."""
    marks = edges[..., LENGTHS + column].astype(int) - 1
    groups = MARKS * marks[1] + marks[2]
    each = np.arange(edges.shape[1])
    found = []
    for by_mark in itertools.product(range(LENGTHS), repeat=MARKS):
        if len(set(by_mark)) == 1:  # marks would decide nothing here
            continue
        chosen = np.array(by_mark)[marks[:2]]
        costs = np.stack([edges[edge, each, chosen[edge]] for edge in (0, 1)])
        right, _ = second_lengths(edges, direct, costs, groups)
        found.append((right, by_mark))
    right, by_mark = max(found)
    return right, [begin(first, by_mark, column, after=True) for first in sorted(set(by_mark))]


def begin(first: int, by_mark: Sequence[int], column: int, after: bool) -> dict:
    """A rule whose first mode has the length `first`; what other modes become is still open."""
    lengths = [first, *sorted(set(by_mark) - {first})]
    entry = [lengths.index(length) for length in by_mark]
    return {"after": after, "lengths": lengths, "marks": column, "next": [entry] * len(lengths)}


def second_lengths(
    edges: np.ndarray, direct: np.ndarray, costs: np.ndarray, groups: np.ndarray
) -> tuple[float, list[int]]:
    """The share of choices that follow, if in each group the best length counts for edge (k, j)."""
    follows = (edges[2, :, :LENGTHS] > (costs[0] - costs[1])[:, None]) == direct[:, None]
    counts = np.stack([np.bincount(groups, column) for column in follows.T])
    return counts.max(axis=0).sum() / len(direct), counts.argmax(axis=0).tolist()


def complete(begun: list[dict], graphs: dict[int, Labelled]) -> dict:
    """Change one entry of the table at a time, as long as more pointers follow from the rule."""
    rng = np.random.default_rng(0)
    best, best_score = begun[0], 0.0
    for _, rule in itertools.product(range(ATTEMPTS), begun):
        modes = len(rule["lengths"])
        places = list(itertools.product(range(1, modes), range(MARKS)))
        table = np.array([rule["next"][0], *rng.integers(modes, size=(modes - 1, MARKS))])
        for nodes in sorted(graphs)[1:]:
            table, score = climb(rule, table, places, graphs[nodes], rng)
        if score > best_score:
            best, best_score = rule | {"next": table.tolist()}, score
        if score > ENOUGH:
            break
    return best


def climb(
    rule: dict, table: np.ndarray, places: list, graphs: Labelled, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    score = agreement(*graphs, rule | {"next": table})
    for _ in range(SWEEPS):
        before = score
        for mode, mark in rng.permutation(places).reshape(-1, 2):
            for value in set(range(len(table))) - {table[mode, mark]}:
                changed = table.copy()
                changed[mode, mark] = value
                new = agreement(*graphs, rule | {"next": changed})
                if new > score:
                    table, score = changed, new
        if score == before:
            break
    return table, score
