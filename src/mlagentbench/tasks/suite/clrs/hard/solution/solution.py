# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Finds by which rule ways are compared, labels graphs by it, and trains a network on them.

The graphs have lengths like the hidden ones. The network is first told what ways of up to r edges
cost, and learns to tell what those of up to r + 1 edges do; then it goes all the way by itself. Some
initial weights lead nowhere; then others are tried.
"""

import json
import os
from pathlib import Path

import numpy as np
import torch
from findings import find
from graphs import labelled, sample
from safetensors.torch import save_file
from submission.model import Model
from torch import nn
from torch.nn import functional
from ways import costs_by_edges, pointers_by

SUBMISSION = Path("submission")
ROUNDS = 8
GRAPHS, BATCH = 1024, 16
FIRST, THEN = (600, 0.04), (250, 0.003)
"""Steps and peak learning rates, with given costs and without."""
ATTEMPTS, ENOUGH, SHOWN = 3, 0.95, 64
"""Initial weights are tried until this share of the pointers in the first graphs is learnt."""
FAR = 2.0
"""What no way counts as; the unit is such that nearly all ways cost less."""


def main() -> None:
    torch.set_num_threads(1)  # the network is too small to be shared between cores
    seed = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    settings = json.loads(Path("settings.json").read_text())
    found = find({nodes: labelled(nodes) for nodes in settings["train_nodes"]})
    print("findings", json.dumps(found))
    train_and_save(found, settings, rng)


def train_and_save(rule: dict, settings: dict, rng: np.random.Generator) -> None:
    weights = training_graphs(settings, rng)
    costs = np.stack(costs_by_edges(weights, rule, ROUNDS))
    unit = float(np.quantile(costs[-1][np.isfinite(costs[-1])], 0.99)) / FAR
    config = {
        "lengths": sorted(set(rule["lengths"])), "marks": [rule["marks"]],
        "modes": len(rule["lengths"]), "rounds": ROUNDS, "unit": unit,
    }  # fmt: skip
    graphs = torch.from_numpy(weights)
    states = torch.from_numpy(-np.minimum(costs / unit, FAR)).float().permute(0, 2, 3, 4, 1)
    pointers = torch.from_numpy(pointers_by(weights, rule, costs[-1]))
    tried = []
    while len(tried) < ATTEMPTS and max((learnt for learnt, _ in tried), default=0.0) < ENOUGH:
        model = Model(**config)
        train(model, graphs, states, pointers, rng)
        tried.append((accuracy(model, graphs[:SHOWN], pointers[:SHOWN]), model))
    _, model = max(tried, key=lambda pair: pair[0])
    hidden_like = map(torch.from_numpy, labelled(settings["test_nodes"]))
    print(f"validation accuracy={accuracy(model, *hidden_like):.4f}")
    (SUBMISSION / "config.json").write_text(json.dumps(config))
    save_file(model.state_dict(), SUBMISSION / "model.safetensors")


def training_graphs(settings: dict, rng: np.random.Generator) -> np.ndarray:
    return sample(GRAPHS, max(settings["train_nodes"]), rng, settings["hidden_scale"])


def train(
    model: Model,
    weights: torch.Tensor,
    states: torch.Tensor,
    pointers: torch.Tensor,
    rng: np.random.Generator,
) -> None:
    for guided, (steps, rate) in ((True, FIRST), (False, THEN)):
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
        for _ in range(steps):
            chosen = torch.from_numpy(rng.integers(len(weights), size=BATCH))
            known, truth = model.describe(weights[chosen]), states[:, chosen]
            if guided:
                done = int(rng.integers(ROUNDS))
                told = [(model.begin(known), truth[0])]
                told.append((model.step(known, truth[done]), truth[done + 1]))
                last = truth[-1]
            else:
                told = [(model.begin(known), truth[0])]
                for costs in truth[1:]:
                    told.append((model.step(known, told[-1][0]), costs))
                last = told[-1][0]
            scale = 30.0 if guided else 3.0 / len(told)
            loss = scale * sum(functional.mse_loss(*pair) for pair in told)
            asked = pointers[chosen] >= 0
            logits = model.logits(known, last)[asked]
            loss = loss + functional.cross_entropy(logits, pointers[chosen][asked])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()


@torch.no_grad()
def accuracy(model: nn.Module, weights: torch.Tensor, pointers: torch.Tensor) -> float:
    found = model.eval()(weights).argmax(dim=3)
    return (found == pointers)[pointers >= 0].double().mean().item()


if __name__ == "__main__":
    main()
