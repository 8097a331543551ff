# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""How the recorders stored pictures, and which colour of an animal tells its category.

Neighbouring pixels of a picture are alike, the planes of a picture have their edges at the same
places, and frames have nothing in common with those before them.
"""

import itertools
from typing import Any

import numpy as np
import pandas as pd
from animals import TRAITS, find_animals, match, with_hues
from recorder import roughness, round_roughness, steps, undo, undo_frames, undo_lines

LONGEST_LAG = 5
SHARES = np.arange(0.5, 0.75, 0.01)


def find(
    dives: dict[str, np.ndarray], boxes: pd.DataFrame, purposes: dict[str, str]
) -> dict[str, Any]:
    """Look at the stored pictures of each dive, in order, and at boxes and purposes of dives."""
    found = find_recorder(dives)
    known = {dive: undo(dives[dive], found, dive) for dive in boxes["dive"].unique()}
    animals, hues = with_hues(find_animals(known))
    size = next(iter(dives.values())).shape[1]
    animals["category"] = match(animals, boxes, size)
    animals["purpose"] = animals["dive"].map(purposes)
    return found | {"trait": find_trait(animals.dropna(subset=["category"]), hues)}


def find_recorder(dives: dict[str, np.ndarray]) -> dict[str, Any]:
    """What was done to lines, and then to frames, with the settings of each dive."""
    lines = find_lines(dives)
    straight = {
        dive: undo_lines(pictures, lines["kind"], lines["axis"], lines["settings"][dive])
        for dive, pictures in dives.items()
    }
    return {"lines": lines, "frames": find_frames(straight)}


# Lines


def find_lines(dives: dict[str, np.ndarray]) -> dict[str, Any]:
    """The way to put lines back that leaves the smoothest pictures on a third of the dives."""
    some = dict(itertools.islice(dives.items(), len(dives) // 3))
    as_stored = np.mean([round_roughness(pictures) for pictures in some.values()])
    found = {("none", 0): float(as_stored) * 0.95}
    for (kind, solve), axis in itertools.product(LINES.items(), (0, 1)):
        found[kind, axis] = np.mean(
            [
                round_roughness(undo_lines(p, kind, axis, solve(p.swapaxes(1, 1 + axis))))
                for p in some.values()
            ]
        )
    kind, axis = min(found, key=found.get)
    solve = LINES.get(kind, lambda pictures: [])
    settings = {dive: solve(p.swapaxes(1, 1 + axis)) for dive, p in dives.items()}
    return {"kind": kind, "axis": axis, "settings": settings}


def find_order(pictures: np.ndarray) -> list[int]:
    """The shortest way through all lines: from each line to the nearest one left, then improved."""
    count = pictures.shape[1]
    apart = np.array(
        [steps(pictures, pictures[:, n : n + 1]).mean((0, 2, 3)) for n in range(count)]
    )
    ways = []
    for start in range(count):
        way, left = [start], set(range(count)) - {start}
        while left:
            way.append(min(left, key=lambda n: apart[way[-1], n]))
            left.remove(way[-1])
        ways.append(way)
    return improved(min(ways, key=lambda way: length(way, apart)), apart)


def length(way: list[int], apart: np.ndarray) -> float:
    return float(apart[way[:-1], way[1:]].sum())


def improved(way: list[int], apart: np.ndarray) -> list[int]:
    """With runs of lines turned round for as long as that makes the way shorter."""
    while True:
        spans = itertools.combinations(range(len(way) + 1), 2)
        turned = (way[:a] + way[a:b][::-1] + way[b:] for a, b in spans)
        best = min(turned, key=lambda one: length(one, apart))
        if length(best, apart) > length(way, apart) - 1e-9:
            return way
        way = best


def find_offsets(pictures: np.ndarray) -> list[int]:
    """By how much each line is rolled: to fit the line before, and the seam to be at the edge."""
    width = pictures.shape[2]
    offsets, before = [0], pictures[:, 0]
    for n in range(1, pictures.shape[1]):
        rolled = [np.roll(pictures[:, n], -offset, axis=1) for offset in range(width)]
        offsets.append(int(np.argmin([steps(line, before).mean() for line in rolled])))
        before = rolled[offsets[-1]]
    fitted = undo_lines(pictures, "rolled", 0, offsets)
    seam = int(np.argmax(steps(fitted, np.roll(fitted, 1, axis=2)).mean((0, 1, 3))))
    return [(offset + seam) % width for offset in offsets]


def find_mirrored(pictures: np.ndarray) -> list[bool]:
    found, before = [False], pictures[:, 0]
    for n in range(1, pictures.shape[1]):
        line = pictures[:, n]
        found.append(bool(steps(line[:, ::-1], before).mean() < steps(line, before).mean()))
        before = line[:, ::-1] if found[-1] else line
    return found


LINES = {"reordered": find_order, "rolled": find_offsets, "mirrored": find_mirrored}


# Frames


def find_frames(dives: dict[str, np.ndarray]) -> dict[str, Any]:
    """Overflows show as jumps in a smooth picture; delays and echoes do not jump, but repeat."""
    found: dict[str, dict[str, Any]] = {"none": {dive: [] for dive in dives}}
    for kind in ("differences", "sums"):
        found[kind] = {dive: find_fresh(p, kind) for dive, p in dives.items()}
    found["predicted"] = {dive: find_prediction(p) for dive, p in dives.items()}
    rough = {
        kind: np.mean([roughness(undo_frames(p, kind, settings[d])) for d, p in dives.items()])
        for kind, settings in found.items()
    }
    kind = min(rough, key=rough.get)
    if rough[kind] < 0.95 * rough["none"]:
        return {"kind": kind, "settings": found[kind]}
    delays = {dive: find_delays(p) for dive, p in dives.items()}
    if np.mean([any(delay) for delay in delays.values()]) > 0.5:
        return {"kind": "delayed", "settings": delays}
    repeats = {dive: lag_similarities(p, p) for dive, p in dives.items()}
    if np.mean([max(values[1:]) for values in repeats.values()]) > 0.2:
        return {"kind": "echo", "settings": {d: find_echo(p, repeats[d]) for d, p in dives.items()}}
    return {"kind": "none", "settings": found["none"]}


def find_fresh(pictures: np.ndarray, kind: str) -> list[int]:
    """The frames that are smoother as they are than with the frame before."""
    fresh, before = [0], pictures[0]
    for t in range(1, len(pictures)):
        other = pictures[t] + before if kind == "differences" else pictures[t] - before
        if roughness(pictures[t][None]) <= roughness(other[None]):
            fresh.append(t)
            other = pictures[t]
        before = other if kind == "differences" else pictures[t]
    return fresh


def find_prediction(pictures: np.ndarray) -> list[int]:
    orders = [list(order) for order in itertools.permutations(range(3))]
    return min(orders, key=lambda order: roughness(undo_frames(pictures, "predicted", order)))


def edges(pictures: np.ndarray) -> np.ndarray:
    """Each frame as a row: steps to the right and down."""
    values = pictures.astype(np.float32)
    across, down = np.diff(values, axis=2), np.diff(values, axis=1)
    flat = [part.reshape(len(values), -1) for part in (across, down)]
    return np.hstack(flat)


def lag_similarities(first: np.ndarray, second: np.ndarray) -> list[float]:
    """How like the edges of `first` are to those of `second` so many frames before."""
    a, b = edges(first), edges(second)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return [float((a[lag:] * b[: len(b) - lag]).sum()) for lag in range(LONGEST_LAG + 1)]


def find_delays(pictures: np.ndarray) -> list[int]:
    """How many frames late each plane is; the earliest one is on time."""
    delays = [0]
    for plane in (1, 2):
        one, other = np.abs(edges(pictures[..., plane])), np.abs(edges(pictures[..., 0]))
        one, other = one - one.mean(axis=0), other - other.mean(axis=0)
        lags = range(-LONGEST_LAG, LONGEST_LAG + 1)
        delays.append(max(lags, key=lambda lag: (np.roll(one, -lag, axis=0) * other).sum()))
    return [delay - min(delays) for delay in delays]


def find_echo(pictures: np.ndarray, repeats: list[float]) -> list:
    """The share of the frame itself that leaves the smoothest pictures, and the echo's lag."""
    lag = int(np.argmax(repeats[1:])) + 1
    rough = [roughness(undo_frames(pictures, "echo", [share, lag])) for share in SHARES]
    return [round(float(SHARES[np.argmin(rough)]), 3), lag]


# Traits


def find_trait(animals: pd.DataFrame, hues: int) -> str:
    """The colour by which categories known from other dives are told apart on surveys."""
    survey = animals["purpose"] == "survey"
    dives = animals.loc[survey, "dive"].unique()
    found = dict.fromkeys(TRAITS, 0.0)
    for name, trait in TRAITS.items():
        values = trait(animals["body"], animals["core"], hues)
        for half in (dives[::2], dives[1::2]):
            held = animals["dive"].isin(half)
            usual = values[~held].groupby(animals["category"]).agg(lambda v: v.mode().iloc[0])
            found[name] += (animals["category"].map(usual) == values)[held].mean()
    return max(found, key=found.get)
