"""The run of a sample: its directory follows from task, data, agent, model and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_ai.log import EvalLog, read_eval_log_async
from inspect_ai.solver import TaskState

from mlagentbench.agents.registry import AGENTS
from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.actions.action_sets import (
    ACTION_SETS,
    ActionSet,
    choose_actions,
    with_help,
    without_help,
)
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.inspect_private import sample_log
from mlagentbench.launch.out_directory import find_output
from mlagentbench.launch.request import AgentChoice, RunSettings
from mlagentbench.models.model_choice import ModelChoice, model_names, who_answers
from mlagentbench.program_services.services import tool_model_name, with_tool_role
from mlagentbench.records import BudgetLimits, Disclosure, Json
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.record import disclose, find_or_create_run
from mlagentbench.runs.results import read_record
from mlagentbench.runs.resumption import last_limits
from mlagentbench.sandbox.bwrap.prerequisites import isolation
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import Ready, make_ready
from mlagentbench.tasks.python_env.env import NOTHING_ADDED
from mlagentbench.tasks.task import Task

PACKAGE = "mlagentbench/"
RUN_KEY = "mlagentbench_run"
OUT_KEY = "mlagentbench_out"


@dataclass(frozen=True)
class IdentifiedRun:
    """A run's directory, with everything that determines the run."""

    run: RunDirectory
    task: Task
    settings: RunSettings
    ready: Ready
    agent: AgentChoice
    limits: BudgetLimits
    tool: str | None
    """The name of the model that submitted programs use."""


def actions_of(agent: AgentChoice, settings: RunSettings) -> Sequence[ActionSpec]:
    """The actions of an agent: those in its settings, the paper's set, or its default set."""
    info = AGENTS.get(agent.name)
    named = agent.settings.get("actions")
    default: ActionSet = info.actions if info else "standard"
    paper = settings.protocol == "paper" and (info is None or info.needs_model)
    if named is not None:
        chosen = choose_actions(named)
    else:
        chosen = ACTION_SETS["paper" if paper and default != "none" else default]
    return with_help(chosen) if settings.interactive and chosen else without_help(chosen)


async def identify(task: Task, settings: RunSettings, state: TaskState) -> IdentifiedRun:
    """Find or create the sample's run directory, and remember it in the sample's store."""
    log = await _log_being_written()
    agent = _agent_of(log)
    info = AGENTS.get(agent.name)
    added = NOTHING_ADDED if info is None else info.added_packages(agent.settings)
    ready = await make_ready(task, settings.tier, settings.mini_seed, added=added, call=call_task)
    model = ModelChoice(name=log.eval.model.removeprefix("none/"), arguments=log.eval.model_args)
    roles = _roles_of(log)
    tool = tool_model_name(task, model_names(roles), model.name)
    out, limits = find_output(Path(log.location)), settings.limits(task.spec)
    if settings.continues is not None:
        run = _named_run(out, settings.continues, agent)
    else:
        disclosure = disclose_run(task, settings, ready, agent, model, roles)
        run = find_or_create_run(out, task, state.epoch, disclosure)
        limits = last_limits(read_journal(run.journal)) or limits
    state.store.set(RUN_KEY, run.relative.as_posix())
    state.store.set(OUT_KEY, str(run.out))
    return IdentifiedRun(run, task, settings, ready, agent, limits, tool)


def _named_run(out: Path, place: str, agent: AgentChoice) -> RunDirectory:
    run = RunDirectory(out, Path(place))
    facts = read_record(run).disclosure
    if (facts.agent, facts.agent_settings) != (agent.name, agent.settings):
        raise UsageError(
            f"{run.path} is a run of the agent {facts.agent}, not of this {agent.name}"
        )
    return run


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
        isolation=isolation() if settings.sandbox == "bubblewrap" else "none",
        feedback=settings.feedback,
        protocol=settings.protocol,
        interactive=settings.interactive,
    )


def run_of_sample(state: TaskState) -> RunDirectory:
    """The run that `identify` found for this sample; also works when a log is scored again."""
    place = state.store.get(RUN_KEY)
    if place is None:
        raise RunFailed("harness", "the sample has no run: its setup did not finish")
    for out in (Path(state.store.get(OUT_KEY)), Path.cwd(), *Path.cwd().parents):
        if (out / place / "run.json").is_file():
            return RunDirectory(out, Path(place))
    raise UsageError(
        f"{place} is not below {state.store.get(OUT_KEY)}; "
        "change to the directory that contains it now, and score again"
    )


async def _log_being_written() -> EvalLog:
    """The header of the log that Inspect is writing, with agent, model and roles."""
    address = sample_log()
    if address is None:
        raise RunFailed("harness", "this is not an Inspect sample")
    location = address.removeprefix("file://")
    if "://" in location:
        raise UsageError(
            f"the log directory of {location} is not on this machine; runs need a local --log-dir"
        )
    log = await read_eval_log_async(location, header_only=True)
    log.location = str(Path(location).absolute())
    return log


def _agent_of(log: EvalLog) -> AgentChoice:
    """The solvers of the plan, without our setup."""
    steps = [step for step in log.plan.steps if step.solver != f"{PACKAGE}open_run"]
    ours = {f"{PACKAGE}{info.function}": info.name for info in AGENTS.values()}
    names = "+".join(ours.get(step.solver, step.solver.replace("/", "_")) for step in steps)
    settings: dict[str, Json] = {}
    for step in steps:
        settings |= step.params_passed or {}
    return AgentChoice(name=names or "none", settings=settings)


def _roles_of(log: EvalLog) -> dict[str, ModelChoice]:
    roles = (log.eval.model_roles or {}).items()
    return {
        role: ModelChoice(name=config.model, arguments=config.args)
        for role, config in roles
        if not isinstance(config, list)
    }
