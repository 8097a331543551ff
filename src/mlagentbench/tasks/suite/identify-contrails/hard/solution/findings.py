# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What is special about each annotator's masks, as far as public data show it.

- Records with many lines have larger masks: this shows the order of an annotator's masks, whatever
  has happened to their pixels.
- Marked pixels lie on lines of the image: this shows where pixels come from, and confirms the order.
- Annotators who mark the same kinds of lines belong together; the consensus says who is right.
"""

from itertools import combinations

import numpy as np
from exports import layouts, orders, repair
from kinds import PRIOR, STRONG, Kinds, count_by_kind
from lines import TRAITS, Lines
from sklearn.cluster import AgglomerativeClustering

LIKELY_ORDERS = 8
"""So many orders are tried with every layout."""
MOST_SHIFT = 6


def find(lines: Lines, masks: np.ndarray, annotators: np.ndarray) -> dict:
    exports = {}
    for who in np.unique(annotators[annotators > 0]).tolist():
        own = annotators == who
        exports[str(who)] = find_export(lines.strength[own], masks[own])
    repaired = repair(masks, annotators, exports)
    trusted = find_school(lines, repaired, annotators)
    rows = np.isin(annotators, [0, *trusted])
    return {
        "exports": exports,
        "trusted": trusted,
        "traits": find_traits(lines.of(rows), repaired[rows]),
    }


def find_export(strength: np.ndarray, masks: np.ndarray) -> dict:
    """The order, layout and shift by which marked pixels lie on the strongest lines."""
    count, size = len(masks), masks.shape[1]
    shown = np.minimum(strength, 3 * STRONG) ** 0.5
    shown = (shown - shown.mean(axis=(1, 2), keepdims=True)).reshape(count, -1)
    spectrum = np.fft.rfft2(masks.astype(np.float32)).conj()
    likely = likely_orders(strength, masks)
    shifts = np.arange(-MOST_SHIFT, MOST_SHIFT + 1)
    best = -np.inf, {}
    for layout, source in layouts(size).items():
        moved = np.where(source >= 0, shown[:, source], 0).astype(np.float32)
        moved = np.fft.rfft2(moved.reshape(masks.shape))
        sums = np.stack(
            [np.einsum("irc,irc->rc", moved[order], spectrum) for order in likely.values()]
        )
        near = np.fft.irfft2(sums, s=(size, size))[:, -shifts][:, :, -shifts]
        if near.max() > best[0]:
            order, down, right = np.unravel_index(near.argmax(), near.shape)
            shift = [int(shifts[down]), int(shifts[right])]
            export = {"order": list(likely)[order], "layout": layout, "shift": shift}
            best = near.max(), export
    return best[1]


def likely_orders(strength: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
    """Those by which the records with the most lines have the largest masks."""
    amount = np.maximum(strength - STRONG, 0).sum(axis=(1, 2)) ** 0.5
    marked = masks.sum(axis=(1, 2)) ** 0.5
    options = orders(len(masks))
    alike = {name: np.corrcoef(amount[order], marked)[0, 1] for name, order in options.items()}
    best = sorted(alike, key=alike.get, reverse=True)[:LIKELY_ORDERS]
    return {name: options[name] for name in best}


def find_school(lines: Lines, masks: np.ndarray, annotators: np.ndarray) -> list[int]:
    """The annotators who mark the same kinds of lines as the consensus does."""
    people = np.unique(annotators[annotators > 0])
    table = np.array([habits(lines, masks, annotators == who) for who in people])
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    alike = table @ table.T
    # Within a school habits are alike, between schools they are opposed: there is nothing between.
    halfway = (alike.min() + alike[~np.eye(len(people), dtype=bool)].max()) / 2
    clusters = AgglomerativeClustering(
        None, metric="precomputed", linkage="average", distance_threshold=1 - halfway
    ).fit_predict(1 - alike)
    agreed = habits(lines, masks, annotators == 0)
    best = max(np.unique(clusters), key=lambda one: agreed @ table[clusters == one].mean(0))
    return people[clusters == best].tolist()


def habits(lines: Lines, masks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How much more, or less, than usual each kind of line is marked in some records."""
    known = ~np.isnan(masks) & (lines.strength > STRONG) & rows[:, None, None]
    seen, hits = count_by_kind(lines, TRAITS, known, masks)
    usual = hits.sum() / max(seen.sum(), 1)
    return ((hits - usual * seen) / np.sqrt(seen + PRIOR)).ravel()


def find_traits(lines: Lines, masks: np.ndarray) -> list[str]:
    """The traits that, together with the direction, best tell which lines of others are marked."""
    half = np.arange(len(masks)) % 2 == 0

    def surprise(traits: list[str]) -> float:
        total = 0.0
        for rows in (half, ~half):
            table = Kinds(lines.of(rows), masks[rows], traits)
            rate = table.rate(lines.of(~rows))
            known = ~np.isnan(masks[~rows]) & (lines.strength[~rows] > STRONG)
            truth = masks[~rows][known] > 0
            total -= np.log(np.where(truth, rate[known], 1 - rate[known])).sum()
        return total

    options = [list(some) for size in range(4) for some in combinations(TRAITS, size)]
    return min(options, key=surprise)
