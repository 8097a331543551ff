# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Tries usual defects of recorders on each dive, keeps the smoothest pictures, then a network.

Tried are lines in two to twelve fields, whole pictures skewed line by line, every other line turned
round, and planes that are shifted against each other; colours are in the light of the dive.
"""

import numpy as np
import pandas as pd
import windows
from pictures import Data

FIELDS, SHIFTS = (2, 3, 4, 6, 8, 12), (-2, -1, 1, 2)


def roughness(pictures: np.ndarray) -> float:
    values = pictures.astype(np.float32)
    planes = np.abs(np.diff(values, axis=3) - np.diff(values, axis=3).mean()).mean()
    return float(sum(np.abs(np.diff(values, axis=n)).mean() for n in (1, 2)) + 0.3 * planes)


def options(pictures: np.ndarray) -> list[np.ndarray]:
    """What the pictures of a dive would be if one defect were undone."""
    size = pictures.shape[1]
    found = [pictures]
    for axis in (1, 2):
        for count in FIELDS:
            order = np.concatenate([np.arange(n, size, count) for n in range(count)])
            found += [np.take(pictures, order, axis), np.take(pictures, np.argsort(order), axis)]
        turned = pictures.swapaxes(1, axis)
        for skew in range(1, size):
            lines = [np.roll(turned[:, n], skew * n, axis=1) for n in range(size)]
            found.append(np.stack(lines, axis=1).swapaxes(1, axis))
        other = turned.copy()
        other[:, 1::2] = other[:, 1::2, ::-1]
        found.append(other.swapaxes(1, axis))
        for plane in range(3):
            for shift in SHIFTS:
                moved = pictures.copy()
                moved[..., plane] = np.roll(pictures[..., plane], shift, axis=axis)
                found.append(moved)
    return found


def restored(pictures: np.ndarray, dives: pd.Series) -> np.ndarray:
    result = pictures.copy()
    for rows in dives.groupby(dives).groups.values():
        now = pictures[rows]
        for _ in range(2):
            now = min(options(now), key=roughness)
        result[rows] = now
    return result


class RestoredData(Data):
    def __init__(self) -> None:
        super().__init__()
        self.seen = restored(self.seen, self.train["dive"])
        self.unseen = restored(self.unseen, self.test["dive"])


windows.Data = RestoredData
windows.main()
