"""Trains honest models for the task clrs, as different as they may be; runs in its environment.

`python train.py OUT SEED ARCHITECTURE...` writes a submission to OUT/ARCHITECTURE-SEED for each
that is not there yet. A minute on one core trains all of them.
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import torch
from graphs import HIDDEN_PROBABILITY, predecessors, sample  # the starter's
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

HERE = Path(__file__).parent
TASK = HERE.parents[1] / "src" / "mlagentbench" / "tasks" / "suite" / "clrs"
NODES, GRAPHS = 11, 16
STEPS = {"reference": 400}
OTHER_STEPS = 350
PEAK_RATE = 5e-3
CONFIGS = {
    "reference": {"hidden": 32, "features": 8, "rounds": 3},
    "attention": {"hidden": 32, "heads": 8, "rounds": 3},
    "walks": {"hidden": 32, "messages": 16, "rounds": 5},
    "recurrent": {"hidden": 32, "features": 16, "rounds": 3},
    "products": {"hidden": 32, "features": 16, "rounds": 3},
}
REFERENCE = TASK / "solution" / "submission" / "model.py"


def main() -> None:
    out, seed, *names = sys.argv[1:]
    torch.set_num_threads(1)
    for name in names:
        directory = Path(out) / f"{name}-{seed}"
        if not (directory / "model.safetensors").exists():
            write(directory, name, int(seed))


def write(directory: Path, name: str, seed: int) -> None:
    source = REFERENCE if name == "reference" else HERE / f"{name}.py"
    model = train(source, CONFIGS[name], STEPS.get(name, OTHER_STEPS), seed)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model.py").write_text(source.read_text())
    (directory / "config.json").write_text(json.dumps(CONFIGS[name]))
    tensors = {key: value.contiguous() for key, value in model.state_dict().items()}
    save_file(tensors, directory / "model.safetensors")


def train(source: Path, config: dict, steps: int, seed: int) -> nn.Module:
    """Adam; the learning rate rises to its peak and falls to nothing."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    spec = importlib.util.spec_from_file_location("model", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.Model(**config)
    optimizer = torch.optim.Adam(model.parameters(), lr=PEAK_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    for _ in range(steps):
        weights = sample(GRAPHS, NODES, rng, (HIDDEN_PROBABILITY,))
        pointers = torch.from_numpy(predecessors(weights))
        asked = pointers >= 0
        optimizer.zero_grad()
        logits = model(torch.from_numpy(weights))
        functional.cross_entropy(logits[asked], pointers[asked]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


if __name__ == "__main__":
    main()
