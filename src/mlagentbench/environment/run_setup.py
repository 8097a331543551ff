"""What a run is opened with, fixed before anything of it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlagentbench.environment.actions.action import ActionSpec, AskPerson
from mlagentbench.environment.actions.action_sets import STANDARD_ACTIONS
from mlagentbench.environment.budget import Budget
from mlagentbench.environment.feedback import Feedback
from mlagentbench.environment.rehearsal import Rehearsal
from mlagentbench.program_services.services import ProgramServices
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
    budget: Budget
    seed: int
    actions: Sequence[ActionSpec] = STANDARD_ACTIONS
    feedback: Feedback | None = None
    rehearsal: Rehearsal | None = None
    """Set under --protocol rebuild."""
    execution: bool = True
    """Whether the agent can execute anything; if not, actions that do are not offered."""
    models: "Mapping[str, str | Model] | None" = None
    """The models of roles that Inspect has not bound; outside of Inspect, of all roles."""
    services: ProgramServices | None = None
    """What submitted programs can use."""
    ask_person: AskPerson | None = None
    """Set in interactive runs."""
