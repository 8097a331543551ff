# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Tries many ways of comparing paths, labels graphs by the best of them, and trains a network.

An edge costs a sum, product or maximum of some of its lengths, the mark may make it dearer, each
edge may cost something besides, and costs are added up or the largest counts.
"""

import itertools
import json
import os
from pathlib import Path

import numpy as np
import torch
from graphs import labelled, sample
from training import CONFIG, train, validate_and_save

STEPS, GRAPHS = 500, 512
FEES = (0.0, 0.03, 0.1, 0.3, 1.0)
FACTORS = (0.3, 3.0)
FAR = 4.0


def main() -> None:
    torch.set_num_threads(1)
    seed = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    settings = json.loads(Path("settings.json").read_text())
    largest = max(settings["train_nodes"])
    given, pointers = labelled(largest)
    asked = pointers >= 0

    def agreement(rule: tuple) -> float:
        return float((solve(given, rule)[1] == pointers)[asked].mean())

    rule = max(rules(), key=agreement)
    marked = [(*rule[:3], (column, mark, factor)) for column, mark, factor in itertools.product(
        (0, 1), (1, 2, 3, 4), FACTORS)]  # fmt: skip
    rule = max([rule, *marked], key=agreement)
    print(f"best rule {rule}: {agreement(rule):.4f} of the pointers follow from it")
    weights = sample(GRAPHS, largest, rng, settings["hidden_scale"])
    lengths, found = solve(weights, rule)
    unit = np.median(lengths[-1][np.isfinite(lengths[-1])])
    told = [np.minimum(part / unit, FAR).astype(np.float32) for part in lengths]
    model = train([(weights, found, told)], STEPS, rng)
    validate_and_save(model, settings["test_nodes"])


def rules() -> list[tuple]:
    columns = [set_ for size in (1, 2, 3, 4) for set_ in itertools.combinations(range(4), size)]
    combined = [(set_, how) for set_ in columns for how in ("sum", "product", "max")]
    found = []
    for set_, how in combined:
        found += [((set_, how), "sum", fee, None) for fee in FEES]
        found.append(((set_, how), "max", 0.0, None))
    return found


def solve(weights: np.ndarray, rule: tuple) -> tuple[list[np.ndarray], np.ndarray]:
    """Costs of ways of up to 2, 4, 8, ... edges, and the pointers."""
    (columns, how), along, fee, marked = rule
    chosen = weights[..., list(columns)].astype(float)
    edges = {"sum": chosen.sum, "product": chosen.prod, "max": chosen.max}[how](axis=3)
    if marked is not None:
        column, mark, factor = marked
        edges = np.where(weights[..., 4 + column] == mark, factor * edges, edges)
    there = weights[..., 4] > 0
    edges = np.where(there, edges + fee * edges[there].mean(), np.inf)
    nodes = np.arange(weights.shape[1])
    join = np.add if along == "sum" else np.maximum
    best, found = edges.copy(), []
    best[:, nodes, nodes] = 0
    for _ in range(CONFIG["rounds"]):
        best = join(best[:, :, :, None], best[:, None]).min(axis=2)
        found.append(best)
    through = join(best[:, :, :, None], edges[:, None]).transpose(0, 1, 3, 2)
    pointers = through.argmin(axis=3)
    pointers[~np.isfinite(best)] = -1
    pointers[:, nodes, nodes] = -1
    return found, pointers


if __name__ == "__main__":
    main()
