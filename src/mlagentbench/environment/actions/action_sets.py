"""The sets of actions for agents, in the order of the prompts."""

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
    replace_in_file,
    undo_edit_script,
    write_file,
)
from mlagentbench.environment.actions.model_assisted import (
    append_summary_to_research_log,
    edit_script,
    edit_script_segment,
    reflection,
    request_help,
    retrieval_from_research_log,
    understand_file,
)
from mlagentbench.environment.actions.submission import validate_submission
from mlagentbench.errors import ActionError, UsageError

STANDARD_ACTIONS = (
    list_files,
    read_file,
    write_file,
    replace_in_file,
    append_file,
    copy_file,
    inspect_script_lines,
    undo_edit_script,
    execute_script,
    python_repl,
    validate_submission,
    final_answer,
)
"""The actions that need no model."""

PAPER_ACTIONS = (
    list_files,
    understand_file,
    copy_file,
    inspect_script_lines,
    undo_edit_script,
    edit_script,
    execute_script,
    reflection,
    final_answer,
)
"""The default actions of the paper's research agent."""

ALL_ACTIONS = (
    list_files,
    understand_file,
    read_file,
    write_file,
    replace_in_file,
    append_file,
    copy_file,
    inspect_script_lines,
    edit_script,
    edit_script_segment,
    undo_edit_script,
    execute_script,
    python_repl,
    reflection,
    append_summary_to_research_log,
    retrieval_from_research_log,
    validate_submission,
    request_help,
    final_answer,
)
"""All actions for an agent's setting `actions`; Request Help only in interactive runs."""

ActionSet = Literal["standard", "paper", "none"]
ACTION_SETS: dict[ActionSet, tuple[ActionSpec, ...]] = {
    "standard": STANDARD_ACTIONS,
    "paper": PAPER_ACTIONS,
    "none": (),
}


def choose_actions(names: Sequence[str]) -> tuple[ActionSpec, ...]:
    """The actions of these names; raises UsageError with the known names."""
    known = Actions(ALL_ACTIONS)
    if isinstance(names, str):
        raise UsageError(f'actions: {names!r} is not a list; write actions=["List Files", ...]')
    try:
        return tuple(known.find(name) for name in names)
    except ActionError as error:
        raise UsageError(f"actions: {error}") from error


def without_execution(specs: Sequence[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The actions of a run in which nothing can be executed."""
    return tuple(spec for spec in specs if not spec.executes)


def without_help(specs: Sequence[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The actions of a run that is not interactive."""
    return tuple(spec for spec in specs if spec is not request_help)


def with_help(specs: Sequence[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The actions of an interactive run: with Request Help, before the one that ends the run."""
    others = without_help(specs)
    last = [spec for spec in others if spec.ends_run]
    return (*(spec for spec in others if not spec.ends_run), request_help, *last)
