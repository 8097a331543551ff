"""Several attempts: pass@k against all choices there are, and the best of k cut runs."""

from itertools import combinations
from math import comb
from statistics import fmean

import pytest
from made_runs import graded, point, run, validation

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.statistics.pass_at_k import best_of_k, pass_at_k


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_is_the_share_of_choices_with_a_success(n: int) -> None:
    for successes in range(n + 1):
        runs = [True] * successes + [False] * (n - successes)
        for k in range(1, n + 1):
            share = fmean(any(chosen) for chosen in combinations(runs, k))
            assert pass_at_k(n, successes, k) == pytest.approx(share)
            assert pass_at_k(n, successes, k) == 1 - comb(n - successes, k) / comb(n, k)


def test_pass_at_k_needs_k_runs() -> None:
    with pytest.raises(ValueError, match="pass@4 cannot be estimated from 3 runs"):
        pass_at_k(3, 1, 4)


def tried(epoch: int, at_20: float | None, told: float | None, end: float) -> RunSummary:
    """A run graded after steps 20 and 40 that told a validation score by step 15."""
    return run(
        epoch,
        graded(end),
        points=(point(0, None), point(20, at_20), point(40, end)),
        validations=() if told is None else (validation(15, told), validation(35, 0.0)),
    )


RUNS = [tried(1, 0.4, 3.0, 0.9), tried(2, 0.8, 2.0, 0.3), tried(3, None, 1.0, 0.6)]


def test_one_run_has_all_steps() -> None:
    one = best_of_k(RUNS, 40, 1)
    assert one.steps_each == 40
    assert one.chosen == pytest.approx(0.6) and one.oracle == pytest.approx(0.6)


def test_the_best_of_two_halves_is_the_mean_over_all_pairs() -> None:
    """Lower is better here: run 3 tells the best score, and has no valid submission by then."""
    at_cut, told = {1: 0.4, 2: 0.8, 3: 0.0}, {1: 3.0, 2: 2.0, 3: 1.0}
    pairs = list(combinations((1, 2, 3), 2))
    two = best_of_k(RUNS, 40, 2)
    assert two.steps_each == 20
    assert two.chosen == pytest.approx(
        fmean(at_cut[min(pair, key=told.__getitem__)] for pair in pairs)
    )
    assert two.oracle == pytest.approx(fmean(max(at_cut[one] for one in pair) for pair in pairs))


def test_of_runs_that_tell_the_same_each_may_be_taken() -> None:
    alike = [tried(1, 0.2, 5.0, 0.2), tried(2, 0.6, 5.0, 0.6), tried(3, 0.7, None, 0.7)]
    two = best_of_k(alike, 40, 2)
    # pairs (1, 2), (1, 3), (2, 3): who tells nothing is never preferred
    assert two.chosen == pytest.approx(fmean([(0.2 + 0.6) / 2, 0.2, 0.6]))
    assert two.oracle == pytest.approx(fmean([0.6, 0.7, 0.7]))


def test_what_was_not_graded_is_unknown() -> None:
    only_the_end = run(4, graded(0.5), points=(point(40, 0.5),))
    two = best_of_k([*RUNS, only_the_end], 40, 2)
    assert (two.chosen, two.oracle) == (None, None)
    assert best_of_k([*RUNS, only_the_end], 40, 1).oracle == pytest.approx((0.9 + 0.3 + 1.1) / 4)


def test_nobody_can_choose_without_a_common_validation_score() -> None:
    silent = [tried(1, 0.2, None, 0.2), tried(2, 0.6, None, 0.6)]
    assert best_of_k(silent, 40, 2).chosen is None
    other = tried(2, 0.6, None, 0.6).model_copy(
        update={"validations": (validation(5, 0.5, metric="r2"),)}
    )
    two = best_of_k([tried(1, 0.2, 5.0, 0.2), other], 40, 2)
    assert two.chosen is None and two.oracle == pytest.approx(0.6)


def test_only_the_tasks_own_metric_tells_which_run_is_best() -> None:
    """A starter that must be fast prints how far its answers agree: more of that is not better."""
    runs = [
        run(
            n, graded(0.8), points=(point(20, worth), point(40, 0.8)),
            validations=(validation(15, agreement, metric="agreement"),),
        )
        for n, worth, agreement in ((1, 0.1, 0.2), (2, 0.9, 0.99))
    ]  # fmt: skip
    two = best_of_k(runs, 40, 2)
    assert (two.chosen, two.oracle) == (None, 0.9)
