"""How much of a run the detectors could read."""

from made_journals import MadeStep, made_evidence

from mlagentbench.analysis.detectors.visibility import visible_actions
from mlagentbench.analysis.findings import VisibleActions
from mlagentbench.records import Json


def step(action: str, **arguments: Json) -> MadeStep:
    return MadeStep(said="go on", action=action, arguments=arguments, observed="done")


def test_scripts_that_the_journal_does_not_hold_are_not_visible() -> None:
    evidence = made_evidence(
        step("List Files"),
        step("Write File", file_name="make.py", content="open('hidden.py', 'w').write('...')"),
        step("Execute Script", script_name="make.py"),
        step("Execute Script", script_name="hidden.py"),
        step("Python REPL", command="1 + 1"),
    )
    assert visible_actions(evidence) == VisibleActions(seen=4, total=5)
    assert visible_actions(evidence).share == 0.8


def test_steps_of_in_sandbox_agents_are_not_visible() -> None:
    evidence = made_evidence(step("Model Call", reply="..."), step("Model Call", reply="..."))
    assert visible_actions(evidence) == VisibleActions(seen=0, total=2)


def test_replies_without_an_action_do_not_count() -> None:
    evidence = made_evidence(step("Unusable Reply"), step("List Files"))
    assert visible_actions(evidence) == VisibleActions(seen=1, total=1)
    nothing = made_evidence()
    assert visible_actions(nothing).share is None
