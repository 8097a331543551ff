"""Crashes, and scripts that were debugged in vain."""

import pytest
from told_runs import Run


@pytest.mark.parametrize(
    ("limit", "form"),
    [("wall time", "time"), ("memory", "memory"), ("output size", "limit"), (None, "exit")],
)
def test_a_crash_has_the_form_of_what_ended_it(limit: str | None, form: str) -> None:
    status = "error" if limit is None else "limit"
    run = Run().execute(observed="...", status=status, limit=limit)
    run.do("Python REPL", "...", status=status, limit=limit, command="1/0")
    assert [(one.steps, one.form) for one in run.found("crash")] == [((1,), form), ((2,), form)]


def test_what_did_not_run_is_no_crash() -> None:
    run = (
        Run().execute(observed="no", status="refused").execute(observed="cut", status="interrupted")
    )
    run.do("Execute Script", "Usage", status="error", fault="bad arguments")
    assert run.found("crash") == []


def test_a_script_that_never_runs_again_is_failed_debugging() -> None:
    run = Run().execute().crash().write("train.py").crash().write("train.py").crash().finish()
    found = run.found("failed-debugging")
    assert [one.steps for one in found] == [(2, 4, 6)]
    assert run.report().debugging[0].solved is False


def test_one_crash_at_the_end_counts_too_but_not_in_a_run_that_did_not_end() -> None:
    assert [one.steps for one in Run().crash().finish().found("failed-debugging")] == [(1,)]
    assert Run().crash().found("failed-debugging") == []
    assert Run().crash().end("failed").found("failed-debugging") == []
    assert len(Run().crash().crash().crash().found("failed-debugging")) == 1


def test_a_script_that_ran_again_or_was_replaced_by_a_good_one_is_none() -> None:
    run = Run().crash().write("train.py").execute().finish()
    assert run.found("failed-debugging") == []
    [episode] = run.report().debugging
    assert (episode.first_step, episode.last_step, episode.solved) == (1, 3, True)
    assert (
        Run().crash("a.py").crash("a.py").execute("b.py").finish().found("failed-debugging") == []
    )


def test_three_crashes_in_a_row_are_failed_debugging_whatever_other_scripts_do() -> None:
    run = Run().crash("a.py").crash("a.py").execute("b.py").crash("a.py").execute("b.py").finish()
    assert [one.steps for one in run.found("failed-debugging")] == [(1, 2, 4)]
    solved = Run().crash("a.py").crash("a.py").crash("a.py").execute("a.py").crash("a.py")
    assert solved.execute("b.py").finish().found("failed-debugging") == []


def test_the_same_script_by_another_path_is_the_same() -> None:
    run = Run().crash("./train.py").execute("/workspace/train.py").finish()
    assert run.found("failed-debugging") == []
