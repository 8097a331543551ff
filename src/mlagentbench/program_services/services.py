"""The services of submitted programs, as the rest of the package sees them.

The programs of a task with `needs_model` can use a model and a paper search while they run. Other
tasks have no services: every function here then returns None, or nothing.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from mlagentbench.errors import UsageError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.model_choice import RECORDED
from mlagentbench.records import Record, ToolUsage
from mlagentbench.runs.lease import Lease
from mlagentbench.sandbox.base import LoopbackServer
from mlagentbench.sandbox.sandbox_registry import require_loopback
from mlagentbench.tasks.task import Task

ROLE = "tool"
"""The role of the model that programs use."""
NO_MODEL = "none"
READER = "mlagentbench/reader"
"""The deterministic tool model, which needs no provider."""


class ServiceUsage(Record):
    """What programs used of their services."""

    used: ToolUsage
    refused: str | None = None
    """A description of what was refused because a limit was used up."""


class ProgramServices(LoopbackServer, Protocol):
    """The services in one sandbox."""

    async def close(self) -> None: ...

    def usage(self) -> ServiceUsage:
        """What programs used so far; raises RunFailed if a request could not be answered."""
        ...


class ReplayedServices(ProgramServices, Protocol):
    """Services that repeat logged replies."""

    def select_step(self, since: float, until: float) -> None:
        """Repeat the replies of the step between these times."""
        ...


class TokenBudget(Protocol):
    """The budget that the tokens of a run's programs count towards."""

    def remaining(self) -> BudgetLimits: ...

    def add_reply(self, input_tokens: int, output_tokens: int, cost: float | None) -> None: ...


def tool_model_name(task: Task, roles: Mapping[str, str], model: str) -> str | None:
    """The tool model of a run: the role's, else the main model; None if the task needs none."""
    if not task.spec.needs_model:
        return None
    name = roles.get(ROLE, model)
    if name == NO_MODEL:
        raise UsageError(
            f"{task.id} needs a model that the submitted program can use: --role tool=PROVIDER/NAME"
            f" (e.g. --role tool={task.spec.tool_model}, which its measurements were made with); "
            "with Inspect's own command: --model-role tool=PROVIDER/NAME"
        )
    return name


def with_tool_role(task: Task, roles: Mapping[str, str], model: str) -> dict[str, str]:
    """The roles of a run's models, with the tool model if the task needs one."""
    tool = tool_model_name(task, roles, model)
    return dict(roles) if tool is None else {**roles, ROLE: tool}


def check_services(task: Task, roles: Mapping[str, str], sandbox: str) -> None:
    """Raise a UsageError if such a run could not have the services that the task needs."""
    if not task.spec.needs_model:
        return
    require_loopback(sandbox, task.address)
    if roles.get(ROLE) == RECORDED:
        raise UsageError(
            f"{task.address} needs a model for its programs, and a recording has no replies for "
            "them: --role tool=PROVIDER/NAME"
        )


def service_variables(task: Task) -> dict[str, str]:
    """The environment variables that tell programs where their services are."""
    if not task.spec.needs_model:
        return {}
    from mlagentbench.program_services.tool_services import ENVIRONMENT

    return ENVIRONMENT


def run_services(
    task: Task,
    tool: str | None,
    private: Path,
    log: Path,
    budget: TokenBudget | None = None,
    lease: Lease | None = None,
) -> ProgramServices | None:
    """The services of a run: development papers, within its budget; replies go to a log."""
    if tool is None:
        return None
    from mlagentbench.program_services.tool_model import LoggedReplies, load_tool
    from mlagentbench.program_services.tool_services import development_services

    return development_services(task, private, LoggedReplies(load_tool(tool), log, lease), budget)


def replayed_services(
    task: Task, tool: str | None, private: Path, logs: Sequence[Path], budget: TokenBudget
) -> ReplayedServices | None:
    """The services of a replay, which repeat the replies in a run's logs.

    Without a log the model itself is asked, which must then be deterministic.
    """
    if tool is None:
        return None
    from mlagentbench.program_services.tool_services import logged_services

    return logged_services(task, private, tool, logs, budget)


def grading_services(
    task: Task,
    tool: str | None,
    private: Path,
    cache: Path,
    lease: Lease | None = None,
    *,
    is_replay: bool = False,
) -> ProgramServices | None:
    """The services of a grading: hidden papers, within the task's limits; replies are cached.

    The grading of a replay has only cached replies, unless the tool model is deterministic.
    """
    if tool is None:
        return None
    from mlagentbench.program_services.tool_model import CachedReplies, InspectTool, RecordedTool
    from mlagentbench.program_services.tool_services import hidden_services

    asked = RecordedTool(tool) if is_replay and tool != READER else InspectTool(tool)
    return hidden_services(task, private, CachedReplies(asked, cache, lease))


def constant_services(task: Task, private: Path) -> ProgramServices:
    """The services of a grading whose model always gives the same reply."""
    from mlagentbench.program_services.tool_model import ConstantTool
    from mlagentbench.program_services.tool_services import hidden_services

    return hidden_services(task, private, ConstantTool())


@asynccontextmanager
async def serving(services: ProgramServices | None) -> AsyncIterator[None]:
    """Close the services, if there are any, at the end."""
    try:
        yield
    finally:
        if services is not None:
            await services.close()
