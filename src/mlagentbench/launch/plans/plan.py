"""What is to be run: a list of run requests, each complete, written to OUT/plans.

The id of a request is the place of its run below OUT. So whether a run is finished is seen from
its directory alone, and requests can be executed in any order, by any engine, more than once.

OUT/plans/
  HASH.json        a plan; the time of the file is when it was last asked for
  HASH.cancelled   nothing more of this plan is to be done; removed when it is asked for again
  HASH/            what the workers of the plan share; a link if they share it with those of another
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.fs import create_exclusively, parse_json, read_regular, write_atomically
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
from mlagentbench.machine.ledger import Need
from mlagentbench.models.model_choice import ModelChoice, choose
from mlagentbench.records import Disclosure, Json, Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import History
from mlagentbench.runs.record import new_record, place_of
from mlagentbench.runs.resumption import last_limits
from mlagentbench.tasks.draws import PUBLIC
from mlagentbench.tasks.make_ready import Ready

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
    draw: str = PUBLIC
    """Its data; which of them, the settings say."""
    resumes: bool = False
    """Whether an existing run continues, with the limits of these settings."""
    prices: dict[str, Json] = {}
    max_retries: int | None = None
    """Retries per model call; None for the default of our Inspect tasks."""

    def directory(self, out: Path) -> RunDirectory:
        return RunDirectory(out, Path(self.run))

    def need(self) -> Need:
        """What the run holds of a machine."""
        return self.settings.need(self.settings.task(self.task).spec)

    def limits(self, history: History) -> BudgetLimits:
        """The limits that were asked for; of a run that has begun, those that it has.

        Only a resumed run takes over what was asked for.
        """
        asked = self.settings.limits(self.settings.task(self.task).spec)
        return asked if self.resumes else last_limits(history) or asked


class Plan(Record):
    """The runs that one command asks for."""

    requests: tuple[RunRequest, ...]

    def file(self, out: Path) -> "PlanFile":
        """Where it is below OUT, or will be; the same plan is the same file."""
        return PlanFile(out, hashlib.sha256(self._contents()).hexdigest()[:16])

    def write(self, out: Path) -> "PlanFile":
        """Write it to OUT/plans; a plan that is there is asked for again."""
        file = self.file(out)
        if file.path.exists():
            file.path.touch()
        else:
            write_atomically(file.path, self._contents())
        file.cancelled.unlink(missing_ok=True)
        return file

    def _contents(self) -> bytes:
        return self.model_dump_json(indent=1, exclude_defaults=True).encode()


@dataclass(frozen=True)
class PlanFile:
    """A plan on disk, by the hash of its contents."""

    out: Path
    hash: str

    @property
    def path(self) -> Path:
        return self.out / PLANS / f"{self.hash}.json"

    @property
    def directory(self) -> Path:
        """What the workers of the plan share."""
        return self.out / PLANS / self.hash

    def share_with(self, other: "PlanFile") -> None:
        """Have its workers share with those of another plan, unless its own share already."""
        other.directory.mkdir(parents=True, exist_ok=True)
        shared = other.directory.resolve().name
        if self.directory.is_symlink():
            self.directory.unlink()
        if not self.directory.exists() and shared != self.hash:
            self.directory.symlink_to(shared)

    @property
    def cancelled(self) -> Path:
        return self.out / PLANS / f"{self.hash}.cancelled"

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled.exists()

    @property
    def asked(self) -> float:
        """When a command last asked for it, by the clock of the file system."""
        return self.path.stat().st_mtime

    def cancel(self) -> None:
        """Have its workers stop; what is done stays, and the rest can be asked for again."""
        create_exclusively(self.cancelled, b"")

    @cached_property
    def entries(self) -> list[dict[str, Json]]:
        """The requests as they are written, by which ten thousand of them are listed quickly."""
        try:
            values = parse_json(read_regular(self.path))
            requests = values["requests"] if isinstance(values, dict) else None
            return _ENTRIES.validate_python(requests)
        except (ValueError, KeyError) as error:
            raise UsageError(
                f"{self.path}: not a plan ({type(error).__name__}); remove it, and run the command "
                "that wrote it again"
            ) from error

    @property
    def runs(self) -> list[str]:
        """The ids of its requests."""
        return [str(entry["run"]) for entry in self.entries]

    def request(self, place: int) -> RunRequest:
        """One of its requests, by its place in the list."""
        try:
            return RunRequest.model_validate(self.entries[place])
        except ValidationError as error:
            raise UsageError(
                f"{self.path}: request {place + 1} is not one of this version of mlagentbench; run "
                "the command that wrote it again"
            ) from error


_ENTRIES = TypeAdapter(list[dict[str, Json]])


def plan_files(out: Path) -> list[PlanFile]:
    """All plans below OUT, those that were asked for last at the end."""
    found = [PlanFile(out, path.stem) for path in (out / PLANS).glob("[0-9a-f]*.json")]
    return sorted(found, key=lambda file: (file.asked, file.hash))


def plan_suite(suite: SuiteRequest, ready: ReadyTasks) -> Plan:
    """All runs of a suite whose tasks are ready."""
    cells = (_requests(suite, cell, ready) for cell in suite.cells)
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


def _requests(suite: SuiteRequest, cell: Cell, ready: ReadyTasks) -> Iterator[RunRequest]:
    """The runs of a cell, which differ only in their epoch and their draw."""
    task = suite.settings.task(cell.task)
    first = request_of_cell(suite, cell, "", 1)
    # the place of a run depends on the policy, not on its draw
    disclosure = disclose_cell(suite, cell, ready[*cell.python_needs, first.draw])
    for epoch in range(1, suite.runs + 1):
        place = place_of(new_record(task, epoch, disclosure))
        draw = cell.draw_of(suite.settings, epoch)
        yield first.model_copy(update={"run": place, "epoch": epoch, "draw": draw})


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
        draw=cell.draw_of(suite.settings, epoch),
        resumes=resumes,
        prices={name: cost.model_dump() for name, cost in prices.items()},
        max_retries=suite.max_retries,
    )


def disclose_cell(suite: SuiteRequest, cell: Cell, ready: Ready) -> Disclosure:
    """What the results of a cell will disclose."""
    model = choose(cell.model, suite.model_arguments)
    roles = role_choices(suite, cell)
    return disclose_run(
        suite.settings.task(cell.task), suite.settings, ready, cell.agent, model, roles
    )
