"""A task folder as an Inspect task: one sample, its epochs are the runs."""

from typing import TYPE_CHECKING

from mlagentbench.running.run_one import close_run, grade_submission, open_run
from mlagentbench.running.settings import RunSettings
from mlagentbench.tasks.task import Task

if TYPE_CHECKING:
    import inspect_ai
    from inspect_ai.solver import Solver

HARD_STOP_GRACE = 1800.0
"""Seconds beyond a run's own time after which Inspect itself stops it: grading needs some."""


def inspect_task(
    task: Task,
    task_path: str,
    settings: RunSettings,
    *,
    solver: "Solver | None" = None,
    runs: int = 1,
    name: str | None = None,
) -> "inspect_ai.Task":
    """The Inspect task that runs `solver` (by default the baseline) on this task."""
    import inspect_ai
    from inspect_ai.dataset import Sample

    from mlagentbench.agents.baseline import baseline

    limits = settings.limits(task.spec)
    return inspect_ai.Task(
        dataset=[Sample(id=task.id, input=task.problem)],
        setup=open_run(task_path=task_path, settings=settings.model_dump(exclude_defaults=True)),
        solver=solver or baseline(),
        cleanup=close_run,
        scorer=grade_submission(),
        sandbox=settings.sandbox,
        epochs=runs,
        continue_on_fail=True,
        time_limit=None if limits.time is None else int(limits.time + HARD_STOP_GRACE),
        version=task.spec.version,
        name=name,
        display_name=task.spec.title,
        metadata={"mlagentbench": {"task": task.id, "tier": settings.tier}},
    )
