"""How far the runs of a plan have come, as their directories say: what `jobs status` shows.

Only the last lines of journals are read, so that thousands of runs take a moment.
"""

import os
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.fs import parse_json
from mlagentbench.launch.plans.plan import PlanFile, RunRequest, plan_files
from mlagentbench.models.sharing.outages import outages_of
from mlagentbench.models.sharing.plan_share import plan_share
from mlagentbench.records import Json, Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import lines_from_end
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.lease import Holder, may_be_held
from mlagentbench.runs.results import final_grade, read_run
from mlagentbench.runs.resumption import BROKEN_OFF, goes_on, last_limits

RunStateName = Literal["done", "running", "waiting", "failed", "cancelled"]
STATES: tuple[RunStateName, ...] = ("done", "running", "waiting", "failed", "cancelled")
SHOWN = 300


class RunState(Record):
    """How far one run has come."""

    run: str
    state: RunStateName
    plan: str
    where: str = ""
    """The process that works on a running one."""
    step: int | None = None
    """The steps that a running one has done."""
    left: str = ""
    """What a running one has left of its budget."""
    cause: str = ""
    """Why a failed one failed, or what a waiting one waits for."""

    @property
    def is_open(self) -> bool:
        """Whether it is running or waiting."""
        return self.state in ("running", "waiting")


class PlanState(Record):
    """How far all runs of the plans below OUT have come."""

    runs: tuple[RunState, ...]
    hindered: tuple[str, ...] = ()
    """Why all open runs of a plan wait: the money is spent, or a provider does not answer."""

    def of(self, state: RunStateName) -> list[RunState]:
        return [one for one in self.runs if one.state == state]

    @property
    def counts(self) -> dict[RunStateName, int]:
        return {name: len(self.of(name)) for name in STATES}

    @property
    def is_over(self) -> bool:
        """Whether nothing is running or waiting."""
        return not any(one.is_open for one in self.runs)


class PlannedRun:
    """A run that a plan asks for; the plan that asked last decides how."""

    def __init__(self, file: PlanFile, place: int, run: str, asked: float) -> None:
        self.file = file
        self.place = place
        self.run = run
        self.asked = asked

    @cached_property
    def directory(self) -> RunDirectory:
        return RunDirectory(self.file.out, Path(self.run))

    @property
    def request(self) -> RunRequest:
        return self.file.request(self.place)

    @property
    def kind(self) -> tuple[str, Json, Json]:
        """What decides how much of a machine it needs."""
        entry = self.file.entries[self.place]
        settings = entry.get("settings")
        chosen = settings if isinstance(settings, dict) else {}
        return str(entry["task"]), chosen.get("profile"), chosen.get("gpus")

    def state(self, *, with_progress: bool = True) -> RunState:
        """How far it has come; a run whose files are damaged has failed.

        The steps and the budget of a running one are read only `with_progress`.
        """
        folder = f"{self.file.out}/{self.run}"
        try:
            return self._state(folder, _names(folder), with_progress)
        except UsageError as error:
            return self._is("failed", cause=str(error))

    def _state(self, folder: str, names: frozenset[str], with_progress: bool) -> RunState:
        if may_be_held(folder, names) and (holder := self.directory.holder) is not None:
            return self._running(holder) if with_progress else self._is("running")
        if "journal.jsonl" in names and "grades.jsonl" in names and self._is_done(folder):
            return self._is("done")
        if (failure := self._failure(names)) is not None:
            return self._is("failed", cause=failure)
        if self.file.is_cancelled:
            return self._is("cancelled")
        return self._is("waiting", cause="interrupted" if "journal.jsonl" in names else "")

    def _is(self, state: RunStateName, cause: str = "") -> RunState:
        return RunState(run=self.run, state=state, plan=self.file.hash, cause=cause)

    def _running(self, holder: Holder) -> RunState:
        """With its steps, and what is left of its budget."""
        running = self._is("running").model_copy(update={"where": holder.described})
        try:
            history = read_journal(self.directory.journal)
        except UsageError:  # its first lines are being written
            return running
        limits = last_limits(history)
        left = () if limits is None else limits.left(history.usage).items()
        texts = ", ".join(limit.text(amount) for limit, amount in left)
        return running.model_copy(update={"step": len(history.steps), "left": texts})

    def _is_done(self, folder: str) -> bool:
        """Whether it has its grade, and no budget to continue with."""
        ended = _outcome(f"{folder}/journal.jsonl")
        if ended is None or self.file.entries[self.place].get("resumes"):
            return is_finished(self.request, self.directory)
        if ended.kind in BROKEN_OFF:
            return False
        grade = next(_last_lines(f"{folder}/grades.jsonl"), {})
        return grade.get("step") == ended.steps or is_finished(self.request, self.directory)

    def _failure(self, names: frozenset[str]) -> str | None:
        """Why it failed since it was last asked for; None if it did not."""
        run = self.directory
        if "failure.txt" in names and run.failure.stat().st_mtime > self.asked:
            return run.failure.read_text("utf-8", "replace").strip()[:SHOWN]
        ended = _outcome(str(run.journal)) if "journal.jsonl" in names else None
        if ended is not None and ended.kind == "failed":
            if run.journal.stat().st_mtime <= self.asked:
                return None
            outcome = read_run(run).outcome
            return "failed" if outcome is None else f"{outcome.cause}: {outcome.detail}"[:SHOWN]
        return None


def planned_runs(files: Iterable[PlanFile]) -> list[PlannedRun]:
    """The runs of these plans, each once; where several ask for one, the last of them decides."""
    found: dict[str, PlannedRun] = {}
    for file in files:
        asked = file.asked
        for place, run in enumerate(file.runs):
            found[run] = PlannedRun(file, place, run, asked)
    return list(found.values())


def require_plans(out: Path) -> list[PlanFile]:
    """The plans below OUT; a UsageError if there are none."""
    files = plan_files(out)
    if not files:
        raise UsageError(
            f"{out} has no plans; name the --out directory of a run command that was started"
        )
    return files


def plan_state(out: Path) -> PlanState:
    """How far the plans below OUT have come; a UsageError if there are none."""
    files = require_plans(out)
    runs = tuple(run.state() for run in planned_runs(files))
    waiting = {one.plan for one in runs if one.is_open}
    hindered = chain.from_iterable(_hindrances(file) for file in files if file.hash in waiting)
    return PlanState(runs=runs, hindered=tuple(dict.fromkeys(hindered)))


def _hindrances(file: PlanFile) -> Iterator[str]:
    if file.directory.is_dir():
        if (spent := plan_share(file.directory).spent_out()) is not None:
            yield spent
        yield from outages_of(file.directory)


def is_out_of_money(out: Path, runs: AbstractSet[str]) -> bool:
    """Whether the money of the plan that asks for these runs is spent."""
    files = [file for file in plan_files(out) if not runs.isdisjoint(file.runs)]
    return bool(files) and plan_share(files[-1].directory).spent_out() is not None


def unfinished(requests: Iterable[RunRequest], out: Path) -> list[RunRequest]:
    """The requests that something is left to do for."""
    return [request for request in requests if not is_finished(request, request.directory(out))]


def is_finished(request: RunRequest, run: RunDirectory) -> bool:
    """Whether a run has its grade, and no budget left to continue with."""
    if not run.journal.exists():
        return False
    history = read_journal(run.journal)
    return (
        not goes_on(history, request.limits(history))
        and final_grade(run, len(history.steps)) is not None
    )


def _names(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()


class _Ended(NamedTuple):
    """How a journal ends."""

    kind: str
    steps: int


def _outcome(journal: str) -> _Ended | None:
    """The outcome that a journal ends with; None if its end does not tell."""
    for line in _last_lines(journal):
        if line.get("kind") == "outcome":
            outcome, usage = line.get("outcome"), line.get("usage")
            if not isinstance(outcome, dict) or not isinstance(usage, dict):
                return None
            return _Ended(str(outcome.get("kind")), int(usage.get("steps", 0)))
        if line.get("kind") != "event" or line.get("event") == "resumed":
            return None
    return None


def _last_lines(path: str) -> Iterator[dict[str, Json]]:
    """The last whole lines of a file of JSON lines, from its end."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        for line in lines_from_end(file.fileno()):
            try:
                value = parse_json(line.raw)
            except ValueError:
                return
            if isinstance(value, dict):
                yield value
