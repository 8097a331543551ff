"""A worker: a process that takes runs from plans by their leases, until nothing is left for it.

Any number of workers on any number of machines share an OUT. What they know of each other is in the
run directories alone, so any of them can die at any moment: its runs are resumed by the others, as
soon as its leases are void. Every engine only starts workers.

A worker executes its runs in chunks, each one evaluation of Inspect: what an evaluation costs at
its start is paid once a chunk. A chunk is what takes about half a minute; then plans are read
again.
"""

import os
import random
import socket
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mlagentbench.errors import UsageError
from mlagentbench.launch.plans.plan import PlanFile, plan_files
from mlagentbench.launch.plans.plan_state import PlannedRun, planned_runs
from mlagentbench.launch.workers.evaluate import Evaluation
from mlagentbench.launch.workers.stopping import Stopping
from mlagentbench.machine.allocation import WHOLE_MACHINE, allocation
from mlagentbench.machine.ledger import Need, require_ledger
from mlagentbench.machine.slots import most_at_once, within
from mlagentbench.models.sharing.plan_share import plan_share
from mlagentbench.records import Json, Record
from mlagentbench.runs.lease import LeaseWatch, name_worker
from mlagentbench.terminal import Terminal

CHUNK_SECONDS = 30.0
"""How long a chunk is meant to take."""
LARGEST_CHUNK = 64
QUICKEST = 0.05
"""Seconds that a run takes at least, for the size of the next chunk."""
ATTEMPTS = 3
"""How often a worker begins a run that ends neither well nor with a failure, as one that it lost
to another worker."""
DEPTH = 16
"""Runs in a chunk for each that a worker has at once, so that none waits for the longest."""


class WorkerPlace(Record):
    """Where a worker is, for the journals of its runs and for `jobs status`."""

    engine: str = ""
    """Empty for a worker that a person or a foreign scheduler has started."""
    job: str = ""
    """The scheduler's id of it, as 12_3."""
    node: str = ""
    worker: str = Field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")

    @property
    def described(self) -> str:
        """Such as "slurm job 12_3 on n2, worker host-4711"."""
        job = f"job {self.job}" if self.job else ""
        node = f"on {self.node}" if self.node else ""
        place = " ".join(filter(None, (self.engine, job, node)))
        return ", ".join(filter(None, (place, f"worker {self.worker}")))


class WorkerOptions(Record):
    """How a worker works."""

    jobs: Annotated[int | None, Field(ge=1)] = 1
    """The most runs at once; None: as many as there are slots for."""
    seconds: float | None = None
    """After so long it ends, and leaves its runs so that they can be resumed."""
    wait: bool = True
    """Whether it waits for runs that others hold, to take them over if they fall silent."""
    place: WorkerPlace | None = None
    """None for a person's command, which is not recorded."""


class WorkerEnd(Record):
    """Why a worker has ended."""

    time_is_up: bool = False


def work(out: Path, options: WorkerOptions, console: Terminal) -> WorkerEnd:
    """Execute runs of all plans below OUT, until nothing is left to do for this worker.

    Raises KeyboardInterrupt when it is told to stop, by Ctrl-C or SIGTERM, with all runs left so
    that they can be resumed.
    """
    return Worker(out, options, console).work()


class Worker:
    """One worker; `only` are the runs of the command that it belongs to, in one chunk."""

    def __init__(
        self,
        out: Path,
        options: WorkerOptions,
        console: Terminal,
        only: Collection[str] | None = None,
    ) -> None:
        self._out = out
        self._options = options
        self._only = None if only is None else frozenset(only)
        self._watch = LeaseWatch()
        self._place = "" if options.place is None else options.place.described
        self._evaluation = Evaluation(out, options.jobs, console, self._watch, self._place)
        self._console = console
        self._begun: Counter[tuple[str, float]] = Counter()
        """How often each run was begun since it was asked for."""
        self._needs: dict[tuple[str, Json, Json], Need] = {}
        self._fitting: dict[tuple[str, Json, Json], bool] = {}
        """Which kinds of runs fit into what this worker was given, which does not change."""
        self._unusable: dict[str, UsageError] = {}
        """Plans that this worker cannot execute, and why."""
        self._ended: dict[str, float] = {}
        """The runs that are over, and when they had been asked for."""
        self._files: dict[str, PlanFile] = {}
        """Plans that were read, which never change."""
        self._left_alone: set[str] = set()
        self._told: set[str] = set()
        self._pace = CHUNK_SECONDS
        """Seconds a run, as far as is known."""

    def work(self) -> WorkerEnd:
        require_ledger()
        name_worker(self._place)
        with Stopping(self._options.seconds) as stopping:
            try:
                self._work(stopping)
            except KeyboardInterrupt:
                if not stopping.time_is_up:
                    raise
        for error in self._unusable.values():
            raise error
        return WorkerEnd(time_is_up=stopping.time_is_up)

    def _work(self, stopping: Stopping) -> None:
        is_over = False
        while not is_over and not stopping.time_is_up:
            try:
                is_over = self._next(stopping)
            except KeyboardInterrupt:
                if not stopping.continues_elsewhere():
                    raise
                self._console.print("the plan was cancelled")

    def _next(self, stopping: Stopping) -> bool:
        """Execute a chunk, or wait for others; returns whether nothing is left to do."""
        runs = self.open_runs()
        free = [run for run in runs if self._is_free(run)]
        if free:
            chunk = self._chunk(free)
            with stopping.if_cancelled(chunk[0].file):
                self._execute(chunk, stopping)
                stopping.require_not_asked_for()
        elif any(run.run not in self._left_alone for run in runs):
            time.sleep(self._watch.pause)
        else:
            return True
        return False

    # What there is to do

    def open_runs(self) -> list[PlannedRun]:
        """The runs that are not over, and that this worker may begin."""
        files = [self._files.setdefault(file.hash, file) for file in plan_files(self._out)]
        runs = [
            run
            for run in planned_runs(files)
            if self._may_begin(run) and not self._over(run) and self._fits(run)
        ]
        plans = {run.file.hash: run.file for run in runs}
        with_money = {name for name, file in plans.items() if self._has_money(file)}
        return [run for run in runs if run.file.hash in with_money]

    def _has_money(self, file: PlanFile) -> bool:
        """Whether the runs of a plan may spend more."""
        spent = plan_share(file.directory).spent_out()
        if spent is not None and self._only is None:
            self._tell_once(f"plan {file.hash}: {spent}")
        return spent is None

    def _may_begin(self, run: PlannedRun) -> bool:
        """As far as this worker knows without looking at any file."""
        if self._only is not None and run.run not in self._only:
            return False
        if run.file.hash in self._unusable or run.run in self._left_alone:
            return False
        return self._begun[run.run, run.asked] < ATTEMPTS

    def _fits(self, run: PlannedRun) -> bool:
        """Whether a run needs no more than the scheduler gave to this worker.

        On a machine of its own, a run that needs more than there is gets what there is.
        """
        if self._only is not None:
            return True
        kind, need = run.kind, self._need(run)
        if kind not in self._fitting:
            place = allocation()
            self._fitting[kind] = place.pool == WHOLE_MACHINE or within(need, place) == need
        if not self._fitting[kind]:
            self._tell_once(f"left to others: {run.file.hash} has runs that need {need}")
        return self._fitting[kind]

    def _need(self, run: PlannedRun) -> Need:
        if run.kind not in self._needs:
            self._needs[run.kind] = run.request.need()
        return self._needs[run.kind]

    def _over(self, run: PlannedRun) -> bool:
        """Whether a run is done or has failed; remembered until it is asked for again."""
        if self._ended.get(run.run) == run.asked:
            return True
        state = run.state(with_progress=False)
        if state.state in ("done", "failed"):
            self._ended[run.run] = run.asked
        return not state.is_open

    def _is_free(self, run: PlannedRun) -> bool:
        """Whether no living process holds a run."""
        seen = self._watch.look(run.directory.path)
        if seen.holder is None or seen.is_void:
            return True
        if not self._options.wait:
            who, name = seen.holder.described, run.directory.shown_name
            self._tell_once(f"{run.directory.path} is held by {who}; {self._watch.described}")
            if seen.renewed:
                self._left_alone.add(run.run)
                self._tell_once(f"{name}: left alone, since {who} works on it")
        return False

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._console.print(text, soft_wrap=True)

    def _chunk(self, free: Sequence[PlannedRun]) -> list[PlannedRun]:
        """Runs of one plan for one evaluation.

        Workers begin at different places, so that they seldom want the same run. A run is taken
        only when its turn comes, so a large chunk keeps nothing from others.
        """
        if self._only is not None:
            return [run for run in free if run.file == free[0].file]
        first = random.randrange(len(free))
        ordered = [*free[first:], *free[:first]]
        jobs = self._options.jobs or most_at_once(map(self._need, free))
        size = min(LARGEST_CHUNK, max(1, int(CHUNK_SECONDS / self._pace)))
        size = size if jobs == 1 else max(size, DEPTH * jobs)
        return [run for run in ordered if run.file == ordered[0].file][:size]

    # Doing it

    def _execute(self, chunk: Sequence[PlannedRun], stopping: Stopping) -> None:
        file, started = chunk[0].file, time.monotonic()
        try:
            requests = [run.request for run in chunk]
            left = self._evaluation.run(requests, file, lambda: stopping.is_asked_for)
        except UsageError as error:
            if self._only is not None:
                raise
            self._console.print(f"plan {file.hash}: {error}", soft_wrap=True)
            self._unusable[file.hash] = error
            return
        begun = [run for run in chunk if run.run not in left]
        self._begun.update((run.run, run.asked) for run in begun)
        if begun:
            self._pace = max(QUICKEST, (time.monotonic() - started) / len(begun))
        else:
            time.sleep(self._watch.pause)
