"""Task folders as Inspect tasks with one sample each, whose epochs are the runs.

Importing this registers `mlagentbench/<task>` for every known task, and `mlagentbench/folder`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import inspect_ai
from inspect_ai import task as register_task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig

from mlagentbench.agents.scripted import baseline
from mlagentbench.errors import UsageError
from mlagentbench.inspect_private import prerequisite_error
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.launch.request import RunSettings, read_settings
from mlagentbench.launch.run_one import RUN_ID, close_run, grade_submission, start_run
from mlagentbench.sandbox.sandbox_registry import SANDBOXES
from mlagentbench.tasks.task import task_folders
from mlagentbench.untrusted_text import one_line

HARD_STOP_GRACE = 1800.0
"""Seconds beyond a run's time limit after which Inspect stops it."""
MAX_RETRIES = 11
"""Retries of a failing model call, unless told otherwise.

Inspect waits 3 seconds, then twice as long each time, up to half an hour: 81 minutes in all. So a
run survives an outage of an hour.
"""


@register_task
def folder(path: str, **settings: Any) -> inspect_ai.Task:
    """Any task folder: `inspect eval mlagentbench/folder -T path=DIR`."""
    return _build(path, settings)


def _task_function(task_id: str) -> Callable[..., inspect_ai.Task]:
    def build(**settings: Any) -> inspect_ai.Task:
        return _build(task_id, settings)

    build.__name__ = build.__qualname__ = task_id.replace("-", "_")
    build.__doc__ = f"The task {task_id}; -T takes tier, max_steps, max_time, feedback, ..."
    return build


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


def samples_of(requests: Sequence[RunRequest]) -> list[Sample]:
    """A sample for each run of one task, which has the id of its request."""
    task = requests[0].settings.task(requests[0].task)
    return [
        Sample(id=f"{task.id}-{request.epoch}", input=task.problem, metadata={RUN_ID: request.run})
        for request in requests
    ]


def _build(name_or_path: str, values: dict[str, Any]) -> inspect_ai.Task:
    """The Inspect task, with the baseline as its agent until another is chosen."""
    try:
        settings = read_settings(values, option_of=lambda name: f"-T {name}")
        task = settings.task(name_or_path)
    except UsageError as error:
        raise prerequisite_error(str(error)) from error
    seconds = settings.limits(task.spec).get("time")
    given = settings.model_dump(exclude_defaults=True)
    return inspect_ai.Task(
        dataset=[Sample(id=task.id, input=task.problem)],
        setup=start_run(task_path=name_or_path, settings=given),
        solver=baseline(),
        cleanup=close_run,
        scorer=grade_submission(),
        sandbox=SANDBOXES[settings.sandbox].inspect_provider,
        continue_on_fail=True,
        config=GenerateConfig(max_retries=MAX_RETRIES),
        # By a clock that is stopped while waiting for a provider or a person.
        working_limit=None if seconds is None else int(seconds + HARD_STOP_GRACE),
        version=task.spec.version,
        display_name=one_line(task.spec.title),
        metadata={"mlagentbench": {"task": task.id, "tier": settings.tier}},
    )
