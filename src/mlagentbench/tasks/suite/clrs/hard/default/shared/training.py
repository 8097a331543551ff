# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Trains the network on pairs of nodes, with the lengths of ways besides pointers if there are any."""

import json
from pathlib import Path

import numpy as np
import torch
from graphs import labelled
from safetensors.torch import save_file
from submission.model import Model
from torch import nn
from torch.nn import functional

SUBMISSION = Path("submission")
CONFIG = {"hidden": 32, "features": 8, "rounds": 3}
BATCH, PEAK_RATE = 16, 5e-3


def train(graphs: list, steps: int, rng: np.random.Generator) -> Model:
    """On sets of graphs: weights, pointers and, by rounds, lengths of ways."""
    model = Model(**CONFIG)
    optimizer = torch.optim.Adam(model.parameters(), lr=PEAK_RATE, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    for _ in range(steps):
        weights, pointers, lengths = graphs[rng.integers(len(graphs))]
        chosen = rng.integers(len(weights), size=BATCH)
        inputs, targets = (torch.from_numpy(part[chosen]) for part in (weights, pointers))
        asked = targets >= 0
        states = model.states(inputs)
        loss = functional.cross_entropy(model.logits(inputs, states[-1])[asked], targets[asked])
        for state, told in zip(states, lengths, strict=False):
            truth = torch.from_numpy(told[chosen])
            loss = loss + functional.mse_loss(model.length(state).squeeze(3), truth) / len(states)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def validate_and_save(model: Model, nodes: int) -> None:
    weights, pointers = labelled(nodes)
    found = model.eval()(torch.from_numpy(weights)).argmax(dim=3).numpy()
    print(f"validation accuracy={(found == pointers)[pointers >= 0].mean():.4f}")
    (SUBMISSION / "config.json").write_text(json.dumps(CONFIG))
    save_file(model.state_dict(), SUBMISSION / "model.safetensors")
