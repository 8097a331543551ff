"""The status of the original's steps, inferred from the text of their observations."""

import re

from mlagentbench.environment.actions.action import Actions
from mlagentbench.environment.actions.action_sets import ALL_ACTIONS
from mlagentbench.errors import ActionError
from mlagentbench.legacy.original_log import LegacyStep
from mlagentbench.records import Json, Observation

ALIASES = {
    "edit script": "Edit Script (AI)",
    "edit script segment": "Edit Script Segment (AI)",
    "edit script lines (ai)": "Edit Script Segment (AI)",
    "append to research log": "Append Summary to Research Log",
}
"""Action names of early releases, in lower case."""
EDITED_ARGUMENT = {
    "Write File": "file_name",
    "Append File": "file_name",
    "Copy File": "destination",
    "Edit Script (AI)": "save_name",
    "Edit Script Segment (AI)": "save_name",
}
"""The argument with the file that an action writes."""
UNDO = "Undo Edit Script"
_READ_ONLY = re.compile(r"read-only file|not in the work directory")
_BAD_ARGUMENTS = re.compile(r"(EnvError: )?The action input for .* needs to be a valid json")
_CRASH = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
_LAST_LINE = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit)\b.*\Z")


def our_name(name: str) -> str:
    """Our name of an action of the original; unknown names are unchanged."""
    try:
        return Actions(ALL_ACTIONS).find(ALIASES.get(name.lower(), name)).name
    except ActionError:
        return name


def observation_of(step: LegacyStep) -> Observation:
    """The observation with its status; exit codes were not recorded."""
    text = step.observation
    if text.startswith("Invalid action:"):
        return Observation(text=text, status="error", fault="unknown action")
    if _BAD_ARGUMENTS.match(text):
        return Observation(text=text, status="error", fault="bad arguments")
    if text.startswith("The environment has shut down"):
        return Observation(text=text, status="interrupted")
    if text.startswith(("EnvError:", "LLMError:")):
        refused = _READ_ONLY.search(text) is not None
        return Observation(text=text, status="refused" if refused else "error")
    if our_name(step.action) == "Execute Script" and _has_crashed(text):
        return Observation(text=text, status="error")
    return Observation(text=text)


def _has_crashed(text: str) -> bool:
    """Whether a script's output ends like an uncaught Python exception.

    The original showed only the stderr of a failing script.
    """
    lines = text.rstrip().splitlines()
    return bool(lines) and _CRASH.search(text) is not None and bool(_LAST_LINE.match(lines[-1]))


def edited_file(step: LegacyStep) -> str | None:
    """The file that a successful step wrote."""
    argument = EDITED_ARGUMENT.get(our_name(step.action))
    if argument is None or observation_of(step).status != "ok":
        return None
    return _path(step.arguments.get(argument))


def undone_file(step: LegacyStep) -> str | None:
    """The file whose last change a successful step undid."""
    if our_name(step.action) != UNDO or observation_of(step).status != "ok":
        return None
    return _path(step.arguments.get("script_name"))


def _path(value: Json) -> str | None:
    return value.removeprefix("./") if isinstance(value, str) and value else None
