"""`mlagentbench run`: every agent on every task with every model, N runs each, then the table."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mlagentbench.agents.agent import AGENTS, find_agent
from mlagentbench.environment.feedback import require_feedback
from mlagentbench.environment.sandbox.prerequisites import find_bwrap
from mlagentbench.errors import UsageError
from mlagentbench.evaluation.results import RunResult, SuiteOutcome, collect
from mlagentbench.records import Record
from mlagentbench.running.live import LiveProgress
from mlagentbench.running.output import own_output
from mlagentbench.running.prepare import TerminalProgress, ensure_ready
from mlagentbench.running.prices import read_prices
from mlagentbench.running.run_sandbox import require_sandbox
from mlagentbench.running.settings import (
    PAPER_RUNS,
    AgentChoice,
    RunSettings,
    parse_agents,
    seconds,
    split_list,
)
from mlagentbench.tasks.task import Task, load_task, task_folders

if TYPE_CHECKING:
    import inspect_ai
    from inspect_ai.model import ModelCost

NO_MODEL = "none"
DEMO_TASKS = ("vectorization", "house-price", "spaceship-titanic")


class Cell(Record):
    """One agent with one model on one task."""

    task: str
    agent: AgentChoice
    model: str


class SuiteRequest(Record):
    """What the command line asked for, read and checked."""

    cells: tuple[Cell, ...]
    settings: RunSettings
    runs: int
    out: Path
    jobs: int
    roles: dict[str, str] = {}
    prices: Path | None = None

    @classmethod
    def read(
        cls,
        *,
        tasks: str,
        agents: str,
        models: str,
        runs: int | None,
        out: Path,
        jobs: int,
        roles: Sequence[str],
        prices: Path | None,
        max_time: str | None,
        **settings: Any,
    ) -> "SuiteRequest":
        """Read the options of `run`; a UsageError names the one that is wrong."""
        chosen = RunSettings(max_time=seconds(max_time, "--max-time"), **settings)
        if chosen.max_cost is not None and prices is None:
            raise UsageError("--max-cost needs the models' prices: --prices FILE (see the README)")
        names = sorted(task_folders()) if tasks == "all" else split_list(tasks)
        choices, model_names = parse_agents(agents), split_list(models)
        if not names or not choices:
            raise UsageError("--tasks and --agents must each name at least one")
        return cls(
            cells=tuple(_cells(names, choices, model_names)),
            settings=chosen,
            runs=runs or (PAPER_RUNS if chosen.protocol == "paper" else 1),
            out=out.absolute(),
            jobs=jobs,
            roles=dict(_role(text) for text in roles),
            prices=prices,
        )


def _cells(
    names: Sequence[str], choices: Sequence[AgentChoice], models: Sequence[str]
) -> Iterator[Cell]:
    for choice in choices:
        info = find_agent(choice.name)
        info.solver(**choice.settings)
        usable = [model for model in models if model != NO_MODEL]
        if info.needs_model and not usable:
            raise UsageError(
                f"agent {choice.name} needs a model: --models PROVIDER/NAME "
                "(e.g. openai/gpt-5, anthropic/claude-sonnet-4-5)"
            )
        for name in names:
            task_id = load_task(name).id
            path = name if task_id != name.replace("_", "-") else task_id
            for model in usable if info.needs_model else [NO_MODEL]:
                yield Cell(task=path, agent=choice, model=model)


def _role(text: str) -> tuple[str, str]:
    role, sign, model = text.partition("=")
    if not sign or not role or not model:
        raise UsageError(f"--role {text}: expected ROLE=MODEL, e.g. edit=openai/gpt-5-mini")
    return role, model


def run_suite(request: SuiteRequest, console: Console) -> SuiteOutcome:
    """Prepare what is needed, run everything asked for, and read back what came of it."""
    settings = request.settings
    _require_what_is_needed(request)
    with own_output(request.out):
        try:
            with TerminalProgress(console) as progress:
                for task in _tasks(request):
                    ensure_ready(task, settings.tier, settings.mini_seed, progress=progress)
            interrupted = _evaluate(request, console)
        except KeyboardInterrupt:
            interrupted = True
        return SuiteOutcome(
            out=request.out,
            results=tuple(_results(request)),
            expected=len(request.cells) * request.runs,
            interrupted=interrupted,
            paper_rule=settings.protocol == "paper",
        )


def _require_what_is_needed(request: SuiteRequest) -> None:
    """Find out now, not in the middle of the first run."""
    require_sandbox(request.settings.sandbox)
    _prices(request)
    find_bwrap()
    if request.settings.feedback_calls():
        for task in _tasks(request):
            require_feedback(task)


def _prices(request: SuiteRequest) -> "dict[str, ModelCost] | None":
    if request.prices is None:
        return None
    used = {cell.model for cell in request.cells} | set(request.roles.values())
    return read_prices(request.prices, used - {NO_MODEL})


def _tasks(request: SuiteRequest) -> list[Task]:
    return [load_task(name) for name in dict.fromkeys(cell.task for cell in request.cells)]


def _evaluate(request: SuiteRequest, console: Console) -> bool:
    """Let Inspect run all cells; True when a person interrupted it."""
    from inspect_ai import eval_set

    tasks = [_inspect_task(cell, request) for cell in request.cells]
    # What Inspect itself prints about its log directory would only stand in the way.
    live = LiveProgress(console, total=len(tasks) * request.runs)
    with live, redirect_stdout(StringIO()), _prerequisites_explained():
        eval_set(
            tasks,
            log_dir=str(request.out / "logs"),
            log_dir_allow_dirty=True,
            retry_attempts=0,
            retry_immediate=False,
            model=None,
            model_roles=dict(request.roles) or None,
            model_cost_config=_prices(request),
            epochs=request.runs,
            max_tasks=request.jobs,
            max_samples=request.jobs,
            max_sandboxes=request.jobs,
            display="none",
            log_level="error",
            score_display=False,
        )
    return live.stopped


@contextmanager
def _prerequisites_explained() -> Iterator[None]:
    """What Inspect misses, a provider's package or key, is for the person to bring."""
    from inspect_ai._util.error import PrerequisiteError

    try:
        yield
    except PrerequisiteError as error:
        raise UsageError(str(error.message)) from error


def _inspect_task(cell: Cell, request: SuiteRequest) -> "inspect_ai.Task":
    from inspect_ai import task_with

    from mlagentbench.running.inspect_task import registered_task

    task = registered_task(cell.task, request.settings)
    solver = find_agent(cell.agent.name).solver(**cell.agent.settings)
    return task_with(task, solver=solver, model=cell.model)


def _results(request: SuiteRequest) -> list[RunResult]:
    """The results of the cells that were asked for, not of others in the same --out."""
    wanted = {
        (load_task(cell.task).id, cell.agent.name, json.dumps(cell.agent.settings, sort_keys=True))
        for cell in request.cells
    }
    found = []
    for result in collect(request.out):
        facts = result.record.disclosure
        settings = json.dumps(facts.agent_settings, sort_keys=True)
        same = (facts.task, facts.agent, settings) in wanted and facts.tier == request.settings.tier
        if same and result.record.epoch <= request.runs:
            found.append(result)
    return found


def print_agents(*, as_json: bool) -> None:
    """The agents, what they do and whether they need a model."""
    console = Console()
    if as_json:
        console.print_json(json.dumps([info.model_dump() for info in AGENTS.values()]))
        return
    for info in AGENTS.values():
        need = "needs a model" if info.needs_model else "no model"
        console.print(f"[bold]{info.name:<10}[/bold] {info.description} ({need})", highlight=False)


def demo_request(*, every: bool, out: Path) -> SuiteRequest:
    """The agents that need no model, on the mini tier; torch tasks only with `every`."""
    names = sorted(task_folders()) if every else DEMO_TASKS
    return SuiteRequest.read(
        tasks=",".join(names), agents="nop,baseline,oracle", models=NO_MODEL, runs=1, out=out,
        jobs=1, roles=[], prices=None, max_time=None, tier="mini",
    )  # fmt: skip
