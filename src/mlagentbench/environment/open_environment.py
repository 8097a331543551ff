"""Open an Environment outside of Inspect, with its data, sandbox and services."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mlagentbench.environment.actions.action import ActionSpec, AskPerson
from mlagentbench.environment.budget import Budget
from mlagentbench.environment.environment import Environment, set_current_environment
from mlagentbench.environment.feedback import Feedback, hold_out
from mlagentbench.environment.workspace import sandbox_spec
from mlagentbench.program_services.services import (
    ROLE,
    ProgramServices,
    run_services,
    serving,
)
from mlagentbench.records import BudgetLimits, Tier
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.record import disclose, find_or_create_run
from mlagentbench.sandbox.bwrap.prerequisites import isolation
from mlagentbench.sandbox.bwrap.sandbox import BubblewrapSandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, require_prepared
from mlagentbench.tasks.python_env.env import PythonEnv, require_python_env
from mlagentbench.tasks.task import Task, load_task

if TYPE_CHECKING:
    from inspect_ai.model import Model


@asynccontextmanager
async def open_environment(
    task: Task | str | Path,
    out: Path,
    tier: Tier,
    epoch: int,
    limits: BudgetLimits | None,
    actions: Sequence[ActionSpec],
    feedback_calls: int,
    models: "Mapping[str, str | Model] | None" = None,
) -> AsyncIterator[Environment]:
    """A run of a prepared task, started or resumed below `out`, in the default sandbox."""
    task = task if isinstance(task, Task) else load_task(task)
    data = require_prepared(task, tier)
    python_env = require_python_env(task)
    limits = limits or BudgetLimits(steps=task.spec.limits.steps, time=task.spec.limits.time)
    feedback = None
    if feedback_calls:
        feedback = await hold_out(task, data, python_env, call_task, feedback_calls)
    tool = task.spec.tool_model
    disclosure = disclose(
        task,
        data,
        python_env,
        limits,
        agent="by-hand",
        isolation=isolation(),
        feedback=f"validation:{feedback_calls}" if feedback_calls else "none",
        roles=None if tool is None else {ROLE: tool},
    )
    run = find_or_create_run(out.absolute(), task, epoch, disclosure)
    budget = Budget(limits)
    async with open_run(
        task,
        run,
        data,
        python_env,
        budget,
        actions,
        seed=task.run_seed(epoch),
        feedback=feedback,
        models=models,
        services=run_services(task, tool, data.private, run.asked, budget),
    ) as environment:
        yield environment


@asynccontextmanager
async def open_run(
    task: Task,
    run: RunDirectory,
    data: PreparedData,
    python_env: PythonEnv,
    budget: Budget,
    actions: Sequence[ActionSpec],
    *,
    seed: int,
    feedback: Feedback | None = None,
    services: ProgramServices | None = None,
    models: "Mapping[str, str | Model] | None" = None,
    ask_person: AskPerson | None = None,
) -> AsyncIterator[Environment]:
    """The run in this directory, started or resumed, in the default sandbox."""
    spec = sandbox_spec(task, run, data, python_env, seed, feedback)
    with run.locked():
        sandbox = BubblewrapSandbox(spec, services)
        environment = Environment(
            task,
            run,
            sandbox,
            budget,
            data,
            python_env,
            call_task,
            actions=actions,
            feedback=feedback,
            models=models,
            ask_person=ask_person,
        )
        try:
            environment.start()
            async with serving(services), sandbox:
                set_current_environment(environment)
                try:
                    yield environment
                finally:
                    await environment.close()
        finally:
            await environment.close()
