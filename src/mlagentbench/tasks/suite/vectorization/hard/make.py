"""The hard tier: a layer that never changes, whose filters are combinations of shifted motifs.

The starter multiplies all patches with all filters, in pieces that fit the cache. Low rank does not
help: filters have full rank across rows, columns, channels, filters, and pixels within a stride.
Winograd's tiles, the best that does not look at the filters, take about a sixth of the starter's
time. What the filters have shows only in parts of the window. They come in families. Those of a
family are combinations of copies of one motif, which is smaller than the window, shifted by whole
strides: so the motif's response is computed once and read at several places.

| mechanism | what it does | in evaluation | in training |
|---|---|---|---|
| family | filters share a motif; which of them do shows in a | always | always |
| | corner of the window, which one copy alone covers | | |
| shape | where the copies of a motif are, so how large it is; | two of 4 x 5, 5 x 5, | a ring, a |
| | half of the filters have one, the others another | 4 x 6, 3 x 7, turned | chessboard |
| strays | weights of any value at some taps, for all filters; | scattered taps, or | a row of |
| | with them no family is exact | all of one pixel | one channel |
| loud channels | a decoy: their weights are as large as strays | one to three | four |

Which filters are of which family, how many there are, all weights, and where strays are differs in
every draw. There is no ceiling: a time has no bound.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from prepare import prepare

LAYER = {
    "batch": 1, "height": 88, "width": 88, "channels": 16,
    "rows": 24, "columns": 24, "stride": 3, "padding": 10,
}  # fmt: skip
FILTERS = 120
"""Of each of two shapes at least, in whole families."""
TIMED = 15
SHAPES = {
    "eval": [["11111"] * 4, ["11111"] * 5, ["111111"] * 4, ["1111111"] * 3],
    "train": [
        ["111111", "100001", "100001", "100001", "100001", "111111"],
        ["101010", "010101", "101010", "010101", "101010"],
    ],
}
"""Where the copies of a motif are, in strides; each shape also comes turned round."""
STRAYS = {"eval": ["taps", "pixels"], "train": ["row"]}
LOUD = {"eval": [1, 2, 3], "train": [4]}
"""Channels whose weights are larger."""
MOTIF, TIMES, STRAY, LOUDER = 9, 7, 450, 7
"""The largest whole numbers of a motif, of a copy's coefficient and of a stray weight; and how many
times as large weights of loud channels are."""
WORST_CONDITION = 60


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    families = draw_families(pool, rng)
    family = np.repeat(np.arange(len(families)), [shape.sum() for shape in families])
    layer = LAYER | {"filters": len(family)}
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder)
        (raw / "layer.json").write_text(json.dumps(layer, indent=2) + "\n")
        (raw / "requests.json").write_text(json.dumps({"timed": TIMED, "layer": layer}))
        prepare(raw, public, private, rng)
    weights = np.concatenate([filters_of(shape, rng) for shape in families], axis=3)
    loud = rng.choice(LAYER["channels"], rng.choice(LOUD[pool]), replace=False)
    kind = str(rng.choice(STRAYS[pool]))
    taps = stray_taps(kind, rng)
    weights[taps] = rng.integers(STRAY // 3, STRAY + 1, size=weights[taps].shape)
    weights[taps] *= rng.choice([-1, 1], size=weights[taps].shape)
    weights[:, :, loud] *= LOUDER

    order = rng.permutation(len(family))
    np.savez_compressed(
        public / "layer.npz",
        weights=weights[..., order].astype(np.int16),
        scale=rng.uniform(0.5, 2, size=len(family)) / 1000,
        bias=rng.normal(size=len(family)),
        stride=LAYER["stride"],
        padding=LAYER["padding"],
    )
    mechanisms = {
        "families": [
            {
                "copies": np.argwhere(shape).tolist(),
                "filters": np.flatnonzero(family[order] == number).tolist(),
            }
            for number, shape in enumerate(families)
        ],
        "strays": {"kind": kind, "taps": np.transpose(taps).tolist()},
        "loud channels": sorted(loud.tolist()),
    }
    (private / "mechanisms.json").write_text(json.dumps(mechanisms) + "\n")


def draw_families(pool: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Where the copies of each family's motif are; each of two shapes has half of the filters."""
    families = []
    for place in rng.choice(len(SHAPES[pool]), 2, replace=False):
        shape = np.array([[copy == "1" for copy in row] for row in SHAPES[pool][place]])
        count = -(-FILTERS // int(shape.sum()))
        families += [shape if number % 2 else shape.T for number in range(count)]
    return families


def filters_of(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many filters as there are copies of a motif, each a combination of them all."""
    rows, columns, stride = LAYER["rows"], LAYER["columns"], LAYER["stride"]
    height, width = (
        side - stride * (copies - 1)
        for side, copies in zip((rows, columns), shape.shape, strict=True)
    )
    motif = rng.integers(-MOTIF, MOTIF + 1, size=(height, width, LAYER["channels"]))
    copies = int(shape.sum())
    times = np.zeros((copies, copies))
    while not np.linalg.cond(times) < WORST_CONDITION:
        times = rng.integers(1, TIMES + 1, size=(copies, copies))
        times = times * rng.choice([-1, 1], size=times.shape)
    filters = np.zeros((rows, columns, LAYER["channels"], copies), dtype=np.int64)
    for one, (y, x) in zip(times, np.argwhere(shape), strict=True):
        top, left = y * stride, x * stride
        filters[top : top + height, left : left + width] += motif[..., None] * one
    return filters


def stray_taps(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Rows, columns and channels of the taps at which weights are of any value."""
    rows, columns, channels = LAYER["rows"], LAYER["columns"], LAYER["channels"]
    strays = np.zeros((rows, columns, channels), dtype=bool)
    if kind == "taps":
        strays.flat[rng.choice(strays.size, channels, replace=False)] = True
    elif kind == "pixels":
        strays.reshape(-1, channels)[rng.choice(rows * columns, 1, replace=False)] = True
    else:
        strays[rng.integers(rows), :, rng.integers(channels)] = True
    # The corner that one copy alone covers always has some: there families show.
    strays[rng.integers(2), rng.integers(2), rng.integers(channels, size=3)] = True
    return np.nonzero(strays)
