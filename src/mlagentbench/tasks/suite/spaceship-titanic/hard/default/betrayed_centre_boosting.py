# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Finds each strike's centre from fates, learns what betrays it, boosts on expected nearness."""

import itertools
import os

import numpy as np
import pandas as pd
from records import base_features, booster, held_out, read, submit, traces, voyage_folds
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
STEP = 12.0
SHAPES = [
    {"along": along, "decks": decks, "sided": sided}
    for along, decks, sided in itertools.product((15.0, 30.0, 60.0), (1.0, 2.5, 1e6), (0, 1))
] + [{"along": 1e6, "decks": decks, "sided": sided} for decks in (0.5, 1.5) for sided in (0, 1)]
PENALTIES = (0.3, 1.0, 4.0)


def candidates(both: pd.DataFrame, shape: dict[str, float]) -> np.ndarray:
    """The places where the strike may have been: deck, number, side."""
    last = both["number"].max()
    numbers = np.arange(0.0, last + STEP, STEP) if shape["along"] < 1e5 else np.array([last / 2])
    decks = np.sort(both["deck"].dropna().unique()) if shape["decks"] < 1e5 else np.array([3.0])
    sides = (0.0, 1.0) if shape["sided"] else (0.5,)
    return np.array(list(itertools.product(decks, numbers, sides)))


def nearness(part: pd.DataFrame, places: np.ndarray, shape: dict[str, float]) -> np.ndarray:
    """Of each passenger (rows) to each place (columns), 0 to 1."""
    deck, number, side = (part[name].to_numpy() for name in ["deck", "number", "starboard"])
    far = ((deck[:, None] - places[None, :, 0]) / shape["decks"]) ** 2
    far = far + ((number[:, None] - places[None, :, 1]) / shape["along"]) ** 2
    if shape["sided"]:
        far = far + 4.0 * (side[:, None] != places[None, :, 2])
    return np.nan_to_num(np.exp(-0.5 * far), nan=0.0)


def evidence(near: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """How much better fates are explained by each place: log-likelihood gained, signed."""
    centred = near - near.mean(axis=0)
    power = (centred**2).sum(axis=0) + 3.0
    slope = centred.T @ residual / power
    return np.sign(slope) * 0.5 * slope**2 * power / (residual.var() + 1e-9)


def find_shape(
    parts: list[pd.DataFrame], residuals: list[np.ndarray], both: pd.DataFrame
) -> tuple[dict[str, float], float]:
    """The shape, and whether the near are taken (1) or spared (-1), that explain fates best."""
    best, found = -np.inf, (SHAPES[0], 1.0)
    for shape in SHAPES:
        places = candidates(both, shape)
        gains = [
            evidence(nearness(p, places, shape), r) for p, r in zip(parts, residuals, strict=True)
        ]
        for sign in (1.0, -1.0):
            total = sum(logsumexp(np.maximum(sign * g, 0.0)) - np.log(len(places)) for g in gains)
            if total > best:
                best, found = total, (shape, sign)
    print(f"shape={found[0]} sign={found[1]} gain={best:.1f}")
    return found


def contrasts(near: np.ndarray, trace: np.ndarray) -> np.ndarray:
    """How unusual each trace (columns) is around each place (rows), in standard errors."""
    centred = near - near.mean(axis=0)
    values = trace - trace.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0)) + 1.0
    taken = near.sum(axis=0)
    crowd = (taken - taken.mean()) / (taken.std() + 1e-9)
    return np.column_stack([(centred.T @ values) / scale[:, None], crowd])


def learn(clues: list[np.ndarray], gains: list[np.ndarray], penalty: float) -> np.ndarray:
    """Weights of the clues, so that the places that explain fates look like strikes."""

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.5 * penalty * weights @ weights, penalty * weights
        for clue, gain in zip(clues, gains, strict=True):
            score = clue @ weights
            value -= logsumexp(score + gain) - logsumexp(score)
            slope = slope - clue.T @ (softmax(score + gain) - softmax(score))
        return value, slope

    start = np.zeros(clues[0].shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 40}).x


def betrayed(clues: list[np.ndarray], gains: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """Where each training voyage was struck by the weights of the others, with the best penalty."""
    best, found = -np.inf, ([], PENALTIES[0])
    for penalty in PENALTIES:
        guesses, total = [], 0.0
        for i, (clue, gain) in enumerate(zip(clues, gains, strict=True)):
            others = [j for j in range(len(clues)) if j != i]
            weights = learn([clues[j] for j in others], [gains[j] for j in others], penalty)
            score = clue @ weights
            total += logsumexp(score + gain) - logsumexp(score)
            guesses.append(softmax(score))
        if total > best:
            best, found = total, (guesses, penalty)
    print(f"penalty={found[1]} evidence of the guessed places={best:.1f}")
    return found


def expected(
    part: pd.DataFrame, near: np.ndarray, places: np.ndarray, guess: np.ndarray
) -> np.ndarray:
    """What a passenger's place means, given where the strike may have been."""
    likeliest = places[np.argmax(guess)]
    mean = near @ guess
    rank = pd.Series(mean).rank(pct=True).to_numpy()
    away = np.abs(part["number"].to_numpy() - likeliest[1])
    floors = part["deck"].to_numpy() - likeliest[0]
    other = (part["starboard"].to_numpy() != likeliest[2]).astype(float)
    return np.column_stack([mean, rank, near[:, np.argmax(guess)], away, floors, other])


def main() -> None:
    both, y = read()
    n = len(y)
    voyages = both["Voyage"].to_numpy()
    base = base_features(both).to_numpy()
    trace = traces(both).to_numpy()
    folds = voyage_folds(voyages[:n], 4, SEED)
    plain = held_out(lambda: booster(SEED, 80), base[:n], y, folds)

    known = [np.flatnonzero(voyages == v) for v in np.unique(voyages[:n])]
    unknown = [np.flatnonzero(voyages == v) for v in np.unique(voyages[n:])]
    parts = [both.iloc[rows] for rows in known]
    residuals = [y[rows] - plain[rows] for rows in known]
    residuals = [residual - residual.mean() for residual in residuals]
    shape, sign = find_shape(parts, residuals, both)
    places = candidates(both, shape)

    nears = [nearness(both.iloc[rows], places, shape) for rows in known + unknown]
    clues = [
        contrasts(near, trace[rows]) for near, rows in zip(nears, known + unknown, strict=True)
    ]
    gains = [
        np.maximum(sign * evidence(near, r), 0.0) for near, r in zip(nears, residuals, strict=False)
    ]
    guesses, penalty = betrayed(clues[: len(known)], gains)
    weights = learn(clues[: len(known)], gains, penalty)
    guesses = guesses + [softmax(clue @ weights) for clue in clues[len(known) :]]

    extra = np.zeros((len(both), 6))
    for rows, near, guess in zip(known + unknown, nears, guesses, strict=True):
        extra[rows] = expected(both.iloc[rows], near, places, guess)
    x = np.hstack([base, extra])
    better = held_out(lambda: booster(SEED, 100), x[:n], y, folds)
    scores = [float(np.mean((chance > 0.5) == y)) for chance in (plain, better)]
    print(f"without the place: {scores[0]:.4f}")
    used = x if scores[1] >= scores[0] else base
    models = [booster(SEED + i, 120).fit(used[:n], y) for i in range(3)]
    chance = np.mean([model.predict_proba(used[n:])[:, 1] for model in models], axis=0)
    print(f"validation accuracy={max(scores):.4f}")
    submit(both, n, chance)


if __name__ == "__main__":
    main()
