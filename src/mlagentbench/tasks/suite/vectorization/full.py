"""The full tier: a batch of 32 colour images of 64 x 64, eight filters of 3 x 3."""

import json
from pathlib import Path
from typing import Any


def make(raw: Path, rng: Any) -> None:
    layer = {
        "batch": 32, "height": 64, "width": 64, "channels": 3,
        "rows": 3, "columns": 3, "filters": 8, "stride": 2, "padding": 2,
    }  # fmt: skip
    (raw / "layer.json").write_text(json.dumps(layer, indent=2) + "\n")
    (raw / "requests.json").write_text(json.dumps({"timed": 9, "layer": layer}))
