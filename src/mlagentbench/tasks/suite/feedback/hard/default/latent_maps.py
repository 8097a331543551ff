"""Alternates between the panel's scores of the text and the maps from scores to marks by context.

Six scores are linear in the text. A reading's six marks are a linear map of the scores, which
depends on the rater and on the circumstances that a scan found to matter; the panel's map is the
identity. Maps and scores are fitted in turn, from several beginnings; the best fit is kept.
"""

import numpy as np
from essay_parts import (
    TARGETS,
    BlockRidge,
    cells,
    load,
    modulators,
    text_blocks,
    without_levels,
    write,
)

PANEL_WEIGHT = 8.0
TEXT_PENALTY = 120.0
MAP_PENALTY = 6.0


def fit_maps(scores: np.ndarray, y: np.ndarray, label: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """For each cell the map from scores to marks, held near the prior's."""
    maps = np.empty((label.max() + 1, 6, 6))
    for cell in range(len(maps)):
        s, t = scores[label == cell], y[label == cell]
        gram = s.T @ s + MAP_PENALTY * np.eye(6)
        maps[cell] = np.linalg.solve(gram, s.T @ t + MAP_PENALTY * prior)
    return maps


def fit_scores(x: np.ndarray, y: np.ndarray, maps: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The coefficients of the six scores, given the map of every row (by conjugate gradients)."""
    right = x.T @ (weight[:, None] * np.einsum("nc,nkc->nk", y, maps))
    square = np.einsum("nkc,nlc->nkl", maps, maps) * weight[:, None, None]

    def apply(w: np.ndarray) -> np.ndarray:
        return x.T @ np.einsum("nkl,nl->nk", square, x @ w) + TEXT_PENALTY * w

    w = np.zeros_like(right)
    rest = right - apply(w)
    step, size = rest.copy(), float((rest**2).sum())
    for _ in range(40):
        turned = apply(step)
        rate = size / max(float((step * turned).sum()), 1e-12)
        w += rate * step
        rest -= rate * turned
        new = float((rest**2).sum())
        if new < 1e-8 * float((right**2).sum()):
            break
        step, size = rest + new / size * step, new
    return w


def alternate(x, read, panel, y, truth, label, start):
    """Coefficients, maps and loss, from the scores to begin with."""
    rows = np.concatenate([read, panel])
    marks = np.vstack([y, truth])
    weight = np.concatenate([np.ones(len(read)), np.full(len(panel), PANEL_WEIGHT)])
    scores, w, maps = start, None, None
    for _ in range(12):
        maps = fit_maps(scores[read], y, label, np.eye(6) * 0.7)
        per_row = np.concatenate([maps[label], np.repeat(np.eye(6)[None], len(panel), axis=0)])
        w = fit_scores(x[rows], marks, per_row, weight)
        scores = x @ w
    errors = marks - np.einsum("nk,nkc->nc", scores[rows], per_row)
    loss = float((weight[:, None] * errors**2).sum() + TEXT_PENALTY * (w**2).sum())
    return loss, scores, maps


def main() -> None:
    train, test = load()
    blocks = text_blocks([*train["full_text"], *test["full_text"]])
    x = blocks[0]
    is_panel = (train["rater"] == "panel").to_numpy()
    read, panel = np.flatnonzero(~is_panel), np.flatnonzero(is_panel)
    readings = train.iloc[read].reset_index(drop=True)
    truth = train.loc[is_panel, TARGETS].to_numpy(float)
    level = truth.mean(axis=0)
    y = without_levels(readings, readings[TARGETS].to_numpy(float))
    label = cells(modulators(readings, x[read]), len(read))
    starts = []
    for cell in (-1, *range(label.max() + 1)):
        rows = np.ones(len(read), bool) if cell < 0 else label == cell
        part = x[read[rows]]
        gram = part.T @ part + 60 * np.eye(x.shape[1])
        starts.append(x @ np.linalg.solve(gram, part.T @ y[rows]))
    gram = x[panel].T @ x[panel] + 40 * np.eye(x.shape[1])
    starts.append(x @ np.linalg.solve(gram, x[panel].T @ (truth - level)))
    runs = [alternate(x, read, panel, y, truth - level, label, s) for s in starts]
    _, scores, maps = min(runs, key=lambda run: run[0])
    # what the finer features add: marks turned back into scores, and a last fit to them
    back = np.empty_like(y)
    for cell, m in enumerate(maps):
        rows = label == cell
        rest = y[rows] - scores[read[rows]] @ m
        gain = m.T @ np.linalg.inv(m @ m.T + 0.3 * np.eye(6))
        back[rows] = scores[read[rows]] + rest @ gain
    everyone = np.concatenate([read, panel])
    weight = np.concatenate([np.ones(len(read)), np.full(len(panel), PANEL_WEIGHT)])
    model = BlockRidge(blocks)
    result = np.empty((len(test), 6))
    for k in range(6):
        marks = np.concatenate([back[:, k], truth[:, k] - level[k]])
        fine = model.fit_predict(everyone, marks, weight)
        blend = 0.5 * scores[:, k] + 0.5 * fine
        result[:, k] = (blend - blend[panel].mean() + level[k])[len(train) :]
    write(test, result)


if __name__ == "__main__":
    main()
