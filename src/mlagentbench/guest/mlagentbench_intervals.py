"""What a task's grade.py may import for a test set whose rows come in groups; needs numpy.

Like mlagentbench_task it is laid beside a task's files in the sandbox in which they run. It is a
file of its own because prepared data stand on mlagentbench_task, and not on this.
"""

from collections.abc import Hashable, Sequence

CONFIDENCE = 0.95
RESAMPLES = 1000
FEWEST_GROUPS = 5
SEED = 7_310_954
BATCH = 2_000_000
"""Groups that are drawn at once, so that large test sets fit into memory."""


def resampled_interval(
    groups: Sequence[Hashable],
    values: Sequence[float],
    weights: Sequence[float] | None = None,
) -> list[float] | None:
    """The 95 % interval of a score, were the test set drawn anew group by group.

    The score is the sum of the values over the sum of the weights, which are 1 unless given: a mean
    over rows, or a ratio. Each row belongs to a group: a patient, a dive, a document. In every one
    of 1,000 resamples as many groups as there are, with all their rows, are drawn with replacement,
    always by the same seed; the interval holds the middle 95 % of the scores. None below five
    groups.
    """
    import numpy as np

    rows = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    places: dict[Hashable, int] = {}
    member = np.array([places.setdefault(group, len(places)) for group in groups], dtype=np.int64)
    count = len(places)
    if count < FEWEST_GROUPS:
        return None
    value_sums = np.bincount(member, weights=np.asarray(values, dtype=float), minlength=count)
    weight_sums = np.bincount(member, weights=rows, minlength=count)
    rng = np.random.default_rng(SEED)
    scores: list[float] = []
    while len(scores) < RESAMPLES:
        at_once = min(RESAMPLES - len(scores), max(1, BATCH // count))
        drawn = rng.integers(count, size=(at_once, count))
        totals = weight_sums[drawn].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores += (value_sums[drawn].sum(axis=1) / totals).tolist()
    known = np.array(scores)[np.isfinite(scores)]
    if len(known) == 0:
        return None
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return [float(low), float(high)]
