"""Trains a message-passing network on the labelled graphs to point at predecessors."""

import json
import os
from pathlib import Path

import numpy as np
import torch
from graphs import labelled
from safetensors.torch import save_file
from submission.model import Model
from torch import nn
from torch.nn import functional

SUBMISSION = Path("submission")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main() -> None:
    torch.set_num_threads(1)  # the network is too small to be shared between cores
    seed = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    settings = json.loads(Path("settings.json").read_text())
    config = {name: settings[name] for name in ("hidden", "triplet_features", "rounds")}
    model = Model(**config).to(DEVICE)
    train(model, settings, rng)
    print(f"validation accuracy={validate(model, settings['test_nodes']):.4f}")
    (SUBMISSION / "config.json").write_text(json.dumps(config))
    save_file(model.cpu().state_dict(), SUBMISSION / "model.safetensors")


def train(model: nn.Module, settings: dict, rng: np.random.Generator) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=settings["learning_rate"])
    graphs = {nodes: labelled(nodes) for nodes in settings["train_nodes"]}
    for step in range(1, settings["steps"] + 1):
        weights, pointers = graphs[int(rng.choice(settings["train_nodes"]))]
        chosen = rng.integers(len(weights), size=settings["batch_size"])
        inputs = torch.from_numpy(weights[chosen]).to(DEVICE)
        targets = torch.from_numpy(pointers[chosen]).to(DEVICE)
        asked = targets >= 0
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs)[asked], targets[asked])
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss={loss.item():.4f}", flush=True)


@torch.no_grad()
def validate(model: nn.Module, nodes: int) -> float:
    """The share of right pointers on the labelled graphs that are like the hidden ones."""
    weights, pointers = labelled(nodes)
    found = model.eval()(torch.from_numpy(weights).to(DEVICE)).argmax(dim=3).cpu().numpy()
    return float((found == pointers)[pointers >= 0].mean())


if __name__ == "__main__":
    main()
