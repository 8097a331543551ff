# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Fits smooth fields to traces in each voyage, moves their link with fates to other voyages."""

import os

import numpy as np
import pandas as pd
from records import base_features, booster, centred, held_out, read, submit, traces, voyage_folds
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
SHRINKS = (3.0, 12.0)
ALPHAS = (0.001, 0.003, 0.01, 0.03)


def basis(both: pd.DataFrame) -> np.ndarray:
    """Bumps along the ship, alone and by deck and side; zeros for those without a cabin."""
    last = both["number"].max()
    knots = np.linspace(0.0, last, 10)
    bumps = np.exp(-0.5 * ((both["number"].to_numpy()[:, None] - knots) / (last / 11)) ** 2)
    deck = (both["deck"] - 3.0).to_numpy()[:, None] / 3.0
    side = (both["starboard"] - 0.5).to_numpy()[:, None] * 2.0
    decks = np.column_stack([(both["deck"] == d).to_numpy(dtype=float) for d in range(7)])
    columns = [bumps, bumps * deck, bumps * deck**2, bumps * side, decks, decks * side, side]
    return np.nan_to_num(np.hstack(columns), nan=0.0)


def smooth(values: np.ndarray, shapes: np.ndarray, groups: np.ndarray, shrink: float) -> np.ndarray:
    """A ridge field of each column over one voyage, for each fifth of the groups by the rest."""
    names = np.random.default_rng(0).permutation(np.unique(groups))
    found = np.zeros_like(values)
    values = values - values.mean(axis=0)
    for i in range(5):
        out = np.isin(groups, names[i::5])
        b = shapes[~out]
        weights = np.linalg.solve(b.T @ b + shrink * np.eye(b.shape[1]), b.T @ values[~out])
        found[out] = shapes[out] @ weights
    return found


def all_fields(both: pd.DataFrame, shrink: float) -> np.ndarray:
    """The fields of all traces in all voyages, on one scale."""
    values, shapes = traces(both).to_numpy(), basis(both)
    groups, voyages = both["group"].to_numpy(), both["Voyage"].to_numpy()
    found = np.zeros_like(values)
    for voyage in np.unique(voyages):
        rows = voyages == voyage
        found[rows] = smooth(values[rows], shapes[rows], groups[rows], shrink)
    found = centred(found, voyages)
    return found / (found.std(axis=0) + 1e-9)


def link(
    fields: np.ndarray, residual: np.ndarray, folds: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Foretold leanings of training passengers by other voyages, weights of all, and their worth."""
    n = len(residual)
    best, found = -np.inf, (np.zeros(n), np.zeros(fields.shape[1]))
    for alpha in ALPHAS:
        told = np.zeros(n)
        for out in folds:
            model = Lasso(alpha=alpha, fit_intercept=False).fit(fields[:n][~out], residual[~out])
            told[out] = fields[:n][out] @ model.coef_
        worth = float(np.sum(residual**2) - np.sum((residual - told) ** 2))
        if worth > best:
            model = Lasso(alpha=alpha, fit_intercept=False).fit(fields[:n], residual)
            best, found = worth, (told, model.coef_)
    return *found, best


def lean(fields: np.ndarray, told: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """One column: what is foretold of training passengers, and by all voyages of the others."""
    return np.concatenate([told, fields[len(told) :] @ weights])


def with_leanings(base: pd.DataFrame, leanings: np.ndarray, both: pd.DataFrame) -> np.ndarray:
    """The features, the leanings, their ranks in the voyage, and both by kind of passenger."""
    frame = pd.DataFrame(leanings, index=both.index)
    ranks = frame.groupby(both["Voyage"]).rank(pct=True).to_numpy() - 0.5
    scaled = leanings / (leanings.std(axis=0) + 1e-9)
    kinds = base[[name for name in base if "planet=" in name]].to_numpy()
    kinds = np.column_stack([kinds, base["asleep"].fillna(0.5), base["idle"]])
    crossed = [scaled * kinds[:, [j]] for j in range(kinds.shape[1])]
    return np.hstack([base.to_numpy(), scaled, ranks, *crossed])


def logit() -> object:
    return make_pipeline(
        SimpleImputer(), StandardScaler(), LogisticRegression(C=0.05, max_iter=300)
    )


def main() -> None:
    both, y = read()
    n = len(y)
    voyages = both["Voyage"].to_numpy()[:n]
    base = base_features(both)
    folds = voyage_folds(voyages, 6, SEED)
    plain = held_out(lambda: booster(SEED, 70), base.to_numpy()[:n], y, folds)
    residual = centred((y - plain)[:, None], voyages)[:, 0]
    asleep = (both["asleep"] == 1).to_numpy()

    best, leanings = -np.inf, np.zeros((len(both), 1))
    for shrink in SHRINKS:
        fields = all_fields(both, shrink)
        told, weights, worth = link(fields, residual, folds)
        gated = np.hstack([fields * asleep[:, None], fields * ~asleep[:, None]])
        told_gated, weights_gated, worth_gated = link(gated, residual, folds)
        print(f"shrink={shrink} worth={worth:.1f} by sleep={worth_gated:.1f}")
        if max(worth, worth_gated) > best:
            best = max(worth, worth_gated)
            leanings = np.column_stack(
                [lean(fields, told, weights), lean(gated, told_gated, weights_gated)]
            )

    x = with_leanings(base, leanings, both)
    by_trees = held_out(lambda: booster(SEED, 90), x[:n], y, folds)
    by_logit = held_out(logit, x[:n], y, folds)
    shares = {w: np.mean((w * by_trees + (1 - w) * by_logit > 0.5) == y) for w in (0.0, 0.5, 1.0)}
    share = max(shares, key=lambda w: shares[w])
    trees = [booster(SEED + i, 110).fit(x[:n], y).predict_proba(x[n:])[:, 1] for i in range(3)]
    straight = logit().fit(x[:n], y).predict_proba(x[n:])[:, 1]
    print(f"without fields: {np.mean((plain > 0.5) == y):.4f}; share of trees: {share}")
    print(f"validation accuracy={shares[share]:.4f}")
    submit(both, n, share * np.mean(trees, axis=0) + (1 - share) * straight)


if __name__ == "__main__":
    main()
