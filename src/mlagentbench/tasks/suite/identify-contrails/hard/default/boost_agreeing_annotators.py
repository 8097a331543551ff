"""Aligns each annotator's masks, keeps annotators that agree with the consensus, boosts trees."""

import os

import numpy as np
from line_profiles import Data, Lines, best_threshold, write_submission
from mask_alignment import aligned_masks
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
FOLDS = 3
CONSENSUS_WEIGHT = 4.0
KEPT = 0.75


def main() -> None:
    data = Data()
    lines = Lines(data)
    masks = aligned_masks(lines.lineness, data.masks, data.annotators)
    rows = agreeing(data, lines, masks)
    weights = np.where(data.annotators[rows] == 0, CONSENSUS_WEIGHT, 1.0)
    folds = np.random.default_rng(SEED).permutation(len(rows)) % FOLDS
    test = np.arange(data.count, len(lines.features))
    held, chances = np.zeros((len(rows), *masks.shape[1:])), 0.0
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        model = fit(lines, masks, rows[inside], weights[inside], 70)
        held[outside] = predict(model, lines, rows[outside])
        chances = chances + predict(model, lines, test) / FOLDS
    threshold, value = best_threshold(lines.smoothed(held, rows), masks[rows])
    print(f"validation dice={value:.4f}")
    write_submission(lines.smoothed(chances, test) > threshold)


def agreeing(data: Data, lines: Lines, masks: np.ndarray) -> np.ndarray:
    """The rows of the consensus and of annotators whose models do well on it."""
    consensus = np.flatnonzero(data.annotators == 0)
    found = {}
    for annotator in np.unique(data.annotators[data.annotators > 0]):
        rows = np.flatnonzero(data.annotators == annotator)
        model = fit(lines, masks, rows, np.ones(len(rows)), 30)
        chances = lines.smoothed(predict(model, lines, consensus), consensus)
        found[annotator] = best_threshold(chances, masks[consensus])[1]
    print({int(annotator): round(value, 3) for annotator, value in found.items()})
    limit = KEPT * max(found.values())
    kept = [annotator for annotator, value in found.items() if value >= limit]
    return np.flatnonzero(np.isin(data.annotators, [0, *kept]))


def fit(
    lines: Lines, masks: np.ndarray, rows: np.ndarray, weights: np.ndarray, rounds: int
) -> HistGradientBoostingClassifier | None:
    """Trees on the pixels that may be of a line; fewer of those that are not marked."""
    chosen = lines.candidates[rows]
    marked = masks[rows][chosen]
    keep = (marked > 0) | (np.random.default_rng(SEED).random(len(marked)) < 0.4)
    if marked.sum() < 5:
        return None
    pixels = lines.features[rows][chosen][keep]
    weight = np.broadcast_to(weights[:, None, None], chosen.shape)[chosen][keep]
    model = HistGradientBoostingClassifier(
        max_iter=rounds,
        learning_rate=0.12,
        max_leaf_nodes=12,
        l2_regularization=3.0,
        min_samples_leaf=25,
        early_stopping=False,
        random_state=SEED,
    )
    return model.fit(pixels, marked[keep], sample_weight=weight)


def predict(
    model: HistGradientBoostingClassifier | None, lines: Lines, rows: np.ndarray
) -> np.ndarray:
    """Chances; nothing where no line may be."""
    chosen = lines.candidates[rows]
    out = np.zeros(chosen.shape)
    if model is not None:
        out[chosen] = model.predict_proba(lines.features[rows][chosen])[:, 1]
    return out


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
