"""The budget: every limit ends the run with its own kind, and time goes on after a resume."""

import pytest

from mlagentbench.environment.budget import Budget
from mlagentbench.errors import RunEnded, UsageError
from mlagentbench.limit_table import LIMITS, BudgetLimits, Limit, read_limits
from mlagentbench.records import Usage


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_limits_nothing_ends() -> None:
    budget = Budget(BudgetLimits(), used=Usage(steps=10**6, seconds=1e9, cost=1e9))
    budget.check()
    assert budget.remaining() == BudgetLimits()
    assert budget.command_time(60.0) == 60.0


@pytest.mark.parametrize(
    ("limits", "used", "kind"),
    [
        (BudgetLimits(steps=3), Usage(steps=3), "steps"),
        (BudgetLimits(time=10.0), Usage(seconds=10.5), "time"),
        (BudgetLimits(tokens=100), Usage(input_tokens=60, output_tokens=40), "tokens"),
        (BudgetLimits(cost=1.0), Usage(cost=1.25), "cost"),
        (BudgetLimits(storage=10**9), Usage(stored=10**9), "storage"),
        (BudgetLimits(), Usage(stored=50 * 10**9), "storage"),
    ],
)
def test_each_limit_ends_the_run(limits: BudgetLimits, used: Usage, kind: str) -> None:
    with pytest.raises(RunEnded) as ended:
        Budget(limits, used).check()
    assert ended.value.kind == kind
    Budget(limits).check()


def test_what_is_used_is_counted() -> None:
    budget = Budget(BudgetLimits(steps=3, tokens=100, cost=1.0))
    budget.add_step()
    budget.add_reply(30, 5, 0.25)
    budget.add_reply(10, 5, None)
    assert budget.usage == Usage(steps=1, input_tokens=40, output_tokens=10, cost=0.25)
    assert budget.remaining() == BudgetLimits(steps=2, tokens=50, cost=0.75)


def test_an_unknown_cost_is_not_zero() -> None:
    budget = Budget(BudgetLimits())
    budget.add_reply(1, 1, None)
    assert budget.usage.cost is None


def test_time_is_the_runs_own_clock() -> None:
    clock = Clock()
    budget = Budget(BudgetLimits(time=100.0), clock=clock)
    clock.now += 50
    assert budget.seconds == 0
    budget.start()
    clock.now += 30
    budget.start()
    clock.now += 10
    budget.stop()
    clock.now += 1000
    assert budget.seconds == 40
    later = Budget(BudgetLimits(time=100.0), clock=clock)
    later.resume_from(budget.usage)
    later.start()
    clock.now += 50
    assert later.seconds == 90
    assert later.command_time(3600.0) == 10.0
    clock.now += 10
    with pytest.raises(RunEnded):
        later.check()


def test_the_clock_stands_still_during_the_harnesss_own_work() -> None:
    clock = Clock()
    budget = Budget(BudgetLimits(time=10.0), clock=clock)
    with budget.halted():
        clock.now += 5
    clock.now += 5
    assert budget.seconds == 0, "a clock that did not run is not started by it"
    budget.start()
    clock.now += 1
    with budget.halted():
        clock.now += 5
    clock.now += 2
    assert budget.seconds == 3


def test_limits_are_written_as_before_and_new_ones_only_where_they_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The hash of a run's settings covers them."""
    monkeypatch.setitem(LIMITS._rows, "pages", Limit("pages", "", "pages", lambda used: used.steps))
    assert BudgetLimits(time=5, steps=3).model_dump_json() == (
        '{"steps":3,"time":5.0,"tokens":null,"cost":null}'
    )
    limits = BudgetLimits(pages=2, steps=3)
    written = {"steps": 3, "time": None, "tokens": None, "cost": None, "pages": 2}
    assert limits.model_dump() == written
    assert BudgetLimits.model_validate(written) == limits
    with pytest.raises(RunEnded, match="all 2 pages are used"):
        Budget(limits, used=Usage(steps=2)).check()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"max_steps": 0}, "--max_steps 0: it should be greater than 0"),
        ({"max_steps": "many"}, "--max_steps many: it should be a whole number"),
        ({"max_steps": 2.5}, "--max_steps 2.5: it should be a whole number"),
        ({"max_time": "0s"}, "--max_time 0s: it should be greater than 0"),
        ({"max_time": "soon"}, "--max_time soon: expected a text like '10m'"),
        ({"max_cost": "nan"}, "--max_cost nan: it should be greater than 0"),
    ],
)
def test_a_wrong_amount_is_named(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_limits(settings, option_of=lambda name: f"--{name}")
    assert str(raised.value).startswith(problem)


def test_amounts_are_read_as_people_give_them() -> None:
    given = {"max_steps": "3", "max_time": "2m", "max_cost": "0.5", "max_tokens": None}
    assert read_limits(given, option_of=str) == BudgetLimits(steps=3, time=120.0, cost=0.5)
