"""Fits a model to the marks of every circumstance, and lets the panel's essays weigh all of them.

For each half by a circumstance, by time, by pairs of them and by rater, and for each column, a
ridge of the text predicts the marks. For each rating of the panel, the predictions that agree best
with its 24 essays, whichever column they come from, are averaged and calibrated.
"""

import numpy as np
from essay_parts import (
    FACTORS,
    TARGETS,
    BlockRidge,
    base_contexts,
    calibrated,
    load,
    text_blocks,
    without_levels,
    write,
)

OWN_COLUMN = 0.15
BEST = 12


def parts(readings) -> list[np.ndarray]:
    """The rows of each circumstance: all, halves, quarters and raters."""
    base = base_contexts(readings)
    found = [np.ones(len(readings), dtype=bool)]
    names = [n for n in base if n in FACTORS or n.startswith(("from", "hour", "late", "rater"))]
    for name in names:
        found += [base[name] > 0.5, base[name] < 0.5]
    halves = [n for n in names if n in FACTORS]
    days = [n for n in names if n.startswith("from")]
    halves += days[len(days) // 3 :: max(len(days) // 3, 1)][:2]
    halves += ["hour 0.5"] if "hour 0.5" in base else []
    for i, a in enumerate(halves):
        for b in halves[i + 1 :]:
            for p in (base[a] > 0.5, base[a] < 0.5):
                found += [p & (base[b] > 0.5), p & (base[b] < 0.5)]
    return [rows for rows in found if rows.sum() >= 150]


def views(x: np.ndarray, read: np.ndarray, y: np.ndarray, chosen: list[np.ndarray]) -> np.ndarray:
    """The predictions of ridges fitted to each part, for all essays: essay, part, column."""
    found = np.empty((len(x), len(chosen), 6))
    for j, rows in enumerate(chosen):
        part = x[read[rows]]
        centre = part.mean(axis=0)
        gram = (part - centre).T @ (part - centre)
        penalty = np.eye(x.shape[1]) * 150
        w = np.linalg.solve(gram + penalty, (part - centre).T @ (y[rows] - y[rows].mean(axis=0)))
        found[:, j] = (x - centre) @ w
    return found


def stacked(candidates: np.ndarray, home: np.ndarray, panel: np.ndarray, truth: np.ndarray):
    """The average of the candidates that agree best with the panel, each turned its way."""
    seen = candidates[panel]
    seen = (seen - seen.mean(axis=0)) / (seen.std(axis=0) + 1e-9)
    goal = (truth - truth.mean()) / (truth.std() + 1e-9)
    agreement = seen.T @ goal / len(goal)
    merit = np.abs(agreement) + OWN_COLUMN * home * (agreement > 0)
    best = np.argsort(-merit)[:BEST]
    weight = np.sign(agreement[best]) * np.maximum(merit[best], 0) ** 4
    scaled = candidates[:, best] / (candidates[:, best].std(axis=0) + 1e-9)
    mean = scaled @ weight / np.abs(weight).sum()
    spread = truth.std() * min(float(np.abs(agreement[best]).mean()), 0.9)
    return mean / (mean.std() + 1e-9) * spread


def main() -> None:
    train, test = load()
    blocks = text_blocks([*train["full_text"], *test["full_text"]])
    is_panel = (train["rater"] == "panel").to_numpy()
    read, panel = np.flatnonzero(~is_panel), np.flatnonzero(is_panel)
    readings = train.iloc[read].reset_index(drop=True)
    truth = train.loc[is_panel, TARGETS].to_numpy(float)
    y = without_levels(readings, readings[TARGETS].to_numpy(float))
    y /= y.std(axis=0)
    chosen = parts(readings)
    cube = views(blocks[0], read, y, chosen)
    candidates = cube.reshape(len(cube), -1)
    column = np.tile(np.arange(6), len(chosen))
    model = BlockRidge(blocks, rounds=8)
    result = np.empty((len(test), 6))
    for k in range(6):
        mean = stacked(candidates, (column == k).astype(float), panel, truth[:, k])
        # which readings tell about this rating: those whose marks go with the stacked prediction
        marks, weight = np.zeros(len(read)), np.zeros(len(read))
        for j, rows in enumerate(chosen):
            for c in range(6):
                r = np.corrcoef(cube[:, j, c], mean)[0, 1]
                strength = max(abs(r) - 0.6, 0.0) / rows.mean()
                marks[rows] += strength * np.sign(r) * y[rows, c]
                weight[rows] += strength
        known = weight > 0
        if known.sum() > 300:
            fitted = model.fit_predict(
                read[known], marks[known] / weight[known], np.sqrt(weight[known])
            )
            mean = 0.5 * mean + 0.5 * mean.std() * (fitted - fitted.mean()) / (fitted.std() + 1e-9)
        level, slope = calibrated(mean[panel], truth[:, k], doubt=0.25)
        result[:, k] = level + slope * mean[len(train) :]
    write(test, result)


if __name__ == "__main__":
    main()
