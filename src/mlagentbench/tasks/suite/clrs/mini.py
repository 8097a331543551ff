"""The mini tier: small graphs and a small network, so that training takes seconds.

A draw draws the hidden graphs. Sizes, densities and weights are the benchmark's, and nothing else
is there that a rule could be fitted to.
"""

import json
from pathlib import Path
from typing import Any


def make(raw: Path, rng: Any) -> None:
    """Graphs are drawn by prepare.py; this is what they are like."""
    settings = {
        "train_nodes": [4, 7, 11], "test_nodes": 16,
        "hidden": 32, "triplet_features": 8, "rounds": 2,
        "batch_size": 16, "learning_rate": 0.001, "steps": 150,
    }  # fmt: skip
    (raw / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    (raw / "hidden.json").write_text(json.dumps({"graphs": 300}))
