"""Finds the contexts that change what marks mean, and aligns each cell's columns with the panel's.

A scan for interactions between circumstances and text names the cells. In each cell, columns are
assigned to the panel's by how well a model of the cell's marks predicts the panel's 24 essays, and
by how well it agrees with the model of all marks that are aligned so far.
"""

import numpy as np
from essay_parts import (
    TARGETS,
    BlockRidge,
    calibrated,
    cells,
    load,
    modulators,
    text_blocks,
    without_levels,
    write,
)
from scipy.optimize import linear_sum_assignment

PANEL_WEIGHT = 6.0


def correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The correlations of the columns of two matrices."""
    a, b = (
        (a - a.mean(axis=0)) / (a.std(axis=0) + 1e-9),
        (b - b.mean(axis=0)) / (b.std(axis=0) + 1e-9),
    )
    return a.T @ b / len(a)


def assign(agreement: np.ndarray) -> list[tuple[int, float]]:
    """To each column of the panel a column of the cell and its sign, staying if nothing is clear."""
    gain = np.abs(agreement) + 0.12 * np.eye(6) + 0.03 * np.sign(agreement)
    source, target = linear_sum_assignment(-gain)
    found = dict(zip(target, source, strict=True))
    return [(found[k], float(np.sign(agreement[found[k], k])) or 1.0) for k in range(6)]


def relabelled(y: np.ndarray, label: np.ndarray, maps: list) -> np.ndarray:
    """The marks as they would be in the panel's columns and direction."""
    moved = np.empty_like(y)
    for cell, chosen in enumerate(maps):
        rows = label == cell
        for k, (source, sign) in enumerate(chosen):
            moved[rows, k] = sign * y[rows, source]
    return moved


def main() -> None:
    train, test = load()
    blocks = text_blocks([*train["full_text"], *test["full_text"]])
    is_panel = (train["rater"] == "panel").to_numpy()
    read, panel = np.flatnonzero(~is_panel), np.flatnonzero(is_panel)
    readings = train.iloc[read].reset_index(drop=True)
    truth = train.loc[is_panel, TARGETS].to_numpy(float)
    y = without_levels(readings, readings[TARGETS].to_numpy(float))
    label = cells(modulators(readings, blocks[0][read]), len(read))
    small, full = BlockRidge(blocks[:1], rounds=6), BlockRidge(blocks)
    ones = np.ones(len(read))
    views = []
    for cell in range(label.max() + 1):
        rows = label == cell
        views.append(
            np.column_stack(
                [small.fit_predict(read[rows], y[rows, c], ones[rows]) for c in range(6)]
            )
        )
    maps = [assign(correlation(view[panel], truth)) for view in views]
    for _ in range(4):
        moved = relabelled(y, label, maps)
        pooled = np.column_stack([small.fit_predict(read, moved[:, k], ones) for k in range(6)])
        maps = [assign(correlation(v[panel], truth) + 1.5 * correlation(v, pooled)) for v in views]
    moved = relabelled(y, label, maps)
    result = np.empty((len(test), 6))
    everyone = np.concatenate([read, panel])
    weight = np.concatenate([ones, np.full(len(panel), PANEL_WEIGHT)])
    for k in range(6):
        first = full.fit_predict(read, moved[:, k], ones)
        level, slope = calibrated(first[panel], truth[:, k])
        marks = np.concatenate([level + slope * moved[:, k], truth[:, k]])
        result[:, k] = full.fit_predict(everyone, marks, weight)[len(train) :]
    write(test, result)


if __name__ == "__main__":
    main()
