"""MLAgentBench: can language-model agents do machine-learning experimentation?

Importing this package is cheap and does nothing; each public name loads its module on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlagentbench.agents.runner import as_solver
    from mlagentbench.environment.actions.action import action_tools
    from mlagentbench.environment.environment import Environment
    from mlagentbench.environment.run_context import current_environment
    from mlagentbench.errors import ActionError, RunEnded, RunFailed, UsageError
    from mlagentbench.records import (
        Action,
        GradeRecord,
        Observation,
        Outcome,
        RunRecord,
        Step,
        Usage,
    )
    from mlagentbench.tasks.task import Task, load_task

_HOMES = {
    "Environment": "mlagentbench.environment.environment",
    "as_solver": "mlagentbench.agents.runner",
    "action_tools": "mlagentbench.environment.actions.action",
    "current_environment": "mlagentbench.environment.run_context",
    "Task": "mlagentbench.tasks.task",
    "load_task": "mlagentbench.tasks.task",
    **dict.fromkeys(("ActionError", "RunEnded", "RunFailed", "UsageError"), "mlagentbench.errors"),
    **dict.fromkeys(
        ("Action", "GradeRecord", "Observation", "Outcome", "RunRecord", "Step", "Usage"),
        "mlagentbench.records",
    ),
}

__all__ = [
    "Action",
    "ActionError",
    "Environment",
    "GradeRecord",
    "Observation",
    "Outcome",
    "RunEnded",
    "RunFailed",
    "RunRecord",
    "Step",
    "Task",
    "Usage",
    "UsageError",
    "action_tools",
    "as_solver",
    "current_environment",
    "load_task",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # pyproject.toml has the only version number
        return import_module("importlib.metadata").version("mlagentbench")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
