"""Runs without a built-in agent, opened by hand: `Environment.open`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.budget import Budget
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.feedback import hold_out
from mlagentbench.environment.open_run import open_run
from mlagentbench.environment.run_setup import RunSetup
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.machine.slots import slot_for
from mlagentbench.program_services.services import ROLE, run_services
from mlagentbench.records import Tier
from mlagentbench.runs.record import disclose, find_or_create_run
from mlagentbench.sandbox.sandbox_registry import default_sandbox, tasks_sandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import require_prepared
from mlagentbench.tasks.python_env.env import require_python_env
from mlagentbench.tasks.spec import profile_of
from mlagentbench.tasks.task import Task, load_task

if TYPE_CHECKING:
    from inspect_ai.model import Model


@asynccontextmanager
async def open_by_hand(
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
    task = task.on_tier(tier) if isinstance(task, Task) else load_task(task, tier)
    if task.profile is None:
        task = task.on_profile(profile_of(tier, None))
    data = require_prepared(task, tier)
    provider = tasks_sandbox(default_sandbox())
    python_env = require_python_env(task, provider.python_envs(None))
    limits = limits or BudgetLimits(steps=task.spec.limits.steps, time=task.spec.limits.time)
    feedback = None
    if feedback_calls:
        feedback = await hold_out(task, data, python_env, call_task, feedback_calls)
    tool = task.spec.tool_model
    async with slot_for(task.spec.resources.need(), f"{task.id}, by hand"):
        disclosure = disclose(
            task,
            data,
            python_env,
            limits,
            agent="by-hand",
            sandbox=provider.name,
            isolation=provider.isolation(),
            tools=provider.visible_tools(task.spec.resources.tools),
            image=provider.base_image(None),
            feedback=f"validation:{feedback_calls}" if feedback_calls else "none",
            roles=None if tool is None else {ROLE: tool},
        )
        found = find_or_create_run(out.absolute(), task, epoch, disclosure)
        with await to_thread.run_sync(found.hold) as run:
            budget = Budget(limits)
            setup = RunSetup(
                task,
                run,
                data,
                python_env,
                budget,
                seed=task.run_seed(epoch),
                actions=actions,
                feedback=feedback,
                models=models,
                services=run_services(task, tool, data.private, run.asked, budget, run.lease),
            )
            async with await open_run(setup, provider.fresh) as environment:
                yield environment
