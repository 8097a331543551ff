"""Which run a sample is: its directory follows from task, data, agent, model and settings."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from inspect_ai.log import EvalLog, read_eval_log_async
from inspect_ai.log._samples import sample_active
from inspect_ai.solver import TaskState

from mlagentbench.agents.agent import AGENTS
from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.actions.standard import PAPER_ACTIONS, STANDARD_ACTIONS
from mlagentbench.environment.run_directory import RunDirectory
from mlagentbench.environment.sandbox.prerequisites import isolation
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.files import write_atomically
from mlagentbench.records import Disclosure, Json, RunRecord
from mlagentbench.running.disclosure import hardware, packages
from mlagentbench.running.output import find_output
from mlagentbench.running.settings import AgentChoice, RunSettings
from mlagentbench.tasks.data import PreparedData, require_prepared
from mlagentbench.tasks.python_env import PythonEnv, require_python_env
from mlagentbench.tasks.task import Task

PACKAGE = "mlagentbench/"
RUN_KEY = "mlagentbench_run"
OUT_KEY = "mlagentbench_out"


class Identified:
    """A run's directory, with all that decides what the run is."""

    def __init__(
        self,
        task: Task,
        settings: RunSettings,
        data: PreparedData,
        python_env: PythonEnv,
        agent: AgentChoice,
        run: RunDirectory,
        seed: int,
    ) -> None:
        self.task = task
        self.settings = settings
        self.data = data
        self.python_env = python_env
        self.agent = agent
        self.run = run
        self.seed = seed

    @property
    def actions(self) -> Sequence[ActionSpec]:
        """The paper's action set under its protocol; agents without a model may use all."""
        info = AGENTS.get(self.agent.name)
        paper = self.settings.protocol == "paper" and (info is None or info.needs_model)
        return PAPER_ACTIONS if paper else STANDARD_ACTIONS


async def identify(
    task: Task, task_path: str, settings: RunSettings, state: TaskState
) -> Identified:
    """Find or create the sample's run directory, and remember it in the sample's store."""
    log = await _log_being_written()
    data = require_prepared(task, settings.tier, settings.mini_seed)
    python_env = require_python_env(task)
    agent = _agent_of(log)
    disclosure = _disclose(task, settings, data, python_env, agent, log)
    record = RunRecord(
        task_path=task_path,
        epoch=state.epoch,
        seed=task.run_seed(state.epoch),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        disclosure=disclosure,
    )
    run = RunDirectory(find_output(Path(log.location)), Path(record.directory(_hash(disclosure))))
    if not run.run_json.exists():
        write_atomically(run.run_json, record.model_dump_json(indent=2).encode())
    state.store.set(RUN_KEY, run.relative.as_posix())
    state.store.set(OUT_KEY, str(run.out))
    return Identified(task, settings, data, python_env, agent, run, record.seed)


def run_of_sample(state: TaskState) -> RunDirectory:
    """The run that `identify` found for this sample, also when its log is scored again later."""
    place = state.store.get(RUN_KEY)
    if place is None:
        raise RunFailed("harness", "the sample has no run: its setup did not come to an end")
    for out in (Path(state.store.get(OUT_KEY)), Path.cwd(), *Path.cwd().parents):
        if (out / place / "run.json").is_file():
            return RunDirectory(out, Path(place))
    raise UsageError(
        f"{place} is not below {state.store.get(OUT_KEY)}; "
        "change to the directory that now holds it, and score again"
    )


async def _log_being_written() -> EvalLog:
    """The header of the log that Inspect is writing: it knows agent, model and roles."""
    active = sample_active()
    if active is None:
        raise RunFailed("harness", "this is not an Inspect sample")
    location = active.log_location.removeprefix("file://")
    if "://" in location:
        raise UsageError(
            f"the log directory of {location} is not on this machine; runs need a local --log-dir"
        )
    log = await read_eval_log_async(location, header_only=True)
    log.location = str(Path(location).absolute())
    return log


def _agent_of(log: EvalLog) -> AgentChoice:
    """The solvers of the plan apart from our own setup."""
    steps = [step for step in log.plan.steps if step.solver != f"{PACKAGE}open_run"]
    names = "+".join(step.solver.removeprefix(PACKAGE).replace("/", "_") for step in steps)
    settings: dict[str, Json] = {}
    for step in steps:
        settings |= step.params_passed or {}
    return AgentChoice(name=names or "none", settings=settings)


def _disclose(
    task: Task,
    settings: RunSettings,
    data: PreparedData,
    python_env: PythonEnv,
    agent: AgentChoice,
    log: EvalLog,
) -> Disclosure:
    model = log.eval.model.removeprefix("none/")
    roles = {
        role: config.model
        for role, config in (log.eval.model_roles or {}).items()
        if not isinstance(config, list)
    }
    return Disclosure(
        task=task.id,
        task_version=task.spec.version,
        metric=task.spec.metric.name,
        better=task.spec.metric.better,
        data_hash=data.hash,
        data_verified=data.verified,
        tier=settings.tier,
        mini_seed=data.mini_seed,
        agent=agent.name,
        agent_settings=agent.settings,
        model=model,
        roles=roles,
        answered_by="nobody" if model == "none" else "model",
        sandbox=settings.sandbox,
        isolation=isolation() if settings.sandbox == "bubblewrap" else "none",
        limits=settings.limits(task.spec).model_dump(),
        feedback=settings.feedback,
        protocol=settings.protocol,
        python_env=python_env.hash,
        hardware=hardware(),
        packages=packages(),
    )


def _hash(facts: Disclosure) -> str:
    """What tells two runs of one agent on one task apart, besides model and epoch."""
    parts = (
        facts.agent_settings, facts.roles, facts.limits, facts.sandbox, facts.feedback,
        facts.protocol, facts.task_version, facts.data_hash,
    )  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
