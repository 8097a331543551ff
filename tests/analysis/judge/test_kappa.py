import math

import pytest
from kappa import agreement


def labels(table: list[list[int]]) -> tuple[list[str], list[str]]:
    """The labels behind a table of counts: rows by the first labeller, columns by the second."""
    names = "abc"
    pairs = [
        (names[row], names[column])
        for row, counts in enumerate(table)
        for column, count in enumerate(counts)
        for _ in range(count)
    ]
    return [one for one, _ in pairs], [other for _, other in pairs]


def test_kappa_and_its_error_by_hand() -> None:
    # observed (20 + 15) / 50 = 0.7; expected 0.5 * 0.6 + 0.5 * 0.4 = 0.5; kappa 0.4
    found = agreement(*labels([[20, 5], [10, 15]]))
    assert (found.n, found.agreeing) == (50, 35)
    assert found.kappa == pytest.approx(0.4)
    # a: 0.4 (1 - 1.1 * 0.6)^2 + 0.3 (1 - 0.9 * 0.6)^2; b: 0.36 (0.1 * 1.1^2 + 0.2 * 0.9^2)
    same = 0.4 * (1 - 1.1 * 0.6) ** 2 + 0.3 * (1 - 0.9 * 0.6) ** 2
    different = 0.36 * (0.1 * (0.6 + 0.5) ** 2 + 0.2 * (0.4 + 0.5) ** 2)
    centre = (0.4 - 0.5 * 0.6) ** 2
    error = math.sqrt((same + different - centre) / 0.5**2 / 50)
    assert found.standard_error == pytest.approx(error)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(0.4 - 1.959964 * error, abs=1e-6)


def test_a_published_example_of_three_labels() -> None:
    # Fleiss, Cohen and Everitt (1969), table 1: kappa 0.429, variance 0.002885 at n = 200
    found = agreement(*labels([[106, 10, 4], [22, 28, 10], [2, 12, 6]]))
    assert found.kappa == pytest.approx(0.429, abs=5e-4)
    assert (found.standard_error or 0) ** 2 == pytest.approx(0.002885, abs=5e-6)


def test_full_agreement_is_one_and_chance_is_nothing() -> None:
    full = agreement(*labels([[5, 0], [0, 5]]))
    assert (full.kappa, full.interval, full.standard_error) == (1.0, None, None)
    assert agreement(*labels([[5, 5], [5, 5]])).kappa == pytest.approx(0.0)


def test_one_label_for_everything_tells_nothing() -> None:
    for table in ([[7, 0], [0, 0]], [[0]]):
        found = agreement(*labels(table))
        assert (found.kappa, found.interval) == (None, None)


def test_labels_of_different_things_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        agreement(["a"], ["a", "b"])
