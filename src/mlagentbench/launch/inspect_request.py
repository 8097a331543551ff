"""Runs that `inspect eval` starts, without one of the engines.

There, agent, models and log directory are chosen after the task is built. Inspect tells them to a
sample nowhere but in the header of the log that it is writing.
"""

from pathlib import Path

from inspect_ai.log import EvalLog, read_eval_log_async

from mlagentbench.agents.registry import AGENTS
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.inspect_private import sample_log
from mlagentbench.launch.disclose_run import disclose_run
from mlagentbench.launch.no_execution import require_no_execution
from mlagentbench.launch.out_directory import find_output
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.launch.request import AgentChoice, RunSettings
from mlagentbench.models.model_choice import ModelChoice
from mlagentbench.records import Json
from mlagentbench.runs.record import new_record, place_of
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.draws import draw_of
from mlagentbench.tasks.make_ready import make_ready

PACKAGE = "mlagentbench/"


async def request_of_inspect(
    task_path: str, settings: RunSettings, epoch: int
) -> tuple[RunRequest, Path]:
    """What Inspect's own command asks for in the running sample, and its OUT."""
    log = await _log_being_written()
    task, agent = settings.task(task_path), _agent_of(log)
    require_no_execution(agent, settings)
    draw = draw_of(settings.draw, epoch)
    ready = await make_ready(
        task,
        settings.tier,
        draw,
        added=agent.added_packages,
        call=call_task,
        envs=settings.python_envs(),
    )
    model = ModelChoice(name=log.eval.model.removeprefix("none/"), arguments=log.eval.model_args)
    roles = _roles_of(log)
    disclosure = disclose_run(task, settings, ready, agent, model, roles)
    request = RunRequest(
        run=place_of(new_record(task, epoch, disclosure)),
        task=task_path,
        epoch=epoch,
        agent=agent,
        model=model,
        roles=roles,
        settings=settings,
        draw=draw,
    )
    return request, find_output(Path(log.location))


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
    steps = [step for step in log.plan.steps if step.solver != f"{PACKAGE}start_run"]
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
