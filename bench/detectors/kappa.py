"""Cohen's kappa with its interval: agreement of two labellers beyond chance."""

import math
from collections import Counter
from collections.abc import Sequence

from mlagentbench.numeric.intervals import Interval
from mlagentbench.records import Record

NORMAL_95 = 1.959963984540054


class Agreement(Record):
    """Cohen's kappa of two labellers; unknown where both use one and the same label only.

    The 95 % interval is the large-sample one, by Fleiss, Cohen and Everitt's variance, cut to
    what kappa can be. Where the two never differ, that variance is 0 however few things there
    are; error and interval are then unknown.
    """

    n: int
    agreeing: int
    kappa: float | None
    standard_error: float | None
    interval: Interval | None


def agreement(first: Sequence[str], second: Sequence[str]) -> Agreement:
    """Compare the labels that two gave to the same things, in the same order."""
    n = len(first)
    pairs = Counter(zip(first, second, strict=True))
    agreeing = sum(count for (one, other), count in pairs.items() if one == other)
    unknown = Agreement(n=n, agreeing=agreeing, kappa=None, standard_error=None, interval=None)
    if n == 0:
        return unknown
    shares = {pair: count / n for pair, count in pairs.items()}
    labels = {*first, *second}
    rows = {label: first.count(label) / n for label in labels}
    columns = {label: second.count(label) / n for label in labels}
    observed = agreeing / n
    expected = sum(rows[label] * columns[label] for label in labels)
    if math.isclose(expected, 1.0):
        return unknown
    if agreeing == n:
        return unknown.model_copy(update={"kappa": 1.0})
    kappa = (observed - expected) / (1 - expected)
    error = math.sqrt(_variance(shares, rows, columns, kappa, expected) / n)
    margin = NORMAL_95 * error
    return Agreement(
        n=n,
        agreeing=agreeing,
        kappa=kappa,
        standard_error=error,
        interval=Interval(low=max(-1.0, kappa - margin), high=min(1.0, kappa + margin)),
    )


def _variance(
    shares: dict[tuple[str, str], float],
    rows: dict[str, float],
    columns: dict[str, float],
    kappa: float,
    expected: float,
) -> float:
    """n times the variance of kappa when the two do agree more than by chance."""
    same = sum(
        shares.get((label, label), 0.0) * (1 - (rows[label] + columns[label]) * (1 - kappa)) ** 2
        for label in rows
    )
    different = (1 - kappa) ** 2 * sum(
        share * (columns[one] + rows[other]) ** 2
        for (one, other), share in shares.items()
        if one != other
    )
    centre = (kappa - expected * (1 - kappa)) ** 2
    return max(0.0, same + different - centre) / (1 - expected) ** 2
