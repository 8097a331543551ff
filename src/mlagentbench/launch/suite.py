"""`mlagentbench run`: every agent on every task with every model, N runs each, then the table."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mlagentbench.agents.custom_agent import is_file, load_agent
from mlagentbench.agents.registry import AgentInfo, find_agent
from mlagentbench.environment.actions.sets import choose_actions
from mlagentbench.environment.feedback import require_feedback
from mlagentbench.environment.services.tool_model import ROLE, tool_model_name
from mlagentbench.errors import UsageError
from mlagentbench.launch.live import LiveProgress
from mlagentbench.launch.out_directory import own_output
from mlagentbench.launch.request import (
    PAPER_RUNS,
    AgentChoice,
    RunSettings,
    parse_agents,
    read_settings,
    split_list,
)
from mlagentbench.models.model_check import explain_prerequisites, read_prices, require_model
from mlagentbench.models.model_choice import (
    NO_MODEL,
    RECORDED,
    ModelChoice,
    choose,
    parse_arguments,
    parse_role,
    require_known_arguments,
    who_answers,
)
from mlagentbench.records import Disclosure, Json, Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_lines
from mlagentbench.runs.record import settings_hash
from mlagentbench.runs.results import RunResult, SuiteOutcome, collect
from mlagentbench.sandbox.bwrap.prerequisites import find_bwrap
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.python_env.env import AddedPackages
from mlagentbench.tasks.ready import Ready, ensure_ready
from mlagentbench.tasks.suites import Variant, chosen_tasks, in_variants
from mlagentbench.tasks.task import Task, load_task

if TYPE_CHECKING:
    import inspect_ai
    from inspect_ai.model import ModelCost

ReadyTasks = dict[tuple[str, AddedPackages], Ready]
"""The data and virtual environment of each task, for each set of added packages."""
DISK_IS_FULL = 100_000
"""Bytes: with less free space, a failed run most likely failed for lack of it."""


class Cell(Record):
    """One agent with one model on one task."""

    task: str
    info: AgentInfo
    agent: AgentChoice
    model: str

    @property
    def python_needs(self) -> tuple[str, AddedPackages]:
        """The task, and what the agent adds to its virtual environment."""
        return self.task, self.info.added_packages(self.agent.settings)


class SuiteRequest(Record):
    """The options of `run`, read and checked."""

    cells: tuple[Cell, ...]
    settings: RunSettings
    runs: int
    out: Path
    jobs: int
    roles: dict[str, str] = {}
    model_arguments: dict[str, Json] = {}
    prices: Path | None = None
    max_retries: int | None = None
    """Retries per model call; None for the default of our Inspect tasks."""

    @classmethod
    def read(
        cls,
        *,
        tasks: str = "",
        suite: str | None = None,
        variant: Variant = "original",
        agents: str,
        models: str,
        runs: int | None,
        out: Path,
        jobs: int,
        roles: Sequence[str],
        model_arguments: Sequence[str] = (),
        prices: Path | None,
        max_retries: int | None = None,
        **settings: Any,
    ) -> "SuiteRequest":
        """Read the options of `run`; a UsageError names a wrong one."""
        chosen = read_settings(settings, option_of=lambda name: f"--{name.replace('_', '-')}")
        if chosen.max_cost is not None and prices is None:
            raise UsageError(
                "--max-cost needs the models' prices: --prices FILE (see docs/models.md)"
            )
        if chosen.interactive and jobs > 1:
            raise UsageError(
                f"--interactive with --jobs {jobs}: a person answers one run at a time"
            )
        names = in_variants(chosen_tasks(split_list(tasks), suite), variant)
        choices, model_names = parse_agents(agents), split_list(models)
        if not choices:
            raise UsageError("--agents must name at least one (see: mlagentbench agents list)")
        return cls(
            cells=tuple(cells_of(names, choices, model_names)),
            settings=chosen,
            runs=runs or (PAPER_RUNS if chosen.protocol == "paper" else 1),
            out=out.absolute(),
            jobs=jobs,
            roles=dict(map(parse_role, roles)),
            model_arguments=parse_arguments(model_arguments),
            prices=prices,
            max_retries=max_retries,
        )


def cells_of(
    names: Sequence[str],
    choices: Sequence[AgentChoice],
    models: Sequence[str],
    option: str = "--models",
) -> Iterator[Cell]:
    """All agents on all tasks with all models that they use; a UsageError for bad combinations."""
    addresses = list(dict.fromkeys(load_task(name).address for name in names))
    usable = [model for model in models if model != NO_MODEL]
    chosen = [(_agent(choice.name), choice.settings) for choice in choices]
    if usable and all(info.needs_model is False for info, _ in chosen):
        raise UsageError(
            f"{option} {','.join(usable)}: none of these agents uses a model (see: mlagentbench "
            "agents list)"
        )
    for info, settings in chosen:
        info.solver(**settings)
        choose_actions(settings.get("actions") or ())
        if info.needs_model and not usable:
            raise UsageError(
                f"agent {info.name} needs a model: {option} PROVIDER/NAME "
                "(e.g. openai/gpt-6-sol, anthropic/claude-opus-5-5; see docs/models.md)"
            )
        choice = AgentChoice(name=info.name, settings=settings)
        used_models = [NO_MODEL] if info.needs_model is False else usable or [NO_MODEL]
        for address in addresses:
            for model in used_models:
                yield Cell(task=address, info=info, agent=choice, model=model)


def _agent(name: str) -> AgentInfo:
    return load_agent(name) if is_file(name) else find_agent(name)


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
        if ROLE in _roles(request, cell) and request.settings.sandbox != "bubblewrap":
            raise UsageError(
                f"{cell.task} needs --sandbox bubblewrap: the submitted program reaches its model "
                "on that sandbox's loopback only"
            )
        if _roles(request, cell).get(ROLE) == RECORDED:
            raise UsageError(
                f"{cell.task} needs a model for its programs, and a recording has no replies for "
                "them: --role tool=PROVIDER/NAME"
            )
    if request.settings.feedback_calls():
        for task in _tasks(request).values():
            require_feedback(task)
    _prices(request)
    require_known_arguments(request.model_arguments, _models(request))
    for name in sorted(_models(request)):
        require_model(choose(name, request.model_arguments))


def _check_in_sandbox_agent(agent: str, settings: RunSettings) -> None:
    if settings.sandbox != "bubblewrap":
        raise UsageError(f"agent {agent} needs --sandbox bubblewrap: it is an in-sandbox agent")
    if settings.feedback_calls():
        raise UsageError(f"agent {agent} has no actions, so it cannot use --feedback")


def _prices(request: SuiteRequest) -> "dict[str, ModelCost] | None":
    return None if request.prices is None else read_prices(request.prices, _models(request))


def _all_prices(requests: Sequence[SuiteRequest]) -> "dict[str, ModelCost] | None":
    prices: dict[str, ModelCost] = {}
    for request in requests:
        prices |= _prices(request) or {}
    return prices or None


def _models(request: SuiteRequest) -> set[str]:
    return {cell.model for cell in request.cells} - {NO_MODEL} | set(request.roles.values())


def _roles(request: SuiteRequest, cell: Cell) -> dict[str, str]:
    """All roles that a cell's agent and task use; the main model where none was chosen.

    A role that is not bound has no usage in Inspect's log.
    """
    default = dict.fromkeys(cell.info.roles, cell.model)
    tool = tool_model_name(load_task(cell.task), request.roles, cell.model)
    return {**default, **request.roles} | ({} if tool is None else {ROLE: tool})


def role_choices(request: SuiteRequest, cell: Cell) -> dict[str, ModelChoice]:
    """The roles of a cell with their models' arguments."""
    roles = _roles(request, cell).items()
    return {role: choose(name, request.model_arguments) for role, name in roles}


def _tasks(request: SuiteRequest) -> dict[str, Task]:
    return {cell.task: load_task(cell.task) for cell in request.cells}


def evaluate(
    requests: Sequence[SuiteRequest], ready: Sequence[ReadyTasks], console: Console
) -> bool:
    """Run all cells with Inspect; True when the user interrupted it.

    Several requests differ only in their cells, settings and roles.
    """
    from inspect_ai import eval_set

    request = requests[0]
    tasks = [
        _inspect_task(cell, one, ready_tasks[cell.python_needs])
        for one, ready_tasks in zip(requests, ready, strict=True)
        for cell in one.cells
    ]
    # Inspect prints messages about its log directory, which are not useful here.
    live = LiveProgress(console, total=len(tasks) * request.runs)
    with live, redirect_stdout(StringIO()), explain_prerequisites("Inspect"):
        _, logs = eval_set(
            tasks,
            log_dir=str(request.out / "logs"),
            log_dir_allow_dirty=True,
            retry_attempts=0,
            retry_immediate=False,
            model=None,
            model_cost_config=_all_prices(requests),
            epochs=request.runs,
            max_tasks=request.jobs,
            max_samples=request.jobs,
            max_sandboxes=request.jobs,
            display="none",
            log_level="error",
            score_display=False,
            max_retries=request.max_retries,
        )
    # When interrupted, Inspect returns no logs, or those of the finished tasks.
    return len(logs) < len(tasks) or any(log.status == "cancelled" for log in logs)


def _inspect_task(cell: Cell, request: SuiteRequest, ready: Ready) -> "inspect_ai.Task":
    from inspect_ai import task_with

    from mlagentbench.launch.inspect_task import registered_task

    task = registered_task(cell.task, request.settings)
    solver = cell.info.solver(**cell.agent.settings)
    model, roles = choose(cell.model, request.model_arguments), role_choices(request, cell)
    recording = who_answers(model, roles).recording
    parts = (task.version, ready.data.hash[:8], recording and recording[:8], _last_line(request))
    return task_with(
        task,
        solver=solver,
        model=model.bound(),
        model_roles={role: choice.bound() for role, choice in roles.items()},
        # Inspect skips what has a finished log of this version.
        version="+".join(str(part) for part in parts if part is not None),
    )


def _last_line(request: SuiteRequest) -> float | None:
    """The time of a resumed run's last journal line; the journal alone decides if it has ended."""
    if request.settings.continues is None:
        return None
    journal = RunDirectory(request.out, Path(request.settings.continues)).journal
    lines = read_lines(journal) if journal.exists() else []
    return max((line.at for line in lines), default=None)


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
    from mlagentbench.launch.identity import disclose_run

    model = choose(cell.model, request.model_arguments)
    roles = role_choices(request, cell)
    return disclose_run(load_task(cell.task), request.settings, ready, cell.agent, model, roles)


def _identity(facts: Disclosure) -> tuple[str, ...]:
    """What two results share exactly if they are runs of one cell."""
    started = facts.model_copy(update={"limits": facts.first_limits or facts.limits})
    return facts.task, facts.tier, facts.agent, facts.model, settings_hash(started)
