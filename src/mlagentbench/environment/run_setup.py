"""What a run is opened with, fixed before anything of it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlagentbench.environment.actions.action import ActionSpec, AskPerson
from mlagentbench.environment.actions.action_sets import STANDARD_ACTIONS
from mlagentbench.environment.feedback import Feedback
from mlagentbench.environment.services.tool_model import ToolModel
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.runs.directory import HeldRun
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

if TYPE_CHECKING:
    from inspect_ai.model import Model


@dataclass(frozen=True)
class RunSetup:
    """A run: its task, directory, data and limits, and what its agent is offered."""

    task: Task
    run: HeldRun
    data: PreparedData
    python_env: PythonEnv
    limits: BudgetLimits
    seed: int
    actions: Sequence[ActionSpec] = STANDARD_ACTIONS
    feedback: Feedback | None = None
    models: "Mapping[str, str | Model] | None" = None
    """The models of roles that Inspect has not bound; outside of Inspect, of all roles."""
    tool: ToolModel | None = None
    """The model that submitted programs use."""
    ask_person: AskPerson | None = None
    """Set in interactive runs."""
