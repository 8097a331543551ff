"""The sets of actions that agents are given, in the order in which prompts list them."""

from collections.abc import Sequence
from typing import Literal

from mlagentbench.environment.actions.action import Actions, ActionSpec
from mlagentbench.environment.actions.execute import execute_script, final_answer, python_repl
from mlagentbench.environment.actions.files import (
    append_file,
    copy_file,
    inspect_script_lines,
    list_files,
    read_file,
    undo_edit_script,
    write_file,
)
from mlagentbench.environment.actions.submission import validate_submission
from mlagentbench.errors import ActionError, UsageError

STANDARD_ACTIONS = (
    list_files,
    read_file,
    write_file,
    append_file,
    copy_file,
    inspect_script_lines,
    undo_edit_script,
    execute_script,
    python_repl,
    validate_submission,
    final_answer,
)
"""What needs no model."""

PAPER_ACTIONS = (
    list_files,
    copy_file,
    inspect_script_lines,
    undo_edit_script,
    execute_script,
    final_answer,
)
"""What the paper's research agent had by default."""

ALL_ACTIONS = tuple(dict.fromkeys((*STANDARD_ACTIONS, *PAPER_ACTIONS)))

ActionSet = Literal["standard", "paper"]
ACTION_SETS: dict[ActionSet, tuple[ActionSpec, ...]] = {
    "standard": STANDARD_ACTIONS,
    "paper": PAPER_ACTIONS,
}


def choose_actions(names: Sequence[str]) -> tuple[ActionSpec, ...]:
    """The actions of these names; a UsageError says what there is instead."""
    known = Actions(ALL_ACTIONS)
    try:
        return tuple(known.find(name) for name in names)
    except ActionError as error:
        raise UsageError(f"actions: {error}") from error
