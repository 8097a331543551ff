"""The hard tier: ways through a graph whose edges cost what the edges before them decide.

A traveller is in one of three modes, and the mark of each edge changes the mode. Each mode has a
length of its own, of the four that an edge has, and an edge costs its length of the traveller's
mode. So the cheapest way is not made of cheapest ways, and what a way costs shows only to those who
follow all of its marks. Every draw has another rule:

| drawn | from |
|---|---|
| the mode that counts for an edge | the one before its mark changes it, or the one after |
| lengths of the modes, in order | three of the four; the other one is a decoy |
| mark that changes the mode | one of the two; the other one is a decoy |
| how it does, in evaluation | counter: each mark adds 0, 1 or 2 to the mode, modulo 3; |
| | swaps: each mark permutes the modes, and the order of marks matters |
| how it does, in training | returns: from the other modes two marks lead back to the first; |
| | table: any change, of which two marks forget which of two modes it was |
| scale of the hidden lengths | a quarter to four times that of the labelled graphs |

Whatever the mechanism, each mode is one edge away from the first one. Hidden graphs are larger, and
their ways have more edges. All lengths are multiples of 2**-14, so costs are exact.
"""

import itertools
import json
from pathlib import Path

import numpy as np

LENGTHS, MARKS, MARK_COLUMNS, MODES = 4, 4, 2, 3
UNIT, SHORTEST = 2.0**-14, 0.02
PRESENT, LEAST_REACH, NODES_PER_REACH = 0.9, 2, 5
SCALES = (0.25, 0.5, 2.0, 4.0)
LABELLED = {3: 200, 5: 80, 8: 40}
"""How many graphs of each size are labelled."""
HIDDEN_NODES, HIDDEN_GRAPHS, TARGET_GRAPHS = 16, 120, 6
SETTINGS = {
    "hidden": 32, "triplet_features": 8, "rounds": 2,
    "batch_size": 16, "learning_rate": 0.001, "steps": 150,
}  # fmt: skip
KINDS = {"eval": ("counter", "swaps"), "train": ("returns", "table")}


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    rule = draw_rule(rng, pool)
    scale = float(rng.choice(SCALES))
    settings = {"train_nodes": list(LABELLED), "test_nodes": HIDDEN_NODES, "hidden_scale": scale}
    (public / "settings.json").write_text(json.dumps(settings | SETTINGS, indent=2) + "\n")
    for nodes, count in LABELLED.items():
        write_labelled(public, sample(count, nodes, rng, 1.0), rule, rng)
    write_labelled(public, sample(TARGET_GRAPHS, HIDDEN_NODES, rng, scale), rule, rng)
    hidden = sample(HIDDEN_GRAPHS, HIDDEN_NODES, rng, scale)
    right = right_pointers(hidden, rule)
    (private / "inputs").mkdir()
    np.save(private / "inputs" / "weights.npy", hidden)
    np.save(private / "right.npy", np.packbits(right, axis=3))
    rules = {name: accuracy(pointers, right) for name, pointers in simple_rules(hidden).items()}
    (private / "simple_rules.json").write_text(json.dumps(rules, indent=2) + "\n")
    mechanisms = rule | {"hidden_scale": scale}
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=2) + "\n")


def draw_rule(rng: np.random.Generator, pool: str) -> dict:
    """The length of each mode, the column of marks, and the mode after mode s and mark m + 1."""
    kind = str(rng.choice(KINDS[pool]))
    draw = {"counter": counter, "swaps": swaps, "returns": returns, "table": table}[kind]
    following = draw(rng)
    while set(following[0]) != set(range(MODES)):
        following = draw(rng)
    return {
        "kind": kind,
        "after": bool(rng.integers(2)),
        "lengths": rng.permutation(LENGTHS)[:MODES].tolist(),
        "marks": int(rng.integers(MARK_COLUMNS)),
        "next": following.tolist(),
    }


def counter(rng: np.random.Generator) -> np.ndarray:
    steps = rng.permutation([0, 1, 2, rng.integers(1, MODES)])
    return (np.arange(MODES)[:, None] + steps) % MODES


def swaps(rng: np.random.Generator) -> np.ndarray:
    """At least two marks exchange two modes, so that their order matters; few do nothing."""
    orders = np.array(list(itertools.permutations(range(MODES))))
    exchanges = (orders == np.arange(MODES)).sum(axis=1) == 1
    while True:
        chosen = rng.choice(len(orders), size=MARKS, replace=False)
        stays = (orders[chosen] == np.arange(MODES)).sum(axis=0)
        if exchanges[chosen].sum() >= 2 and stays.max() <= 1:
            return orders[chosen].T


def returns(rng: np.random.Generator) -> np.ndarray:
    """From other modes than the first, two marks lead back, one to the third, and one nowhere."""
    while True:
        rows = [[0, 1, 2, rng.integers(1, MODES)], [0, 0, 2, 1], [0, 0, 1, 2]]
        found = np.array([rng.permutation(row) for row in rows])
        agree = (found[1:] == found[0]).sum(axis=1)
        if min(modes_after(found)) == 2 and agree.max() <= 1:
            return found


def table(rng: np.random.Generator) -> np.ndarray:
    """After two of the marks modes can still be told apart, after the others two of them cannot."""
    while True:
        found = rng.integers(MODES, size=(MODES, MARKS))
        stays = (found == np.arange(MODES)[:, None]).sum(axis=1)
        if sorted(modes_after(found)) == [2, 2, MODES, MODES] and stays.max() <= 1:
            return found


def modes_after(following: np.ndarray) -> list[int]:
    """To how many modes each mark leads."""
    return [len(set(column)) for column in following.T.tolist()]


def sample(count: int, nodes: int, rng: np.random.Generator, scale: float) -> np.ndarray:
    """As in the agent's graphs.py: (count, nodes, nodes, 6), float32, 0 where there is no edge."""
    shape = (count, nodes, nodes)
    places = np.argsort(rng.random((count, nodes)), axis=1)
    apart = np.abs(places[:, :, None] - places[:, None])
    apart = np.minimum(apart, nodes - apart)
    near = apart <= max(LEAST_REACH, nodes // NODES_PER_REACH)
    drawn = rng.random((*shape, LENGTHS))
    lengths = SHORTEST + (1 - SHORTEST) * drawn * drawn * drawn
    lengths = np.maximum(np.round(lengths * scale / UNIT), 1) * UNIT
    marks = rng.integers(1, MARKS + 1, size=(*shape, MARK_COLUMNS))
    edges = near & (rng.random(shape) < PRESENT)
    upper = np.triu(np.ones((nodes, nodes), dtype=bool), 1)[:, :, None]
    drawn = np.concatenate([lengths, marks], axis=3) * (edges[..., None] & upper)
    return (drawn + drawn.transpose(0, 2, 1, 3)).astype(np.float32)


def write_labelled(public: Path, weights: np.ndarray, rule: dict, rng: np.random.Generator) -> None:
    """Where several pointers are right, any of them is given; -1 where none is asked for."""
    right = right_pointers(weights, rule)
    pointers = (right * rng.random(right.shape)).argmax(axis=3)
    pointers[~right.any(axis=3)] = -1
    nodes = weights.shape[1]
    np.save(public / f"weights_{nodes}.npy", weights)
    np.save(public / f"pointers_{nodes}.npy", pointers.astype(np.int8))


def right_pointers(weights: np.ndarray, rule: dict) -> np.ndarray:
    """Whether a cheapest way from i to j ends with the edge from k, at [graph, i, j, k]."""
    graphs, nodes, _, _ = weights.shape
    joins = transitions(weights, rule)
    best = np.full((MODES, graphs, nodes, nodes), np.inf)
    best[0, :, np.arange(nodes), np.arange(nodes)] = 0
    before = None
    while before is None or not (best == before).all():
        before = best.copy()
        for start, end, edges in joins:
            ways = before[start][:, :, :, None] + edges[:, None]
            best[end] = np.minimum(best[end], ways.min(axis=2))
    through = [best[start][:, :, :, None] + edges[:, None] for start, _, edges in joins]
    through = np.min(through, axis=0).transpose(0, 1, 3, 2)
    right = (through == best.min(axis=0)[..., None]) & np.isfinite(through)
    return right & ~np.eye(nodes, dtype=bool)[:, :, None]


def transitions(weights: np.ndarray, rule: dict) -> list[tuple[int, int, np.ndarray]]:
    """The modes before and after an edge, and what the edges that lead so cost, else infinity."""
    there = weights[..., LENGTHS] > 0
    marks = np.maximum(weights[..., LENGTHS + rule["marks"]].astype(int) - 1, 0)
    found = []
    for start, end in itertools.product(range(MODES), repeat=2):
        leads = there & (np.array(rule["next"])[start][marks] == end)
        lengths = weights[..., rule["lengths"][end if rule["after"] else start]].astype(float)
        found.append((start, end, np.where(leads, lengths, np.inf)))
    return found


def simple_rules(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Pointers that follow from a look at single edges; trivial.py has the same as models."""
    nodes = np.arange(weights.shape[1])
    edges = weights[..., LENGTHS] > 0
    source = np.broadcast_to(nodes[:, None], edges.shape)
    rules = {"source": source}
    for column in range(LENGTHS):
        cheapest = np.where(edges, weights[..., column], np.inf).argmin(axis=1)[:, None]
        rules[f"edge_or_cheapest_{column}"] = np.where(edges, source, cheapest)
    return rules


def accuracy(pointers: np.ndarray, right: np.ndarray) -> float:
    chosen = np.take_along_axis(right, pointers[..., None], axis=3)[..., 0]
    return float(chosen[right.any(axis=3)].mean())
