"""The mini tier: the full tier's layer with a smaller batch, so that grading takes seconds.

A draw draws the examples. What is timed and checked is drawn anew at every grading anyway.
"""

import json
from pathlib import Path
from typing import Any


def make(raw: Path, rng: Any) -> None:
    layer = {
        "batch": 2, "height": 64, "width": 64, "channels": 3,
        "rows": 3, "columns": 3, "filters": 8, "stride": 2, "padding": 2,
    }  # fmt: skip
    (raw / "layer.json").write_text(json.dumps(layer, indent=2) + "\n")
    (raw / "requests.json").write_text(json.dumps({"timed": 15, "layer": layer}))
