"""Guess what makes a submission, for runs that left no program for it."""

import posixpath
import shlex

from mlagentbench.environment.actions.execute import execute_script, split_words
from mlagentbench.errors import ActionError
from mlagentbench.records import Step
from mlagentbench.runs.journal import History
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import entry_at
from mlagentbench.sandbox.base import WORKSPACE
from mlagentbench.tasks.task import Task


def proposed_command(task: Task, history: History, store: ObjectStore) -> str:
    """The last script that ended well and changed the submission; else the starter's command."""
    path = task.spec.submission.path
    found = task.spec.commands.starter
    before = None if history.run is None else entry_at(store, history.run.snapshot, path)
    for step in history.steps:
        after = entry_at(store, step.snapshot, path)
        if after != before and after is not None:
            found = _command_of(step) or found
        before = after
    return found


def _command_of(step: Step) -> str | None:
    """The command of a step that ran a script successfully; None for other steps."""
    if step.action.name != execute_script.name or step.observation.status != "ok":
        return None
    script, arguments = (step.action.arguments.get(key, "") for key in ("script_name", "arguments"))
    try:
        given = split_words(arguments) if isinstance(arguments, str) else map(str, arguments)
    except ActionError:
        return None
    path = posixpath.relpath(posixpath.join(WORKSPACE, str(script)), WORKSPACE)
    program = "bash" if path.endswith(".sh") else "python"
    return shlex.join([program, path, *given])
