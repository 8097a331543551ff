# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Cheapest ways by a rule with modes: what an edge costs depends on the marks of those before it.

A rule is a dictionary: `lengths` has the column of lengths that counts in each mode, `marks` the
column of marks that changes the mode, and `next[mode][mark - 1]` the mode after an edge. A way
begins in mode 0. What counts for an edge is the mode before it or, if `after`, the one after it.
"""

import itertools

import numpy as np

LENGTHS, MARK_COLUMNS, MARKS = 4, 2, 4


def costs_by_edges(weights: np.ndarray, rule: dict, most: int) -> list[np.ndarray]:
    """What ways of up to 0, 1, ... edges cost, [mode, graph, i, j], float64."""
    graphs, nodes, _, _ = weights.shape
    joins = transitions(weights, rule)
    best = np.full((len(rule["lengths"]), graphs, nodes, nodes), np.inf)
    best[0, :, np.arange(nodes), np.arange(nodes)] = 0
    found = [best]
    for _ in range(most):
        best = found[-1].copy()
        for start, end, edges in joins:
            ways = found[-1][start][:, :, :, None] + edges[:, None]
            best[end] = np.minimum(best[end], ways.min(axis=2))
        found.append(best)
        if (best == found[-2]).all():
            break
    return found + found[-1:] * (most + 1 - len(found))


def transitions(weights: np.ndarray, rule: dict) -> list[tuple[int, int, np.ndarray]]:
    """The modes before and after an edge, and what the edges that lead so cost."""
    there = weights[..., LENGTHS] > 0
    marks = np.maximum(weights[..., LENGTHS + rule["marks"]].astype(int) - 1, 0)
    found = []
    for start, end in itertools.product(range(len(rule["lengths"])), repeat=2):
        leads = there & (np.array(rule["next"][start])[marks] == end)
        lengths = weights[..., rule["lengths"][end if rule["after"] else start]].astype(float)
        if leads.any():
            found.append((start, end, np.where(leads, lengths, np.inf)))
    return found


def pointers_by(weights: np.ndarray, rule: dict, best: np.ndarray) -> np.ndarray:
    """The last node but one of a cheapest way; -1 where there is none."""
    nodes = np.arange(weights.shape[1])
    through = np.full((*best.shape[1:], len(nodes)), np.inf)
    for start, _, edges in transitions(weights, rule):
        ways = best[start][:, :, :, None] + edges[:, None]
        through = np.minimum(through, ways.transpose(0, 1, 3, 2))
    found = through.argmin(axis=3)
    found[~np.isfinite(through).any(axis=3)] = -1
    found[:, nodes, nodes] = -1
    return found


def agreement(weights: np.ndarray, pointers: np.ndarray, rule: dict) -> float:
    """The share of the given pointers that follow from the rule."""
    best = costs_by_edges(weights, rule, 2 * weights.shape[1])[-1]
    return float((pointers_by(weights, rule, best) == pointers)[pointers >= 0].mean())
