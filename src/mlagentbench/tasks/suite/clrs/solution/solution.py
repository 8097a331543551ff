# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Trains a network on pairs of nodes; it is also told how long the paths are that it can know of.

After round r a pair can know of all paths of up to 2**r edges, so that is what its state is trained
to tell, besides the pointers.
"""

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
CONFIG = {"hidden": 32, "features": 8, "rounds": 3}
BATCH = 16
PEAK_RATE = 5e-3
STEPS_PER_SQUARED_NODE = 5
FAR = 2.5
"""What no path, or a longer one, counts as."""
VALIDATION_GRAPHS = 100
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main() -> None:
    torch.set_num_threads(1)  # the network is too small to be shared between cores
    seed = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    nodes = max(json.loads(Path("settings.json").read_text())["train_nodes"])
    model = Model(**CONFIG).to(DEVICE)
    train(model, nodes, STEPS_PER_SQUARED_NODE * nodes**2, rng)
    print(f"validation accuracy={validate(model, nodes, rng):.4f}")
    (SUBMISSION / "config.json").write_text(json.dumps(CONFIG))
    save_file(model.cpu().state_dict(), SUBMISSION / "model.safetensors")


def train(model: Model, nodes: int, steps: int, rng: np.random.Generator) -> None:
    """Adam; the learning rate rises to its peak and falls to nothing."""
    optimizer = torch.optim.Adam(model.parameters(), lr=PEAK_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    for step in range(1, steps + 1):
        weights, pointers = batch(BATCH, nodes, rng)
        asked = pointers >= 0
        states = model.states(weights)
        loss = functional.cross_entropy(model.logits(weights, states[-1])[asked], pointers[asked])
        for state, lengths in zip(states, lengths_by_round(weights, len(states)), strict=True):
            told = model.length(state).squeeze(3)
            loss = loss + functional.mse_loss(told, lengths) / len(states)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step} loss={loss.item():.4f}", flush=True)


def batch(count: int, nodes: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    weights = sample(count, nodes, rng)
    pointers = predecessors(weights)
    return torch.from_numpy(weights).to(DEVICE), torch.from_numpy(pointers).to(DEVICE)


def lengths_by_round(weights: torch.Tensor, rounds: int) -> list[torch.Tensor]:
    """Lengths of the shortest paths of up to 2, 4, 8, ... edges: what is to be learnt."""
    same = torch.eye(weights.shape[1], device=weights.device)
    lengths = torch.where(weights > 0, weights, FAR) * (1 - same)
    found = []
    for _ in range(rounds):
        lengths = (lengths[:, :, None] + lengths.transpose(1, 2)[:, None]).amin(3).clamp(max=FAR)
        found.append(lengths)
    return found


@torch.no_grad()
def validate(model: nn.Module, nodes: int, rng: np.random.Generator) -> float:
    """The share of right pointers on new graphs, as large as those of training."""
    weights, pointers = batch(VALIDATION_GRAPHS, nodes, rng)
    right = model.eval()(weights).argmax(dim=3) == pointers
    return right[pointers >= 0].float().mean().item()


if __name__ == "__main__":
    main()
