"""Aligns each annotator's masks, learns each one's idea, combines ideas as the consensus does."""

import itertools
import os

import numpy as np
from line_profiles import Data, Lines, best_threshold, write_submission
from mask_alignment import aligned_masks
from sklearn.ensemble import ExtraTreesClassifier

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
JOINED = {"mean": np.mean, "both": np.min, "either": np.max}


def main() -> None:
    data = Data()
    lines = Lines(data)
    masks = aligned_masks(lines.lineness, data.masks, data.annotators)
    consensus = np.flatnonzero(data.annotators == 0)
    test = np.arange(data.count, len(lines.features))
    wanted = np.concatenate([consensus, test])
    people = np.unique(data.annotators[data.annotators > 0])
    ideas = []
    for annotator in people:
        rows = np.flatnonzero(data.annotators == annotator)
        ideas.append(lines.smoothed(learn(lines, masks, rows, wanted), wanted))
    stack = np.stack(ideas)
    known = len(consensus)
    value, way, members, threshold = choose(stack[:, :known], masks[consensus])
    print(f"{way} of annotators {people[list(members)].tolist()}")
    print(f"validation dice={value:.4f}")
    chances = JOINED[way](stack[list(members), known:], axis=0)
    write_submission(chances > threshold)


def learn(lines: Lines, masks: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """What one annotator would mark in the wanted images, as chances."""
    chosen, sought = lines.candidates[rows], lines.candidates[wanted]
    marked = masks[rows][chosen]
    out = np.zeros(sought.shape)
    if marked.sum() < 5:
        return out
    keep = (marked > 0) | (np.random.default_rng(SEED).random(len(marked)) < 0.5)
    model = ExtraTreesClassifier(
        n_estimators=25, min_samples_leaf=4, max_features=0.4, random_state=SEED
    )
    model.fit(lines.features[rows][chosen][keep], marked[keep])
    out[sought] = model.predict_proba(lines.features[wanted][sought])[:, 1]
    return out


def choose(stack: np.ndarray, truth: np.ndarray) -> tuple[float, str, tuple[int, ...], float]:
    """The way of joining up to three annotators, or all, that fits the consensus best.

    Joining more costs a little, since six images do not tell many ways apart.
    """
    people = range(len(stack))
    groups = [group for size in (1, 2, 3) for group in itertools.combinations(people, size)]
    best = (-1.0, -1.0, "mean", (0,), 0.5)
    for members in [*groups, tuple(people)]:
        for way, join in JOINED.items():
            if len(members) == 1 and way != "mean":
                continue
            threshold, value = best_threshold(join(stack[list(members)], axis=0), truth)
            cost = 0.01 * (len(members) - 1) if way != "mean" else 0.0
            best = max(best, (value - cost, value, way, members, threshold))
    return best[1:]


if __name__ == "__main__":
    main()
