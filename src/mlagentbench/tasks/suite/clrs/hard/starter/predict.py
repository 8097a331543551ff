"""Runs the submitted model on graphs: `python predict.py INPUTS OUTPUTS`.

Reads INPUTS/weights.npy, float32, (graphs, nodes, nodes, 6). Writes OUTPUTS/pointers.bin: one byte
for each pair of nodes of each graph, the node to which the model points. Grading uses this program.
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

SUBMISSION = Path("submission")
TRIPLETS = 2**20
"""Triplets of nodes that a model gets at a time: graphs are handed over in batches of that size."""
NO_NODE = 255
"""Where a logit is not a number, the model points nowhere."""


def main() -> None:
    inputs, outputs = map(Path, sys.argv[1:])
    torch.set_num_threads(1)  # sums do not depend on the number of cores then
    model = load_model(SUBMISSION)
    weights = torch.from_numpy(np.load(inputs / "weights.npy", allow_pickle=False))
    (outputs / "pointers.bin").write_bytes(predict(model, weights).numpy().tobytes())


def load_model(directory: Path) -> nn.Module:
    """The class Model of model.py, made with the settings of config.json, with its weights."""
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("model", directory / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.Model(**config)
    model.load_state_dict(load_file(directory / "model.safetensors"), strict=True)
    return model.eval()


@torch.no_grad()
def predict(model: nn.Module, weights: torch.Tensor) -> torch.Tensor:
    """The node with the largest logit for each pair, the first one of several; uint8."""
    nodes = weights.shape[1]
    found = []
    for batch in weights.split(max(1, TRIPLETS // nodes**3)):
        logits = model(batch)
        expected = (len(batch), nodes, nodes, nodes)
        if tuple(logits.shape) != expected:
            raise ValueError(f"the logits have the shape {tuple(logits.shape)}, not {expected}")
        pointers = logits.argmax(dim=3).to(torch.uint8)
        pointers[logits.isnan().any(dim=3)] = NO_NODE
        found.append(pointers)
    return torch.cat(found)


if __name__ == "__main__":
    main()
