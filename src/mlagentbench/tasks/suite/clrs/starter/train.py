"""Trains a message-passing network to point at predecessors on shortest paths."""

import json
import os
from pathlib import Path

import numpy as np
import torch
from graphs import predecessors, sample
from safetensors.torch import save_file
from submission.model import Model
from torch import nn
from torch.nn import functional

SUBMISSION = Path("submission")
VALIDATION_GRAPHS = 100
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
    print(f"validation accuracy={validate(model, max(settings['train_nodes']), rng):.4f}")
    (SUBMISSION / "config.json").write_text(json.dumps(config))
    save_file(model.cpu().state_dict(), SUBMISSION / "model.safetensors")


def train(model: nn.Module, settings: dict, rng: np.random.Generator) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=settings["learning_rate"])
    for step in range(1, settings["steps"] + 1):
        nodes = int(rng.choice(settings["train_nodes"]))
        weights, pointers = batch(settings["batch_size"], nodes, rng)
        asked = pointers >= 0
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(weights)[asked], pointers[asked])
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss={loss.item():.4f}", flush=True)


def batch(count: int, nodes: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    weights = sample(count, nodes, rng)
    pointers = predecessors(weights)
    return torch.from_numpy(weights).to(DEVICE), torch.from_numpy(pointers).to(DEVICE)


@torch.no_grad()
def validate(model: nn.Module, nodes: int, rng: np.random.Generator) -> float:
    """The share of right pointers on new graphs, as large as the largest of training."""
    weights, pointers = batch(VALIDATION_GRAPHS, nodes, rng)
    right = model.eval()(weights).argmax(dim=3) == pointers
    return right[pointers >= 0].float().mean().item()


if __name__ == "__main__":
    main()
