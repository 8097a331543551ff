"""The figures of a cell: what counts, what is missing, and what is said beside it."""

import pytest
from made_runs import graded, point, run, validation

from mlagentbench.analysis.findings import Finding, ProcessReport, VisibleActions
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.errors import OutcomeKind
from mlagentbench.numeric.intervals import t_interval, wilson_interval
from mlagentbench.records import GradeRecord, Outcome, Usage
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards


def test_the_figures_of_a_cell() -> None:
    scores = [0.2, 0.6, 0.9, None, 0.7]
    [cell] = cell_statistics([run(n, graded(score)) for n, score in enumerate(scores, start=1)])
    assert (cell.runs, cell.counted, cell.missing, cell.greyed) == (5, 5, 0, False)
    assert (cell.floor, cell.bar, cell.reference) == (10.0, 6.0, 2.0)
    assert cell.success.rate == 3 / 5 and cell.success.interval == wilson_interval(3, 5)
    assert (cell.valid.successes, cell.valid.n) == (4, 5)
    assert (cell.paper_success.successes, cell.paper_success.n) == (4, 5)
    assert cell.paper_improvement.n == 4 and cell.paper_improvement.mean == pytest.approx(0.48)
    assert cell.score.mean == pytest.approx(10 - 8 * 0.6) and cell.score.interval is None
    assert cell.normalised.points == (0.2, 0.6, 0.9, 0.0, 0.7)
    assert cell.normalised.interval == t_interval([0.2, 0.6, 0.9, 0.0, 0.7])
    assert cell.pass_at == {1: pytest.approx(0.6), 2: pytest.approx(0.9), 4: 1.0}
    assert cell.success.bounds is None and cell.marks == ("no submission",)


def test_what_infrastructure_stopped_is_missing_and_shown() -> None:
    provider = Outcome(kind="failed", cause="model", detail="502")
    [cell] = cell_statistics(
        [
            *(run(n, graded(0.8)) for n in range(1, 7)),
            run(7, graded(0.1)),
            run(8, None, outcome=provider),
            run(9, None, outcome=None),
        ]
    )
    assert (cell.runs, cell.counted, cell.missing, cell.greyed) == (9, 7, 2, True)
    assert cell.missing_reasons == {"provider failed": 1, "did not end": 1}
    assert (cell.success.successes, cell.success.n) == (6, 7)
    assert cell.success.bounds is not None
    assert (cell.success.bounds.low, cell.success.bounds.high) == (6 / 9, 8 / 9)
    assert "2 of 9 missing: provider failed, did not end" in cell.marks


def test_each_rule_has_its_own_bounds_for_missing_runs() -> None:
    """0.2 is more than 10 % better than the starter, but below the bar."""
    lost = run(4, None, outcome=None)
    [cell] = cell_statistics([*(run(n, graded(s)) for n, s in enumerate([0.2, 0.2, 0.9], 1)), lost])
    bounds = [rate.bounds for rate in (cell.success, cell.paper_success, cell.valid)]
    assert [(one.low, one.high) for one in bounds if one is not None] == [
        (1 / 4, 2 / 4),
        (3 / 4, 4 / 4),
        (3 / 4, 4 / 4),
    ]


def test_a_tenth_missing_is_not_yet_grey() -> None:
    runs = [*(run(n, graded(0.8)) for n in range(1, 10)), run(10, None, outcome=None)]
    [cell] = cell_statistics(runs)
    assert not cell.greyed


@pytest.mark.parametrize("kind", ["steps", "time", "tokens", "cost", "context", "refusal"])
def test_what_the_agent_ran_out_of_is_its_own_fault(kind: OutcomeKind) -> None:
    [cell] = cell_statistics([run(1, graded(None), outcome=Outcome(kind=kind))])
    assert cell.missing == 0 and cell.success.rate == 0.0 and cell.normalised.mean == 0.0


def test_runs_of_one_history_count_once() -> None:
    """Two branches that succeed and their origin are one history; the other run failed."""
    branched = [run(n, graded(0.8), cluster="one") for n in (1, 2, 3)]
    [cell] = cell_statistics([*branched, run(4, graded(0.2), cluster="two")])
    assert (cell.success.successes, cell.success.n, cell.success.rate) == (3, 4, 0.5)
    assert cell.success.interval == wilson_interval(1, 2)
    assert cell.normalised.n == 2 and cell.normalised.mean == pytest.approx(0.5)
    assert [history.runs for history in cell.clusters] == [3, 1]
    assert cell.pass_at == {} and cell.best_of == ()
    assert "4 runs of 2 histories: each history counts once" in cell.marks


def test_best_seen_against_submitted() -> None:
    lost_it = run(1, graded(0.3), points=(point(0, 0.0), point(10, 0.9), point(40, 0.3)))
    only_graded_at_the_end = run(2, graded(0.8), points=(point(40, 0.8),))
    [cell] = cell_statistics([lost_it, only_graded_at_the_end])
    assert cell.best_seen.points == (0.9,) and cell.submitted_of_those.points == (0.3,)


def test_best_of_k_is_there_for_every_k_that_the_runs_allow() -> None:
    graded_steps = [
        run(n, graded(0.6), points=tuple(point(step, 0.6) for step in range(41)),
            validations=(validation(3, 1.0),))
        for n in range(1, 6)
    ]  # fmt: skip
    [cell] = cell_statistics(graded_steps)
    assert [(one.k, one.steps_each) for one in cell.best_of] == [(1, 50), (2, 25), (4, 12)]
    assert all(one.chosen == pytest.approx(0.6) for one in cell.best_of)


def test_what_a_success_costs_includes_the_failures() -> None:
    [cell] = cell_statistics([run(1, graded(0.9)), run(2, graded(0.1)), run(3, graded(0.2))])
    assert cell.tokens_per_success == 3000 and cell.cost_per_success == pytest.approx(1.5)
    [never] = cell_statistics([run(1, graded(0.1))])
    assert never.tokens_per_success is None
    unknown = Usage(steps=4, seconds=1.0, input_tokens=5)
    [cell] = cell_statistics([run(1, graded(0.9)), run(2, graded(0.9), usage=unknown)])
    assert cell.cost_per_success is None and cell.cost.n == 1


def test_the_test_sets_interval_is_that_of_the_median_run() -> None:
    intervals = {0.2: (7.0, 9.0), 0.5: (5.0, 7.0), 0.9: (1.0, 4.0)}
    runs = [run(n, graded(s), interval=one) for n, (s, one) in enumerate(intervals.items(), 1)]
    [cell] = cell_statistics(runs)
    assert cell.test_set_interval is not None
    assert (cell.test_set_interval.low, cell.test_set_interval.high) == (5.0, 7.0)
    [without] = cell_statistics([run(1, graded(0.5))])
    assert without.test_set_interval is None


def test_data_that_nobody_measured_have_no_rate() -> None:
    unjudged = GradeRecord(step=40, valid=True, score=6.0)
    [cell] = cell_statistics([run(1, unjudged)])
    assert cell.success.rate is None and cell.success.n == 0 and cell.pass_at == {}
    assert cell.normalised.mean is None and cell.score.n == 1


def test_bounds_and_totals_of_branched_runs() -> None:
    """Bounds count each history once, as the rate does; what was used is that of every run."""
    branched = [run(n, graded(0.8), cluster="one", usage=Usage(input_tokens=10)) for n in (1, 2, 3)]
    failed = run(4, graded(0.2), cluster="two", usage=Usage(input_tokens=90))
    lost = run(5, None, outcome=None, cluster="one")
    [cell] = cell_statistics([*branched, failed, lost])
    assert cell.success.rate == 0.5
    assert cell.success.bounds is not None
    assert (cell.success.bounds.low, cell.success.bounds.high) == ((3 / 4 + 0) / 2, (4 / 4 + 0) / 2)
    assert (cell.total_tokens, cell.tokens_per_success) == (120, 40)


def test_imported_runs_are_marked() -> None:
    [cell] = cell_statistics([run(1, graded(0.8), origin="legacy")])
    assert "imported from the original's logs" in cell.marks


def test_success_is_shown_with_flagged_runs_as_failures() -> None:
    """A finding is an attempt: the score stands, and both rates are shown."""
    attempt = ProcessReport(
        findings=(Finding(kind="boundary", steps=(1,), detail="looks", level="answers"),),
        visible=VisibleActions(seen=3, total=4),
    )
    honest = ProcessReport(
        findings=(Finding(kind="boundary", steps=(1,), detail="network", level="ordinary"),),
        visible=VisibleActions(seen=4, total=4),
    )
    runs = [
        run(1, graded(0.9)).model_copy(update={"process": attempt}),
        run(2, graded(0.9)).model_copy(update={"process": honest}),
        run(3, graded(0.1)).model_copy(update={"process": attempt}),
        run(4, graded(None, broken_rule=True)),
    ]
    [cell] = cell_statistics(runs)
    assert (cell.success.successes, cell.success.n) == (2, 4)
    assert (cell.unflagged_success.successes, cell.unflagged_success.n) == (1, 4)
    assert (cell.flagged.successes, cell.flagged.n) == (3, 4)
    assert cell.flagged.interval == wilson_interval(3, 4)
    assert cell.broken_rules == 1
    assert cell.visible == VisibleActions(seen=10, total=12)
    [leaderboard] = leaderboards([cell])
    [row] = [one for one in leaderboard.rows if not one.is_reference_agent]
    assert row.flagged.mean == 0.75 and row.unflagged_success.mean == 0.25
    assert any(": 3 of 4 runs; success 25 %" in mark for mark in row.marks)
    assert "detectors could read 10 of 12 actions" in row.marks


def test_the_mark_of_flagged_runs_rounds_half_up() -> None:
    attempt = ProcessReport(
        findings=(Finding(kind="boundary", steps=(1,), detail="looks", level="answers"),)
    )
    scores = [0.9, *[0.1] * 7]
    runs = [run(epoch, graded(score)) for epoch, score in enumerate(scores, start=1)]
    runs[-1] = runs[-1].model_copy(update={"process": attempt})
    [leaderboard] = leaderboards(cell_statistics(runs))
    [row] = [one for one in leaderboard.rows if not one.is_reference_agent]
    assert any(": 1 of 8 runs; success 13 % if" in mark for mark in row.marks), row.marks


def test_a_warning_names_the_runs_that_it_is_about() -> None:
    def warned(epoch: int, text: str | None) -> RunSummary:
        return run(epoch, graded(0.8, extra={} if text is None else {"warning": text}))

    texts = [None, "noisy", "noisy", "x"]
    [cell] = cell_statistics([warned(epoch, text) for epoch, text in enumerate(texts, start=1)])
    assert cell.marks == ("run 4: x", "runs 2, 3: noisy")
    [cell] = cell_statistics([warned(1, "noisy"), warned(2, "noisy")])
    assert cell.marks == ("noisy",)
    [cell] = cell_statistics([warned(3, "noisy")])
    assert cell.marks == ("run 3: noisy",)
