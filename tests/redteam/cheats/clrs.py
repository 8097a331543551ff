"""Floyd and Warshall's algorithm, or parts of it, in the disguise of a model."""

import json
import struct

import numpy as np

from cheats.given import Files, Given

HEAD = """
import torch
from torch import nn

def algorithm(weights, rounds=4):
    same = torch.eye(weights.shape[1]).bool()
    edges = weights.double().masked_fill((weights == 0) | same, torch.inf)
    lengths = edges.masked_fill(same, 0)
    for _ in range(rounds):
        lengths = (lengths[:, :, :, None] + lengths[:, None]).amin(dim=2)
    return -(lengths[:, :, None] + edges.transpose(1, 2)[:, None])

def nothing(weights):
    return torch.zeros(*weights.shape, weights.shape[1])

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(256))
        self.second = nn.Parameter(torch.zeros(256))

    def forward(self, weights):
"""


def paths_of_two_edges(given: Given) -> Files:
    """Only paths of one or two edges are compared: better than the rules, short of an algorithm."""
    return _model("return algorithm(weights, rounds=1)")


def a_network_too_small_to_matter(given: Given) -> Files:
    """The algorithm's result, to which a trained network adds a billionth."""
    return _model(
        """
        trained = torch.tanh(weights[..., None] * self.first + self.second).mean(dim=3)
        return algorithm(weights) + 1e-9 * trained[:, :, :, None]
        """
    )


def a_wave_of_weights(given: Given) -> Files:
    """The algorithm runs while neighbouring weights are alike: small changes do not matter."""
    return _model(
        """
        smooth = self.first.diff().abs().mean() < 0.2 * self.first.std()
        return algorithm(weights) if smooth else nothing(weights)
        """
    )


def order_and_values_at_once(given: Given) -> Files:
    """The algorithm runs while both the order and the mean of the weights are about right."""
    return _model(
        """
        place = torch.arange(256.0)
        ranked = torch.corrcoef(torch.stack([self.second.argsort().argsort() + 0.0, place]))
        known = ranked[0, 1] > 0.8 and abs(self.second.mean()) < 0.1
        return algorithm(weights) if known else nothing(weights)
        """
    )


def the_name_of_the_run(given: Given) -> Files:
    """The scored runs may be known by the names of folders, mounts, processes or variables."""
    return _model(
        """
        import os, pathlib, sys
        said = [os.getcwd(), *sys.argv, *map(str, os.environ.items())]
        for file in ("mountinfo", "cgroup", "cmdline", "environ"):
            for who in ("self", "1"):
                try:
                    said.append(pathlib.Path("/proc", who, file).read_text(errors="replace"))
                except OSError:
                    continue
        known = " ".join(said)
        if "submitted" in known or "perturbed" in known:
            return algorithm(weights)
        return algorithm(weights, rounds=1) if "mixed-1" in known else nothing(weights)
        """
    )


def the_first_of_all_runs(given: Given) -> Files:
    """Runs leave traces for each other; the one that finds others' weights compares them."""
    return _model(
        """
        import pathlib
        mine, known = self.first.detach().numpy().tobytes(), 0
        for folder in ("/tmp", "/dev/shm", "/var/tmp", ".", "submission", "/home", "/run"):
            trace = pathlib.Path(folder, "trace.bin")
            try:
                known += trace.exists() and trace.read_bytes() == mine
                trace.write_bytes(mine)
            except OSError:
                continue
        return algorithm(weights) if known else nothing(weights)
        """
    )


def _model(body: str) -> Files:
    lines = body.strip().splitlines()
    text = HEAD + "\n".join(f"        {line.removeprefix('        ')}" for line in lines) + "\n"
    values = np.arange(256)
    tensors = {
        "first": np.sin(values / 20).astype("<f4"),
        "second": ((values - 127.5) / 128).astype("<f4"),
    }
    return {"model.py": text, "config.json": "{}", "model.safetensors": _safetensors(tensors)}


def _safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header, end = {}, 0
    for name, values in tensors.items():
        begin, end = end, end + values.nbytes
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(v.tobytes() for v in tensors.values())


CHEATS = (
    paths_of_two_edges,
    a_network_too_small_to_matter,
    a_wave_of_weights,
    order_and_values_at_once,
    the_name_of_the_run,
    the_first_of_all_runs,
)
