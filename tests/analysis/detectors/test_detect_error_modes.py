"""The paper's error modes of an unsuccessful run."""

from typing import Any

from told_runs import Run, research_reply

from mlagentbench.records import GradeRecord


def modes(run: Run, grade: GradeRecord | None) -> list[tuple[str, int]]:
    report = run.report() if grade is None else run.report(grade)
    return [(held.mode, held.step) for held in report.error_modes]


def failed(step: int, **rest: Any) -> GradeRecord:
    values = {"step": step, "valid": True, "score": 1.0, "success": False, **rest}
    return GradeRecord.model_validate(values)


def test_a_success_and_an_unknown_one_have_none() -> None:
    run = Run().crash().finish()
    assert modes(run, None) == []
    assert modes(run, failed(2, success=True)) == []
    assert modes(run, failed(2, success=None)) == []


def test_what_no_rule_explains_is_unclassified() -> None:
    assert modes(Run().execute().finish(), failed(2)) == [("unclassified", 2)]


def test_several_may_hold_and_the_first_in_time_is_the_first_cause() -> None:
    run = Run().execute()
    run.say(research_reply(thought="The accuracy is 0.7311."))
    run.crash().finish()
    grade = failed(3, paper_improvement=0.02)
    expected = [("hallucination", 2), ("debugging", 2), ("small improvement", 3)]
    assert modes(run, grade) == expected
    assert run.report(grade).first_cause == "hallucination"


def test_token_length() -> None:
    assert modes(Run().execute().end("context"), failed(1)) == [("token length", 1)]


def test_response_format_by_a_lost_step_or_by_half_of_the_actions() -> None:
    run = Run().execute().do("Unusable Reply", "Nothing.", status="error").end("steps")
    assert modes(run, failed(2)) == [("response format", 2)]
    run = Run().do("Fly", "no", status="error", fault="unknown action").execute().end("steps")
    assert modes(run, failed(2)) == [("response format", 1)]
    run = Run().execute().do("Fly", "no", status="error", fault="unknown action").execute()
    assert modes(run.end("steps"), failed(3)) == [("unclassified", 3)]


def test_submission_format_when_something_was_handed_in_or_the_last_check_failed() -> None:
    invalid = {"valid": False, "score": None}
    run = Run().execute().finish()
    assert modes(run, failed(2, reason="row ids differ: 1 missing, first: 3", **invalid)) == [
        ("submission format", 2)
    ]
    missing = failed(2, reason="no submission: submission.csv not found", **invalid)
    assert modes(run, missing) == [("no submission", 2)]
    wrong = "submission.csv is not a valid submission: submission.csv not found"
    run = Run().do("Validate Submission", wrong, status="error").finish()
    assert modes(run, missing) == [("no submission", 2)]
    run = Run().do("Validate Submission", wrong, status="error")
    run.do("Validate Submission", "submission.csv is a valid submission.").finish()
    assert modes(run, failed(3)) == [("unclassified", 3)]


def test_no_submission_is_the_cause_whatever_else_showed_before() -> None:
    run = Run().crash().finish()
    missing = failed(2, reason="no submission: submission.csv not found", valid=False, score=None)
    assert modes(run, missing) == [("debugging", 1), ("no submission", 2)]
    assert run.report(missing).first_cause == "no submission"


def test_small_improvement() -> None:
    run = Run().execute().finish()
    assert modes(run, failed(2, paper_improvement=2e-11)) == [("unclassified", 2)]
    assert modes(run, failed(2, paper_improvement=0.03)) == [("small improvement", 2)]
    assert modes(run, failed(2, paper_improvement=-0.03)) == [("unclassified", 2)]
