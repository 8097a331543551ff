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
import signal
import socket
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mlagentbench.errors import UsageError
from mlagentbench.launch.plans.plan import PlanFile, plan_files
from mlagentbench.launch.plans.plan_state import PlannedRun, planned_runs
from mlagentbench.launch.workers.evaluate import Evaluation
from mlagentbench.machine.ledger import require_ledger
from mlagentbench.machine.slots import most_at_once
from mlagentbench.models.sharing.plan_share import plan_share
from mlagentbench.records import Record
from mlagentbench.runs.lease import LeaseWatch, name_worker
from mlagentbench.tasks.spec import parse_seconds
from mlagentbench.terminal import Terminal

CHUNK_SECONDS = 30.0
"""How long a chunk is meant to take."""
LARGEST_CHUNK = 64
QUICKEST = 0.05
"""Seconds that a run takes at least, for the size of the next chunk."""
ATTEMPTS = 3
"""How often a worker begins a run that ends neither well nor with a failure, as one that it lost
to another worker."""
LOOK_AROUND = 1.0
"""Seconds between two looks at whether to stop."""


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
    done: int = 0
    """The runs that it has executed."""


def seconds_of(text: str | None, option: str) -> float | None:
    """A duration such as 4h, from an option; a UsageError names the option."""
    try:
        return None if text is None else parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error


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
        self._begun: dict[str, int] = {}
        """How often each run was begun."""
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
        with _Stopping(self._options.seconds) as stopping:
            try:
                self._work(stopping)
            except KeyboardInterrupt:
                if not stopping.time_is_up:
                    raise
        return WorkerEnd(time_is_up=stopping.time_is_up, done=len(self._begun))

    def _work(self, stopping: "_Stopping") -> None:
        is_over = False
        while not is_over:
            try:
                is_over = self._next(stopping)
            except KeyboardInterrupt:
                if not stopping.was_cancelled:
                    raise
                stopping.was_cancelled = False
                self._console.print("the plan was cancelled")

    def _next(self, stopping: "_Stopping") -> bool:
        """Execute a chunk, or wait for others; returns whether nothing is left to do."""
        runs = self._open_runs()
        free = [run for run in runs if self._is_free(run)]
        if free:
            chunk = self._chunk(free)
            with stopping.if_cancelled(chunk[0].file):
                self._execute(chunk)
        elif any(run.run not in self._left_alone for run in runs):
            time.sleep(self._watch.pause)
        else:
            return True
        return False

    # What there is to do

    def _open_runs(self) -> list[PlannedRun]:
        """The runs that are not over, and that this worker may begin."""
        known = [self._files.setdefault(file.hash, file) for file in plan_files(self._out)]
        files = [file for file in known if self._has_money(file)]
        return [run for run in planned_runs(files) if self._may_begin(run) and not self._over(run)]

    def _has_money(self, file: PlanFile) -> bool:
        """Whether the runs of a plan may spend more."""
        spent = plan_share(file.directory).spent_out()
        if spent is not None and self._only is None:
            self._tell_once(f"plan {file.hash}: {spent}")
        return spent is None

    def _may_begin(self, run: PlannedRun) -> bool:
        asked = self._only is None or run.run in self._only
        left = self._begun.get(run.run, 0) < ATTEMPTS and run.run not in self._left_alone
        return asked and left

    def _over(self, run: PlannedRun) -> bool:
        """Whether a run is done or has failed; remembered until it is asked for again."""
        if self._ended.get(run.run) == run.asked:
            return True
        state = run.state().state
        if state in ("done", "failed"):
            self._ended[run.run] = run.asked
        return state not in ("running", "waiting")

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

        Workers begin at different places, so that they seldom want the same run.
        """
        if self._only is not None:
            return list(free)
        first = random.randrange(len(free))
        ordered = [*free[first:], *free[:first]]
        jobs = self._options.jobs or most_at_once(run.request.need() for run in free)
        size = max(jobs, min(LARGEST_CHUNK, int(CHUNK_SECONDS / self._pace)))
        return [run for run in ordered if run.file == ordered[0].file][:size]

    # Doing it

    def _execute(self, chunk: Sequence[PlannedRun]) -> None:
        for run in chunk:
            self._begun[run.run] = self._begun.get(run.run, 0) + 1
        started = time.monotonic()
        done = self._evaluation.run([run.request for run in chunk], chunk[0].file)
        self._pace = max(QUICKEST, (time.monotonic() - started) / max(1, done))


class _Stopping:
    """Ends the work by SIGINT, as Ctrl-C does, when it is time; SIGTERM is the same.

    Inspect then stops its samples, and every run is left so that it can be resumed.
    """

    def __init__(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._file: PlanFile | None = None
        self._ended = threading.Event()
        self.time_is_up = False
        self.was_cancelled = False

    def __enter__(self) -> "_Stopping":
        self._before = signal.signal(signal.SIGTERM, _interrupt)
        threading.Thread(target=self._look, daemon=True, name="stopping").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        signal.signal(signal.SIGTERM, self._before)

    @contextmanager
    def if_cancelled(self, file: PlanFile) -> Iterator[None]:
        """Stop what is done meanwhile if this plan is cancelled."""
        self._file = file
        try:
            yield
        finally:
            self._file = None

    def _look(self) -> None:
        while not self._ended.wait(LOOK_AROUND):
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.time_is_up = True
            elif self._file is not None and self._file.is_cancelled:
                self.was_cancelled, self._file = True, None
            else:
                continue
            os.kill(os.getpid(), signal.SIGINT)
            if self.time_is_up:
                return


def _interrupt(_number: int, _frame: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)
