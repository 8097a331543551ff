"""Plans: items that were never tried, and how often a plan changed."""

import pytest
from told_runs import Run, research_reply

FIRST = (
    "1. Look at the files. Not done.\n2. Try a ridge regression. Not done.\n3. Submit. Not done."
)
LATER = (
    "1. Look at the files. Done.\n2. Try a ridge regression. Done: MAE 3.1.\n3. Submit. Not done."
)


def planned(*plans: str, kind: str = "submitted") -> Run:
    run = Run()
    for plan in plans[:-1]:
        run.say(research_reply(plan=plan))
        run.do("List Files", "train.py")
    run.say(research_reply("Final Answer", plan=plans[-1]))
    run.do("Final Answer", "over", final_answer="Done.")
    return run.end(kind)


@pytest.mark.parametrize(
    "item",
    [
        "Gradient boosting. Not done.",
        "Tune the depth (not tried)",
        "Blend the two models: pending",
        "Try an ensemble - TODO",
        "[ ] cross-validation",
        "Feature selection: not yet started",
        "Augment the images. Untried.",
        "Pseudo-labels: I did not get to it.",
        "A second seed. Never attempted.",
        "Stack both models; still to come.",
    ],
)
def test_an_item_that_was_not_tried_is_a_finding_at_the_last_step(item: str) -> None:
    run = planned(FIRST, f"1. Look at the files. Done.\n2. {item}\n3. Submit. Not done: now.")
    [found] = run.found("plan-step-never-attempted")
    assert found.steps == (2,)
    assert found.quote == item


@pytest.mark.parametrize(
    "item",
    [
        "Gradient boosting. Done, taken back: MAE 15.0.",
        "Gradient boosting. Done; the depth was not tried.",
        "Submit the best model. Not done.",
        "Write submission.csv, then submit. Pending.",
        "Look at more data. Done: nothing is left to do.",
        "Ridge regression. Done: MAE 14.",
        "Do not touch the test set.",
    ],
)
def test_items_that_were_tried_or_are_about_submitting_are_none(item: str) -> None:
    assert planned(FIRST, f"1. {item}").found("plan-step-never-attempted") == []


def test_only_the_last_plan_of_a_submitted_run_counts() -> None:
    assert planned(FIRST, LATER).found("plan-step-never-attempted") == []
    assert planned(LATER, FIRST).found("plan-step-never-attempted") != []
    assert planned(LATER, FIRST, kind="steps").found("plan-step-never-attempted") == []


def test_a_run_without_a_plan_has_neither_findings_nor_changes() -> None:
    run = Run()
    run.say("I submit. The ensemble was not tried.")
    run.finish()
    assert run.report().plan_changes is None
    assert run.found("plan-step-never-attempted") == []


def test_a_change_of_status_is_no_change_of_the_plan() -> None:
    assert planned(FIRST, LATER).report().plan_changes == 0
    more = LATER + "\n4. (new) Boost the residuals. Not done."
    assert planned(FIRST, LATER, more).report().plan_changes == 1
    other = LATER.replace("Try a ridge regression", "Train a convolutional network")
    assert planned(FIRST, other, LATER).report().plan_changes == 2
