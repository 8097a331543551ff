"""What is to be run: a list of run requests, each complete, written to OUT/plans.

The id of a request is the place of its run below OUT. So whether a run is finished is seen from
its directory alone, and requests can be executed in any order, by any engine, more than once.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.launch.disclose_run import disclose_run
from mlagentbench.launch.request import (
    AgentChoice,
    Cell,
    ReadyTasks,
    RunSettings,
    SuiteRequest,
    prices_of,
    role_choices,
)
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.model_choice import ModelChoice, choose
from mlagentbench.records import Disclosure, Json, Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.record import new_record, place_of
from mlagentbench.runs.results import final_grade
from mlagentbench.runs.resumption import goes_on, last_limits
from mlagentbench.tasks.make_ready import Ready
from mlagentbench.tasks.task import load_task

PLANS = "plans"


class RunRequest(Record):
    """One run, with all that determines it."""

    run: str
    """Its id: the place of its directory below OUT."""
    task: str
    epoch: int
    agent: AgentChoice
    model: ModelChoice
    roles: dict[str, ModelChoice] = {}
    settings: RunSettings = RunSettings()
    resumes: bool = False
    """Whether an existing run continues, with the limits of these settings."""
    prices: dict[str, Json] = {}
    max_retries: int | None = None
    """Retries per model call; None for the default of our Inspect tasks."""

    def directory(self, out: Path) -> RunDirectory:
        return RunDirectory(out, Path(self.run))

    def limits(self, history: History) -> BudgetLimits:
        """The limits that were asked for; of a run that has begun, those that it has.

        Only a resumed run takes over what was asked for.
        """
        asked = self.settings.limits(load_task(self.task).spec)
        return asked if self.resumes else last_limits(history) or asked


class Plan(Record):
    """The runs that one command asks for."""

    requests: tuple[RunRequest, ...]

    def write(self, out: Path) -> Path:
        """Write it to OUT/plans; the same plan is the same file."""
        contents = self.model_dump_json(indent=1, exclude_defaults=True).encode()
        path = out / PLANS / f"{hashlib.sha256(contents).hexdigest()[:16]}.json"
        if not path.exists():
            write_atomically(path, contents)
        return path


def plan_suite(suite: SuiteRequest, ready: ReadyTasks) -> Plan:
    """All runs of a suite whose tasks are ready."""
    cells = (_requests(suite, cell, ready[cell.python_needs]) for cell in suite.cells)
    requests = tuple(chain.from_iterable(cells))
    _require_distinct(requests)
    return Plan(requests=requests)


def _require_distinct(requests: Iterable[RunRequest]) -> None:
    """A UsageError when two requests have the same run, as with two agents of one name."""
    found: dict[str, RunRequest] = {}
    for request in requests:
        other = found.setdefault(request.run, request)
        if other is not request:
            first, second = map(_chosen, (other, request))
            raise UsageError(
                f"{first}, and {second}: both would be the run {request.run}; rename one, or run "
                "them with different --out directories"
            )


def _chosen(request: RunRequest) -> str:
    agent = request.agent.file or request.agent.name
    return f"{agent} on {request.task} with {request.model.name}"


def _requests(suite: SuiteRequest, cell: Cell, ready: Ready) -> Iterator[RunRequest]:
    """The runs of a cell, which differ only in their epoch."""
    task, disclosure = load_task(cell.task), disclose_cell(suite, cell, ready)
    first = request_of_cell(suite, cell, "", 1)
    for epoch in range(1, suite.runs + 1):
        place = place_of(new_record(task, epoch, disclosure))
        yield first.model_copy(update={"run": place, "epoch": epoch})


def request_of_cell(
    suite: SuiteRequest, cell: Cell, run: str, epoch: int, *, resumes: bool = False
) -> RunRequest:
    """One run of a cell, in that place below OUT."""
    prices = prices_of(suite) or {}
    return RunRequest(
        run=run,
        task=cell.task,
        epoch=epoch,
        agent=cell.agent,
        model=choose(cell.model, suite.model_arguments),
        roles=role_choices(suite, cell),
        settings=suite.settings,
        resumes=resumes,
        prices={name: cost.model_dump() for name, cost in prices.items()},
        max_retries=suite.max_retries,
    )


def disclose_cell(suite: SuiteRequest, cell: Cell, ready: Ready) -> Disclosure:
    """What the results of a cell will disclose."""
    model = choose(cell.model, suite.model_arguments)
    roles = role_choices(suite, cell)
    return disclose_run(load_task(cell.task), suite.settings, ready, cell.agent, model, roles)


def unfinished(requests: Iterable[RunRequest], out: Path) -> list[RunRequest]:
    """The requests that something is left to do for."""
    return [request for request in requests if not _is_finished(request, request.directory(out))]


def _is_finished(request: RunRequest, run: RunDirectory) -> bool:
    """Whether a run has its grade, and no budget left to continue with."""
    history = read_journal(run.journal)
    return (
        not goes_on(history, request.limits(history))
        and final_grade(run, len(history.steps)) is not None
    )
