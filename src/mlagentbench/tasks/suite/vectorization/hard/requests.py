"""Draws the requests of one grading: images for the published layer, and small other layers.

A request for the published layer holds the images alone; one for another layer also holds its
filters, its bias, and stride and padding.
"""

import json
from pathlib import Path

import numpy as np

WARM_UPS = 2
CHECKS = 20


def make(directory: Path, private: Path, rng: np.random.Generator) -> None:
    wanted = json.loads((private / "requests.json").read_text())
    for kind, count in (("warm-up", WARM_UPS), ("timed", wanted["timed"])):
        for n in range(count):
            with (directory / f"{kind}-{n:02}.bin").open("wb") as handle:
                np.save(handle, draw_images(wanted["layer"], rng), allow_pickle=False)
    for n in range(CHECKS):
        layer = draw_layer(rng)
        filters = (layer["rows"], layer["columns"], layer["channels"], layer["filters"])
        with (directory / f"check-{n:02}.bin").open("wb") as handle:
            for array in (
                draw_images(layer, rng),
                rng.normal(size=filters),
                rng.normal(size=layer["filters"]),
                np.array([layer["stride"], layer["padding"]], dtype=np.int64),
            ):
                np.save(handle, array, allow_pickle=False)


def draw_images(layer: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    shape = (layer["batch"], layer["height"], layer["width"], layer["channels"])
    return rng.integers(0, 256, size=shape, dtype=np.uint8)


def draw_layer(rng: np.random.Generator) -> dict[str, int]:
    """A small layer of some other shape, with an output of at least one pixel."""
    rows, columns = (int(value) for value in rng.integers(1, 6, size=2))
    return {
        "batch": int(rng.integers(1, 5)),
        "height": rows + int(rng.integers(0, 16)),
        "width": columns + int(rng.integers(0, 16)),
        "channels": int(rng.integers(1, 6)),
        "rows": rows,
        "columns": columns,
        "filters": int(rng.integers(1, 9)),
        "stride": int(rng.integers(1, 5)),
        "padding": int(rng.integers(0, 5)),
    }
