"""What a run discloses, from what was asked for, and the actions of its agent."""

from collections.abc import Mapping, Sequence

from mlagentbench.agents.registry import AGENTS
from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.actions.action_sets import (
    ACTION_SETS,
    ActionSet,
    choose_actions,
    with_help,
    without_execution,
    without_help,
)
from mlagentbench.launch.request import AgentChoice, RunSettings
from mlagentbench.models.model_choice import ModelChoice, model_names, who_answers
from mlagentbench.program_services.services import with_tool_role
from mlagentbench.records import Disclosure
from mlagentbench.runs.record import disclose
from mlagentbench.sandbox.sandbox_registry import SANDBOXES
from mlagentbench.tasks.draws import is_secret
from mlagentbench.tasks.make_ready import Ready
from mlagentbench.tasks.task import Task


def actions_of(agent: AgentChoice, settings: RunSettings) -> Sequence[ActionSpec]:
    """The actions of an agent: those in its settings, the paper's set, or its default set.

    In runs without executions, those of them that execute nothing.
    """
    info = AGENTS.get(agent.name)
    named = agent.settings.get("actions")
    default: ActionSet = info.actions if info else "standard"
    paper = settings.protocol == "paper" and (info is None or info.needs_model)
    if named is not None:
        chosen = choose_actions(named)
    else:
        chosen = ACTION_SETS["paper" if paper and default != "none" else default]
    if settings.no_execution:
        chosen = without_execution(chosen)
    return with_help(chosen) if settings.interactive and chosen else without_help(chosen)


def disclose_run(
    task: Task,
    settings: RunSettings,
    ready: Ready,
    agent: AgentChoice,
    model: ModelChoice,
    roles: Mapping[str, ModelChoice],
) -> Disclosure:
    """The disclosure of such a run."""
    names = model_names(roles)
    answering = who_answers(model, roles)
    return disclose(
        task,
        ready.data,
        ready.python_env,
        settings.limits(task.spec),
        agent=agent.name,
        agent_settings=agent.settings,
        model=model.name,
        roles=with_tool_role(task, names, model.name),
        answered_by=answering.answered_by,
        recording=answering.recording,
        sandbox=settings.sandbox,
        isolation=SANDBOXES[settings.sandbox].isolation(),
        tools=SANDBOXES[settings.sandbox].visible_tools(task.spec.resources.tools),
        image=SANDBOXES[settings.sandbox].base_image(settings.image),
        feedback=settings.feedback,
        execution=not settings.no_execution,
        protocol=settings.protocol,
        rebuild_draws=settings.fresh_draws,
        draw_policy=ready.data.draw if is_secret(settings.draw) else settings.draw,
        interactive=settings.interactive,
        gpus=settings.gpus,
        primary=settings.primary,
    )
