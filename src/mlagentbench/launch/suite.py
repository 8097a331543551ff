"""`mlagentbench run`: every agent on every task with every model, N runs each, then the table."""

import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import disk_usage

from mlagentbench.environment.feedback import require_feedback
from mlagentbench.errors import UsageError
from mlagentbench.launch.no_execution import require_no_execution
from mlagentbench.launch.out_directory import create_output
from mlagentbench.launch.plans.plan import plan_suite
from mlagentbench.launch.plans.plan_state import unfinished
from mlagentbench.launch.request import (
    ReadyTasks,
    RunSettings,
    SuiteRequest,
    data_needs,
    models_of,
    prices_of,
    roles_of,
)
from mlagentbench.machine.ledger import require_ledger
from mlagentbench.models.model_check import require_model
from mlagentbench.models.model_choice import (
    choose,
    require_known_arguments,
)
from mlagentbench.models.sharing.outages import forget_outages
from mlagentbench.models.sharing.plan_share import plan_share
from mlagentbench.numeric.number_format import counted
from mlagentbench.program_services.services import check_services
from mlagentbench.rebuild.fresh_data import require_fresh_data
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import SuiteOutcome, read_run
from mlagentbench.sandbox.sandbox_registry import (
    SANDBOXES,
    require_in_sandbox_agents,
    tasks_sandbox,
)
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.draws import PUBLIC
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import Task
from mlagentbench.terminal import Terminal

DISK_IS_FULL = 100_000
"""Bytes: with less free space, a failed run most likely failed for lack of it."""


def run_suite(request: SuiteRequest, console: Terminal) -> SuiteOutcome:
    """Prepare the tasks, run all cells, and read the results."""
    check_requirements(request, console)
    out, interrupted = request.out, False
    engine = request.engine.make(out, request.jobs, console)
    runs: list[RunDirectory] = []
    directory: Path | None = None
    create_output(out)
    try:
        plan = plan_suite(request, make_tasks_ready(request, console))
        directory = plan.file(out).directory
        request.shared.write(directory)
        forget_outages(directory)
        plan.write(out)  # from here on, workers may take its runs
        runs = [one.directory(out) for one in plan.requests]
        left = unfinished(plan.requests, out)
        if len(left) < len(runs):
            done = len(runs) - len(left)
            console.print(f"finished already: {done} of {counted(len(runs), 'run')}")
        engine.execute(left)
    except KeyboardInterrupt:
        interrupted = True
    expected = len(request.cells) * request.runs
    return outcome_of(out, runs, directory, expected=expected, interrupted=interrupted)


def outcome_of(
    out: Path,
    runs: Sequence[RunDirectory],
    shared: Path | None,
    *,
    expected: int,
    interrupted: bool,
) -> SuiteOutcome:
    """What came of these runs, as far as they have begun; `shared` is what their plan shares."""
    results = [read_run(run) for run in runs if run.run_json.exists()]
    return SuiteOutcome(
        out=out,
        held=_held_by_others(runs),
        results=tuple(results),
        expected=expected,
        interrupted=interrupted,
        spent_out=None if shared is None else plan_share(shared).spent_out(),
        disk_full=disk_usage(out).free < DISK_IS_FULL,
        paper_rule=any(result.record.disclosure.protocol == "paper" for result in results),
    )


def _held_by_others(runs: Sequence[RunDirectory]) -> dict[str, str]:
    """The runs that other processes are working on, and those processes."""
    holders = {run.relative.as_posix(): run.holder for run in runs}
    return {path: holder.described for path, holder in holders.items() if holder is not None}


def make_tasks_ready(request: SuiteRequest, console: Terminal) -> ReadyTasks:
    """Prepare the data and virtual environments of all cells."""
    settings = request.settings
    ready: ReadyTasks = {}
    with TerminalProgress(console) as progress:
        for name, added, draw in data_needs(request):
            ready[name, added, draw] = ensure_ready(
                settings.task(name),
                settings.tier,
                draw,
                added=added,
                call=call_task,
                envs=settings.python_envs(),
                progress=progress,
            )
    return ready


def check_requirements(request: SuiteRequest, console: Terminal) -> None:
    """Raise a UsageError for anything that would make runs fail later."""
    chosen = request.settings.sandbox
    for name in {tasks_sandbox(chosen).name, chosen}:
        SANDBOXES[name].require()
        for task in _tasks(request).values():
            SANDBOXES[name].require_tools(task.spec.resources.tools, task.id)
    if request.settings.interactive and not (console.is_terminal and sys.stdin.isatty()):
        raise UsageError("--interactive needs a terminal")
    if request.settings.interactive and not request.engine.kind.at_terminal:
        raise UsageError(f"--interactive: runs of --engine {request.engine.name} cannot ask you")
    if request.engine.kind.at_terminal:  # its runs are executed on this machine
        require_ledger()
        for task in _tasks(request).values():
            if (gpus := request.settings.gpus_asked(task)) is not None:
                gpus.require_here()
    for cell in request.cells:
        require_no_execution(cell.agent, request.settings)
        cell.agent.info.solver(**cell.agent.settings)
        if cell.info.in_sandbox:
            _check_in_sandbox_agent(cell.info.name, request.settings)
        check_services(
            request.settings.task(cell.task), roles_of(request, cell), request.settings.sandbox
        )
    if request.settings.feedback_calls():
        for task in _tasks(request).values():
            require_feedback(task)
    _check_fresh_data(request)
    prices_of(request)
    require_known_arguments(request.model_arguments, models_of(request))
    for name in sorted(models_of(request)):
        require_model(choose(name, request.model_arguments))


def _check_fresh_data(request: SuiteRequest) -> None:
    """Submissions of full tiers are rebuilt on splits that must be there before a run begins."""
    count = request.settings.fresh_draws
    for task in _tasks(request).values() if count is not None else ():
        tier = request.settings.tier
        require_fresh_data(task, tier, PUBLIC, count or 0, find_prepared(task, tier))


def _check_in_sandbox_agent(agent: str, settings: RunSettings) -> None:
    require_in_sandbox_agents(settings.sandbox, f"agent {agent}")
    if settings.feedback_calls():
        raise UsageError(f"agent {agent} has no actions, so it cannot use --feedback")


def _tasks(request: SuiteRequest) -> dict[str, Task]:
    return {cell.task: request.settings.task(cell.task) for cell in request.cells}
