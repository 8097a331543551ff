# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Boosts trees on smoothed traces around each cabin, kept if they tell fates in most voyages."""

import os

import numpy as np
import pandas as pd
from records import (
    SPENDING,
    base_features,
    booster,
    centred,
    held_out,
    read,
    submit,
    traces,
    voyage_folds,
)

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
CHOICES = (0, 6, 16, 40)


def kernels(place: pd.DataFrame) -> dict[str, np.ndarray]:
    """How much each passenger of a voyage counts at the cabin of each other one."""
    deck, number, side = (place[name].to_numpy() for name in ["deck", "number", "starboard"])
    along = np.abs(number[:, None] - number[None, :])
    across = np.abs(deck[:, None] - deck[None, :])
    same_side = (side[:, None] == side[None, :]).astype(float)
    found = {}
    for width in (15.0, 40.0):
        near = np.exp(-0.5 * (along / width) ** 2)
        found[f"along{width:.0f}"] = near
        found[f"along{width:.0f}_side"] = near * same_side
        found[f"along{width:.0f}_deck"] = near * np.exp(-0.5 * across**2)
        found[f"along{width:.0f}_deck_side"] = near * np.exp(-0.5 * across**2) * same_side
    found["deck"] = (across == 0).astype(float)
    found["deck_side"] = (across == 0) * same_side
    found["side"] = same_side
    for kernel in found.values():
        kernel[~np.isfinite(kernel)] = 0.0
    return found


def fields(both: pd.DataFrame) -> pd.DataFrame:
    """The mean of each trace, and how many cabins are taken, around each passenger's cabin."""
    trace = traces(both)
    pieces = []
    for _, rows in both.groupby("Voyage").groups.items():
        part = both.loc[rows]
        values = trace.loc[rows].to_numpy()
        values = values - values.mean(axis=0)
        stranger = part["group"].to_numpy()[:, None] != part["group"].to_numpy()[None, :]
        piece = {}
        for name, kernel in kernels(part).items():
            weights = kernel * stranger
            mass = weights.sum(axis=1)
            smooth = weights @ values / (mass[:, None] + 3.0)
            for j, column in enumerate(trace.columns):
                piece[f"{column}@{name}"] = smooth[:, j]
            piece[f"taken@{name}"] = mass / len(part)
        pieces.append(pd.DataFrame(piece, index=rows))
    return pd.concat(pieces).loc[both.index]


def amenity_traces(both: pd.DataFrame) -> pd.DataFrame:
    """How unusual the amenities that a passenger used were on the voyage."""
    logs = np.log1p(both[SPENDING].fillna(0.0))
    share = logs.to_numpy() / (logs.sum(axis=1).to_numpy()[:, None] + 1e-9)
    awake = (both["asleep"] != 1).to_numpy()
    found = {}
    missing = both[[f"no_{name}" for name in SPENDING]]
    used = (logs > 0).astype(float)
    for name, values in {"missing": missing, "spent": logs, "used": used}.items():
        values = values.where(pd.Series(awake, index=both.index))
        by_voyage = values.groupby(both["Voyage"]).transform("mean")
        unusual = by_voyage - by_voyage.mean()
        found[f"amenity_{name}"] = (share * unusual.to_numpy()).sum(axis=1)
    return pd.DataFrame(found, index=both.index)


def agreement(
    x: pd.DataFrame, residual: np.ndarray, voyages: np.ndarray, gates: list[np.ndarray]
) -> np.ndarray:
    """The largest t over the voyages of each column's covariance with what is unexplained."""
    values = centred(x.to_numpy(), voyages)
    values = values / (values.std(axis=0) + 1e-9)
    best = np.zeros(x.shape[1])
    for gate in gates:
        each = np.array(
            [
                (values[m] * residual[m, None]).sum(axis=0) / np.sqrt(m.sum() + 1)
                for m in [(voyages == v) & gate for v in np.unique(voyages)]
            ]
        )
        t = each.mean(axis=0) / (each.std(axis=0, ddof=1) / np.sqrt(len(each)) + 0.05)
        best = np.maximum(best, np.abs(t))
    return best


def distinct(x: pd.DataFrame, strength: np.ndarray, most: int) -> list[str]:
    """The strongest columns, none of which is nearly another."""
    kept: list[str] = []
    for j in np.argsort(-strength):
        name = x.columns[j]
        if all(abs(np.corrcoef(x[name], x[other])[0, 1]) < 0.9 for other in kept):
            kept.append(name)
        if len(kept) == most:
            break
    return kept


def main() -> None:
    both, y = read()
    n = len(y)
    voyages = both["Voyage"].to_numpy()[:n]
    base = base_features(both)
    folds = voyage_folds(voyages, 4, SEED)
    plain = held_out(lambda: booster(SEED, 80), base.to_numpy()[:n], y, folds)
    residual = centred((y - plain)[:, None], voyages)[:, 0]
    asleep = (both["asleep"] == 1).to_numpy()[:n]
    starboard = (both["starboard"] == 1).to_numpy()[:n]
    gates = [np.ones(n, dtype=bool), asleep, ~asleep, starboard, ~starboard]
    hints = pd.concat([fields(both), amenity_traces(both)], axis=1)

    scores = {0: float(np.mean((plain > 0.5) == y))}
    hits: dict[int, list[float]] = {most: [] for most in CHOICES if most}
    for out in folds:
        fit = ~out
        strength = agreement(
            hints.iloc[:n][fit], residual[fit], voyages[fit], [gate[fit] for gate in gates]
        )
        ranked = distinct(hints.iloc[:n], strength, max(CHOICES))
        for most in hits:
            x = np.hstack([base.to_numpy()[:n], hints[ranked[:most]].to_numpy()[:n]])
            chance = booster(SEED, 80).fit(x[fit], y[fit]).predict_proba(x[out])[:, 1]
            hits[most].append(float(np.sum((chance > 0.5) == y[out])))
    scores |= {most: sum(right) / n for most, right in hits.items()}
    most = max(scores, key=lambda choice: scores[choice])

    strength = agreement(hints.iloc[:n], residual, voyages, gates)
    kept = distinct(hints.iloc[:n], strength, most) if most else []
    print(f"traces kept: {kept[:8]}")
    x = np.hstack([base.to_numpy(), hints[kept].to_numpy()])
    models = [booster(SEED + i, 120).fit(x[:n], y) for i in range(3)]
    chance = np.mean([model.predict_proba(x[n:])[:, 1] for model in models], axis=0)
    print(f"validation accuracy={scores[most]:.4f}")
    submit(both, n, chance)


if __name__ == "__main__":
    main()
