"""The actions that need no model, in the order in which prompts list them."""

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

PAPER_ACTIONS = (
    list_files,
    copy_file,
    inspect_script_lines,
    undo_edit_script,
    execute_script,
    final_answer,
)
"""Of these, what the paper's research agent had by default."""
