"""Searches a grammar of rules on the graphs of 3 nodes, checks the best on all; teaches a network."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from graphs import labelled
from ways import FIRST, SECOND, Rule, accuracy, features, memory, teach

POWERS = (1.0, 2.0, 12.0)
FACTORS = (0.0, 0.25, 0.5, 2.0, 3.0, 4.0, 10.0)


@dataclass
class Draft:
    """A base that counts, and changes to it: under a condition, a factor or another length."""

    base: str
    power: float
    changes: tuple = ()
    score: float = 0.0


def subsets(most: int) -> list[str]:
    return ["".join(map(str, s)) for n in range(1, most + 1) for s in combinations(range(4), n)]


def conditions() -> list[tuple[str, str]]:
    """(memory, test) of all conditions."""
    found = [("none", f"own:{c}:{s}") for c in "01" for s in subsets(3)]
    found += [("none", f"marks:{test}") for test in ("same", "less", "more", "even")]
    for c in "01":
        found += [(f"prev:{c}", f"state:{s}") for s in subsets(3)]
        found += [
            (f"prev:{c}", f"{test}:{d}")
            for test in ("same", "other", "up", "down", "near")
            for d in "01"
        ]
        for s in subsets(2):
            found += [
                (f"latch:{c}:{s}", "on"),
                (f"toggle:{c}:{s}", "on"),
                (f"toggle:{c}:{s}", "after"),
            ]
            found += [(f"latch:{c}:{s}", "after")]
    return [*found, ("parity", "on"), ("first", "on"), ("first", "off")]


def holds(kind: str, test: str) -> np.ndarray:
    """Where the condition holds, [state, mark, mark]."""
    after = memory(kind)
    states = np.arange(len(after))[:, None, None]
    what, _, rest = test.partition(":")
    if what == "own":
        column, members = rest.split(":")
        own = np.isin(FIRST if column == "0" else SECOND, [int(m) for m in members])
        return np.broadcast_to(own, after.shape)
    if what == "marks":
        table = {"same": FIRST == SECOND, "less": FIRST < SECOND, "more": FIRST > SECOND}
        return np.broadcast_to(table.get(rest, (FIRST + SECOND) % 2 == 0), after.shape)
    if what == "state":
        return np.broadcast_to(np.isin(states - 1, [int(m) for m in rest]), after.shape)
    if what in ("on", "off", "after"):
        truth = {"on": states == 1, "off": states == 0, "after": after == 1}[what]
        return np.broadcast_to(truth, after.shape)
    step = np.where(states > 0, (FIRST if rest == "0" else SECOND) + 1 - states, 99)
    table = {"same": step == 0, "other": (step != 0) & (step < 9), "up": (step > 0) & (step < 9)}
    return {**table, "down": step < 0, "near": np.abs(step) == 1}[what]


def base_table(base: str) -> tuple[str, np.ndarray]:
    """The memory and what counts, of a base."""
    kind, *numbers = base.split(":")
    if kind in ("own", "prev"):
        column = FIRST if numbers[0] == "0" else SECOND
        if kind == "own":
            return "none", np.eye(16)[column][None]
        rows = [np.eye(16)[column]] + [np.broadcast_to(np.eye(16)[s], (4, 4, 16)) for s in range(4)]
        return f"prev:{numbers[0]}", np.stack(rows)
    count = np.zeros(16)
    count[[int(n) for n in numbers]] = 1.0
    return "none", np.broadcast_to(count, (1, 4, 4, 16))


def build(draft: Draft) -> Rule | None:
    """The draft as a table; states of different memories are multiplied."""
    kind, count = base_table(draft.base)
    kinds = list(dict.fromkeys(k for k in (kind, *(c[0] for c in draft.changes)) if k != "none"))
    sizes = [len(memory(k)) for k in kinds]
    total = int(np.prod(sizes)) if sizes else 1
    if total > 10:
        return None
    digits = np.stack(np.unravel_index(np.arange(total), sizes)) if sizes else np.zeros((1, 1), int)
    follow = np.zeros((total, 4, 4), int)
    for place, k in enumerate(kinds):
        follow = follow * sizes[place] + memory(k)[digits[place]]
    own = {k: digits[place] for place, k in enumerate(kinds)}
    nothing = np.zeros(total, int)
    table = np.array(count[own.get(kind, nothing)], dtype=float)
    for k, test, action in draft.changes:
        where = holds(k, test)[own.get(k, nothing)]
        changed = (
            np.eye(16)[int(action[1:])] if action[0] == "L" else table[where] * float(action[1:])
        )
        table[where] = changed
    return Rule(table, follow, draft.power, 1.0, str(draft))


class Triangles:
    """Ordered pairs of the graphs of 3 nodes with all edges: directly, or by the third node?"""

    def __init__(self) -> None:
        weights, pointers = labelled(3)
        full = (weights[..., 4] > 0).sum(axis=(1, 2)) == 6
        weights, pointers = weights[full], pointers[full]
        seen = features(torch.from_numpy(weights)).numpy()
        triples = [(i, j, 3 - i - j) for i in range(3) for j in range(3) if i != j]
        self.edges = []
        for way in ((0, 1), (0, 2), (2, 1)):
            pairs = [(t[way[0]], t[way[1]]) for t in triples]
            x = np.concatenate([seen[:, a, b] for a, b in pairs])
            marks = np.concatenate([weights[:, a, b, 4:6] for a, b in pairs]).astype(int) - 1
            self.edges.append((x, marks[:, 0], marks[:, 1]))
        self.around = np.concatenate([pointers[:, i, j] == k for i, j, k in triples])

    def score(self, rule: Rule) -> float:
        (x, m, n), (y, a, b), (z, c, d) = self.edges
        direct = np.einsum("rf,rf->r", rule.count[0, m, n], x) ** rule.power
        one = np.einsum("rf,rf->r", rule.count[0, a, b], y) ** rule.power
        two = np.einsum("rf,rf->r", rule.count[rule.follow[0, a, b], c, d], z) ** rule.power
        return float(((one + two < direct) == self.around).mean())


def rated(drafts: list[Draft], triangles: Triangles, most: int) -> list[Draft]:
    """The best of the drafts."""
    found = []
    for draft in drafts:
        rule = build(draft)
        if rule is not None:
            found.append(replace(draft, score=triangles.score(rule) - 0.002 * len(draft.changes)))
    return sorted(found, key=lambda d: -d.score)[:most]


def extended(drafts: list[Draft], actions: list[str]) -> list[Draft]:
    tests = conditions()
    return [
        replace(d, changes=(*d.changes, (k, test, action)))
        for d in drafts
        for k, test in tests
        for action in actions
    ]


def final(drafts: list[Draft]) -> Rule:
    """The rule whose ways agree best with all labelled graphs."""
    rules = [build(d) for d in drafts]
    few = sorted(rules, key=lambda r: -accuracy(r, 5, 6, 40) - accuracy(r, 8, 7, 10))[:5]
    return max(few, key=lambda r: accuracy(r, 3, 4) + accuracy(r, 5, 6) + accuracy(r, 8, 8))


def main() -> None:
    torch.set_num_threads(1)
    triangles = Triangles()
    singles = [f"f:{n}" for n in range(4)] + ["own:0", "own:1", "prev:0", "prev:1"]
    pairs = [f"f:{n}" for n in range(4, 16)]
    pairs += [f"f:{a}:{b}" for a, b in combinations(range(4), 2)] + ["f:0:1:2:3"]
    plain = rated([Draft(b, p) for b in singles + pairs for p in POWERS], triangles, 99)
    powers = {p: max(d.score for d in plain if d.power == p) for p in POWERS}
    likely = sorted(POWERS, key=lambda p: -powers[p])[:2]
    start = [d for d in plain if d.power in likely]
    start = [d for d in start if d.base in singles[:4]] + start[:6]
    start = list({(d.base, d.power): d for d in start}.values())
    lengths = [f"L{n}" for n in range(4)]
    pool, beam = plain[:4], start
    for width in (12, 6, 4):
        coarse = ["x0.5", "x2", "x4", *lengths]
        beam = rated(extended(beam, coarse), triangles, width)
        refined = [
            replace(d, changes=(*d.changes[:-1], (*d.changes[-1][:2], f"x{f}")))
            for d in beam
            for f in FACTORS
        ]
        beam = rated(beam + refined, triangles, width)
        pool += beam
        print(beam[0], flush=True)
        if beam[0].score > 0.995:
            break
    teach(final(sorted(pool, key=lambda d: -d.score)[:16]))


if __name__ == "__main__":
    main()
