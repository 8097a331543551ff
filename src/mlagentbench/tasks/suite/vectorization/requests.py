"""Draws the requests of one grading: warm-up and timed ones, and others that are only checked."""

import json
from pathlib import Path

import numpy as np

WARM_UPS = 2
CHECKS = 20


def make(directory: Path, private: Path, rng: np.random.Generator) -> None:
    wanted = json.loads((private / "requests.json").read_text())
    layer = wanted["layer"]
    for n in range(WARM_UPS):
        _write(directory / f"warm-up-{n:02}.bin", layer, rng)
    for n in range(wanted["timed"]):
        _write(directory / f"timed-{n:02}.bin", layer, rng)
    for n in range(CHECKS):
        _write(directory / f"check-{n:02}.bin", _other_layer(rng), rng)


def _other_layer(rng: np.random.Generator) -> dict[str, int]:
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


def _write(file: Path, layer: dict[str, int], rng: np.random.Generator) -> None:
    shape = (layer["batch"], layer["height"], layer["width"], layer["channels"])
    filters = (layer["rows"], layer["columns"], layer["channels"], layer["filters"])
    with file.open("wb") as handle:
        for array in (
            rng.integers(0, 256, size=shape, dtype=np.uint8),
            rng.normal(size=filters),
            rng.normal(size=layer["filters"]),
            np.array([layer["stride"], layer["padding"]], dtype=np.int64),
        ):
            np.save(handle, array, allow_pickle=False)
