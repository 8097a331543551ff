"""`mlagentbench run`: every agent on every task with every model, N runs each, then the table."""

import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import disk_usage

from rich.console import Console

from mlagentbench.environment.feedback import require_feedback
from mlagentbench.errors import UsageError
from mlagentbench.launch.engines.local import evaluate
from mlagentbench.launch.out_directory import own_output
from mlagentbench.launch.request import (
    Cell,
    ReadyTasks,
    RunSettings,
    SuiteRequest,
    models_of,
    prices_of,
    role_choices,
    roles_of,
)
from mlagentbench.models.model_check import require_model
from mlagentbench.models.model_choice import (
    choose,
    require_known_arguments,
)
from mlagentbench.program_services.services import check_services
from mlagentbench.records import Disclosure
from mlagentbench.runs.record import settings_hash
from mlagentbench.runs.results import RunResult, SuiteOutcome, collect
from mlagentbench.sandbox.bwrap.prerequisites import find_bwrap
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.make_ready import Ready, ensure_ready
from mlagentbench.tasks.python_env.env import AddedPackages
from mlagentbench.tasks.task import Task, load_task

DISK_IS_FULL = 100_000
"""Bytes: with less free space, a failed run most likely failed for lack of it."""


def run_suite(request: SuiteRequest, console: Console) -> SuiteOutcome:
    """Prepare the tasks, run all cells, and read the results."""
    check_requirements(request, console)
    with own_output(request.out):
        ready: ReadyTasks = {}
        try:
            ready = make_tasks_ready(request, console)
            interrupted = evaluate([request], [ready], console)
        except KeyboardInterrupt:
            interrupted = True
        return outcome_of(
            request.out,
            _results(request, ready),
            expected=len(request.cells) * request.runs,
            interrupted=interrupted,
        )


def outcome_of(
    out: Path, results: Sequence[RunResult], *, expected: int, interrupted: bool
) -> SuiteOutcome:
    """The outcome of the requested runs."""
    return SuiteOutcome(
        out=out,
        results=tuple(results),
        expected=expected,
        interrupted=interrupted,
        disk_full=disk_usage(out).free < DISK_IS_FULL,
        paper_rule=any(result.record.disclosure.protocol == "paper" for result in results),
    )


def make_tasks_ready(request: SuiteRequest, console: Console) -> ReadyTasks:
    """Prepare the data and virtual environments of all cells."""
    settings = request.settings
    ready: ReadyTasks = {}
    with TerminalProgress(console) as progress:
        for name, added in _python_needs(request):
            ready[name, added] = ensure_ready(
                load_task(name),
                settings.tier,
                settings.mini_seed,
                added=added,
                call=call_task,
                progress=progress,
            )
    return ready


def _python_needs(request: SuiteRequest) -> list[tuple[str, AddedPackages]]:
    """Each task with what its agents add to its virtual environment, once."""
    return list(dict.fromkeys(cell.python_needs for cell in request.cells))


def check_requirements(request: SuiteRequest, console: Console) -> None:
    """Raise a UsageError for anything that would make runs fail later."""
    find_bwrap()
    if request.settings.interactive and not (console.is_terminal and sys.stdin.isatty()):
        raise UsageError("--interactive needs a terminal")
    for cell in request.cells:
        if cell.info.in_sandbox:
            _check_in_sandbox_agent(cell.info.name, request.settings)
        check_services(load_task(cell.task), roles_of(request, cell), request.settings.sandbox)
    if request.settings.feedback_calls():
        for task in _tasks(request).values():
            require_feedback(task)
    prices_of(request)
    require_known_arguments(request.model_arguments, models_of(request))
    for name in sorted(models_of(request)):
        require_model(choose(name, request.model_arguments))


def _check_in_sandbox_agent(agent: str, settings: RunSettings) -> None:
    if settings.sandbox != "bubblewrap":
        raise UsageError(f"agent {agent} needs --sandbox bubblewrap: it is an in-sandbox agent")
    if settings.feedback_calls():
        raise UsageError(f"agent {agent} has no actions, so it cannot use --feedback")


def _tasks(request: SuiteRequest) -> dict[str, Task]:
    return {cell.task: load_task(cell.task) for cell in request.cells}


def _results(request: SuiteRequest, ready: ReadyTasks) -> list[RunResult]:
    """The results of the requested cells, without others in the same --out."""
    requested = {
        _identity(disclose_cell(request, cell, ready[cell.python_needs]))
        for cell in request.cells
        if cell.python_needs in ready
    }
    return [
        result
        for result in collect(request.out)
        if result.record.branched_from is None
        and _identity(result.record.disclosure) in requested
        and result.record.epoch <= request.runs
    ]


def disclose_cell(request: SuiteRequest, cell: Cell, ready: Ready) -> Disclosure:
    """What the results of a cell will disclose."""
    from mlagentbench.launch.run_identity import disclose_run

    model = choose(cell.model, request.model_arguments)
    roles = role_choices(request, cell)
    return disclose_run(load_task(cell.task), request.settings, ready, cell.agent, model, roles)


def _identity(facts: Disclosure) -> tuple[str, ...]:
    """What two results share exactly if they are runs of one cell."""
    started = facts.model_copy(update={"limits": facts.first_limits or facts.limits})
    return facts.task, facts.tier, facts.agent, facts.model, settings_hash(started)
