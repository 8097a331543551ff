"""What a step was in terms of the codebook: an edit, an execution, an invalid action."""

import posixpath
import re
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from mlagentbench.records import Json, Step


class ActionName(StrEnum):
    """The actions that detectors know, in the spelling that `action_of` returns."""

    LIST_FILES = "list files"
    READ_FILE = "read file"
    WRITE_FILE = "write file"
    APPEND_FILE = "append file"
    REPLACE_IN_FILE = "replace in file"
    COPY_FILE = "copy file"
    EDIT_SCRIPT = "edit script (ai)"
    EDIT_SEGMENT = "edit script segment (ai)"
    UNDO_EDIT = "undo edit script"
    EXECUTE_SCRIPT = "execute script"
    PYTHON_REPL = "python repl"
    VALIDATE_SUBMISSION = "validate submission"
    FINAL_ANSWER = "final answer"
    UNUSABLE_REPLY = "unusable reply"


MODEL_CALL = "model call"
"""The step of an in-sandbox agent: a call of its model, and all that it did until the next."""
_WRITTEN_BY_NAME = (ActionName.WRITE_FILE, ActionName.APPEND_FILE, ActionName.REPLACE_IN_FILE)
_NOTHING_CHANGED = re.compile(r"The edit model left .{1,300} as it is: nothing changed\.\Z", re.S)
_WORKSPACE = "/workspace"
_UNKNOWN_ACTION = re.compile(r"There is no action ['\"].{0,400}?\. .*Actions: ", re.S)
_BAD_ARGUMENTS = re.compile(r"\nUsage: \{.*\}\Z", re.S)

InvalidForm = Literal["unknown action", "bad arguments"]


def action_of(step: Step) -> str:
    """The action's name, in the spelling of `ActionName`."""
    return _one_spelling(step.action.name)


@lru_cache(maxsize=1024)
def _one_spelling(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def argument(step: Step, name: str) -> str:
    """A string argument; "" when it is missing or has another type."""
    value = step.action.arguments.get(name)
    return value if isinstance(value, str) else ""


def strings_in(value: Json) -> list[str]:
    """Every string and number in a JSON value, as text, from left to right."""
    found: list[str] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            left.extend(reversed(list(one.values())))
        elif isinstance(one, list):
            left.extend(reversed(one))
        elif isinstance(one, int | float) and not isinstance(one, bool):
            found.append(str(one))
    return found


def plain_path(path: str) -> str:
    """A path of the workspace as one name: `./a/../train.py` is `train.py`."""
    path = path.strip().encode("utf-8", "replace").decode()
    path = posixpath.normpath(path) if path else ""
    if path.startswith(f"{_WORKSPACE}/"):
        path = path.removeprefix(f"{_WORKSPACE}/")
    return "" if path == "." else path


def invalid_form(step: Step) -> InvalidForm | None:
    """What is wrong with the action's form; older journals say so only in the observation."""
    if step.observation.fault is not None:
        return step.observation.fault
    if step.observation.status != "error" or action_of(step) == ActionName.UNUSABLE_REPLY:
        return None
    text = step.observation.text
    if _UNKNOWN_ACTION.match(text):
        return "unknown action"
    if text.casefold().startswith(f"{action_of(step)}: ") and _BAD_ARGUMENTS.search(text):
        return "bad arguments"
    return None


def edited_file(step: Step) -> str:
    """The file that an edit wrote; "" when the step is not an edit."""
    if step.observation.status != "ok":
        return ""
    name = action_of(step)
    if name in _WRITTEN_BY_NAME:
        return plain_path(argument(step, "file_name"))
    if name == ActionName.COPY_FILE:
        return plain_path(argument(step, "destination"))
    if name == ActionName.UNDO_EDIT:
        return plain_path(argument(step, "script_name"))
    if name in (ActionName.EDIT_SCRIPT, ActionName.EDIT_SEGMENT):
        if _NOTHING_CHANGED.match(step.observation.text):
            return ""
        return plain_path(argument(step, "save_name") or argument(step, "script_name"))
    return ""


def is_program(path: str) -> bool:
    return path.endswith((".py", ".sh"))


def is_execution(step: Step) -> bool:
    """Whether the step ran code: a script, or Python in the REPL session."""
    if action_of(step) == ActionName.PYTHON_REPL:
        return step.observation.status not in ("refused", "interrupted") and not invalid_form(step)
    return bool(executed_script(step))


def executed_script(step: Step) -> str:
    """The script that Execute Script ran, successfully or not; "" for every other step."""
    if action_of(step) != ActionName.EXECUTE_SCRIPT or invalid_form(step) is not None:
        return ""
    if step.observation.status in ("refused", "interrupted"):
        return ""
    return plain_path(argument(step, "script_name"))
