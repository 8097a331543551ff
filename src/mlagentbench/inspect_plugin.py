"""The one entry point that registers tasks, agents, the sandbox and the scorer with Inspect."""

from collections.abc import Callable
from typing import Any

import inspect_ai
from inspect_ai import task as register_task
from inspect_ai._util.error import PrerequisiteError
from pydantic import ValidationError

from mlagentbench.agents.baseline import baseline, nop, oracle
from mlagentbench.environment.sandbox.inspect_provider import bubblewrap
from mlagentbench.running.inspect_task import inspect_task
from mlagentbench.running.run_one import grade_submission, open_run
from mlagentbench.running.settings import RunSettings
from mlagentbench.tasks.task import load_task, task_folders

__all__ = ["baseline", "bubblewrap", "folder", "grade_submission", "nop", "open_run", "oracle"]


@register_task
def folder(path: str, **settings: Any) -> inspect_ai.Task:
    """Any task folder: `inspect eval mlagentbench/folder -T path=DIR`."""
    return inspect_task(load_task(path), path, _read(settings))


def _task_function(task_id: str) -> Callable[..., inspect_ai.Task]:
    def build(**settings: Any) -> inspect_ai.Task:
        return inspect_task(load_task(task_id), task_id, _read(settings))

    build.__name__ = build.__qualname__ = task_id.replace("-", "_")
    build.__doc__ = f"The task {task_id}; -T takes tier, max_steps, max_time, feedback, ..."
    return build


def _read(settings: dict[str, Any]) -> RunSettings:
    try:
        return RunSettings.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        known = ", ".join(RunSettings.model_fields)
        raise PrerequisiteError(
            f"-T {first['loc'][0]}: {first['msg'].lower()}; settings are: {known}"
        ) from error


_TASKS = {
    task_id: register_task(name=task_id.replace("-", "_"))(_task_function(task_id))
    for task_id in task_folders()
}


def registered_task(name_or_path: str, settings: RunSettings) -> inspect_ai.Task:
    """The Inspect task of this name, as `inspect eval` would make it."""
    values = settings.model_dump(exclude_defaults=True)
    if name_or_path in _TASKS:
        return _TASKS[name_or_path](**values)
    return folder(path=name_or_path, **values)
