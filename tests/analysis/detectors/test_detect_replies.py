"""Replies that nobody understood, invalid actions, and errors of tools."""

from told_runs import Run


def test_each_unreadable_reply_is_a_finding_at_its_step_even_if_the_event_is_repeated() -> None:
    run = Run()
    run.unreadable("gibberish", "fields")
    run.unreadable("", "empty", times=2)
    run.do("Unusable Reply", "Nothing was done: 2 replies in a row could not be read.")
    run.do("List Files", "train.py")
    run.unreadable("no tool", "no tool call")
    found = run.found("unreadable-reply")
    assert [(one.steps, one.form) for one in found] == [
        ((1,), "fields"),
        ((1,), "empty"),
        ((2,), "no tool call"),
    ]
    assert found[0].quote == "gibberish"


def test_an_older_journal_has_one_finding_per_lost_step() -> None:
    run = Run().do("Unusable Reply", "Nothing was done.", status="error").do("List Files", "a")
    assert [(one.steps, one.form) for one in run.found("unreadable-reply")] == [((1,), "")]
    assert run.found("tool-error") == []


def test_invalid_actions_by_their_fault_or_in_older_journals_by_the_observation() -> None:
    run = Run()
    run.do("Fly", "There is no way", status="error", fault="unknown action")
    run.do("Read File", "wrong", status="error", fault="bad arguments")
    run.do("Fly", "There is no action 'Fly'. Actions: List Files, Read File", status="error")
    usage = 'Read File: the argument file_name is missing\nUsage: {"file_name": "[Path]"}'
    run.do("Read File", usage, status="error")
    run.do("Read File", "There is no action in it", file_name="notes.txt")
    found = run.found("invalid-action")
    assert [(one.steps[0], one.form) for one in found] == [
        (1, "unknown action"),
        (2, "bad arguments"),
        (3, "unknown action"),
        (4, "bad arguments"),
    ]
    assert run.found("tool-error") == []


def test_tool_errors_are_no_executions_no_checks_and_no_invalid_actions() -> None:
    run = Run()
    run.do("Read File", "a.txt does not exist", status="error", file_name="a.txt")
    run.crash()
    run.do("Python REPL", "NameError", status="error", command="x")
    wrong = "submission.csv is not a valid submission: submission.csv not found"
    run.do("Validate Submission", wrong, status="error")
    run.do("Write File", "/etc is outside", status="refused", file_name="/etc/x", content="")
    assert [one.steps for one in run.found("tool-error")] == [(1,)]
