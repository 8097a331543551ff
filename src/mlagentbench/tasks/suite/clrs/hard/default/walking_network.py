"""Learns through the ways themselves what counts, with several memories; keeps the best on 16 nodes."""

import numpy as np
import torch
from ways import Rule, accuracy, fit, memory, snap, teach

MEMORIES = ("none", "first", "parity", "prev:0", "prev:1")


def blank(kind: str, power: float) -> Rule:
    """All four lengths count equally, in all states and for all marks."""
    follow = memory(kind)
    count = np.zeros((*follow.shape, 16))
    count[..., :4] = 0.5
    return Rule(count, follow, power, 1.0, f"{kind} power {power}")


def merit(rule: Rule) -> float:
    return accuracy(rule, 8, 7) + accuracy(rule, 16, 10)


def main() -> None:
    torch.set_num_threads(1)
    tried = [fit(blank(kind, 1.0), 150, (3, 5), 0.08) for kind in MEMORIES]
    tried.sort(key=lambda rule: -accuracy(rule, 8, 7))
    for rule in tried:
        print(rule.name, f"{accuracy(rule, 8, 7):.4f}", flush=True)
    best = [Rule(r.count, r.follow, p, 1.0, r.name) for r in tried[:1] for p in (1.0, 4.0)]
    best = [fit(rule, 120, (3, 5, 8), 0.03) for rule in best]
    best += [snap(rule) for rule in best]
    teach(max([*best, tried[0]], key=merit), 900)


if __name__ == "__main__":
    main()
