# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Turns and shifts each annotator's masks onto the lines, and weighs annotators by agreement."""

import numpy as np
from pixels import best_threshold, dice, features, load, write_submission
from sklearn.ensemble import HistGradientBoostingClassifier

MOST_SHIFT = 6
PIXELS = 150_000
"""So many are enough for one fit."""


def align(masks: np.ndarray, strength: np.ndarray) -> tuple[np.ndarray, float]:
    """The masks, mirrored, turned and shifted so that they lie on lines; and how well they do."""
    shown = np.minimum(strength, np.quantile(strength, 0.98))
    shown = (shown - shown.mean()) / shown.std()
    spectrum = np.fft.rfft2(shown)
    best = -np.inf, masks
    for mirrored in (masks, masks[:, :, ::-1]):
        for quarter in range(4):
            turned = np.rot90(mirrored, quarter, (1, 2))
            total = np.fft.irfft2((spectrum * np.conj(np.fft.rfft2(turned))).sum(axis=0))
            for down in range(-MOST_SHIFT, MOST_SHIFT + 1):
                for right in range(-MOST_SHIFT, MOST_SHIFT + 1):
                    if total[down, right] > best[0]:
                        best = total[down, right], np.roll(turned, (down, right), axis=(1, 2))
    return best[1], best[0] / max(masks.sum(), 1)


def main() -> None:
    images, masks, annotators, test = load()
    inputs, strength = features(images)
    test_inputs, _ = features(test)
    agreed = annotators == 0
    repaired, weights = masks.copy(), np.ones(len(masks))
    _, usual = align(masks[agreed], strength[agreed])
    for who in np.unique(annotators[annotators > 0]):
        own = annotators == who
        repaired[own], agreement = align(masks[own], strength[own])
        weights[own] = np.clip(agreement / usual, 0, 1) ** 2
        print(f"annotator {who}: agreement {agreement:.2f}, usual {usual:.2f}")
    weights[agreed] = 3
    model = HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=31, random_state=0)
    width = inputs.shape[-1]
    rng = np.random.default_rng(0)

    def fit(rows: np.ndarray) -> None:
        chances = np.repeat(rows * weights, masks[0].size)
        some = rng.choice(len(chances), PIXELS, p=chances / chances.sum())
        model.fit(inputs.reshape(-1, width)[some], repaired.ravel()[some])

    def predict(some: np.ndarray) -> np.ndarray:
        return model.predict_proba(some.reshape(-1, width))[:, 1].reshape(some.shape[:-1])

    held = np.zeros((agreed.sum(), *masks.shape[1:]))
    places = np.flatnonzero(agreed)
    for fold in range(2):
        told = np.arange(len(places)) % 2 == fold
        fit(~np.isin(np.arange(len(masks)), places[told]))
        held[told] = predict(inputs[places[told]])
    limit = best_threshold(held, masks[agreed])
    print(f"validation dice={dice(held > limit, masks[agreed]):.4f}")
    fit(np.ones(len(masks), dtype=bool))
    write_submission(predict(test_inputs) > limit)


if __name__ == "__main__":
    main()
