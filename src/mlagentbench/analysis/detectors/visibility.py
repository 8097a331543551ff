"""Which of a run's actions the detectors could read: what they cannot read, they cannot find."""

from mlagentbench.analysis.detectors.parsing.program_texts import ProgramTexts
from mlagentbench.analysis.detectors.parsing.step_facts import (
    MODEL_CALL,
    ActionName,
    action_of,
    executed_script,
)
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import VisibleActions
from mlagentbench.records import Step


def visible_actions(evidence: RunEvidence) -> VisibleActions:
    """An action is visible if the journal holds the code that it ran, or if it ran none.

    A step of an in-sandbox agent is not: what the agent did between two model calls is unknown. Nor
    is the execution of a script that another program wrote. Replies without an action do not count.
    """
    programs = ProgramTexts(evidence.texts)
    seen = total = 0
    for step in evidence.history.steps:
        if action_of(step) == ActionName.UNUSABLE_REPLY:
            continue
        total += 1
        seen += _is_visible(step, programs)
        programs.follow(step)
    return VisibleActions(seen=seen, total=total)


def _is_visible(step: Step, programs: ProgramTexts) -> bool:
    if action_of(step) == MODEL_CALL:
        return False
    script = executed_script(step)
    return not script or programs.text(script) is not None
