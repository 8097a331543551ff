"""The full tier: the sizes of the CLRS benchmark and the paper's training settings."""

import json
from pathlib import Path
from typing import Any


def make(raw: Path, rng: Any) -> None:
    """Graphs are drawn by prepare.py; this is what they are like."""
    settings = {
        "train_nodes": [4, 7, 11, 13, 16], "test_nodes": 64,
        "hidden": 128, "triplet_features": 8, "rounds": 6,
        "batch_size": 32, "learning_rate": 0.001, "steps": 500,
    }  # fmt: skip
    (raw / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    (raw / "hidden.json").write_text(json.dumps({"graphs": 300}))
