"""Processes that do the same runs below one OUT, and are killed with SIGKILL meanwhile.

Each is started again after it was killed, until the kills are used up or all runs are finished.
What one leaves half done is taken over by another, or by the next process in its place.
"""

import random
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import psutil
from killing import (
    BASE_INSTALL,
    COMMAND,
    MAX_STEPS,
    PATIENCE,
    Course,
    Kill,
    family_of,
    first_on_path,
    is_torn,
    left_after,
    met_in,
    run_held_by,
    wait_until_it_holds,
)
from undisturbed import run_differences

from mlagentbench.runs.results import read_grades, run_directories

LEASE_TIMES = {"MLAGENTBENCH_LEASE_RENEWAL": "0.5", "MLAGENTBENCH_LEASE_VOID": "10"}
WORKERS = 2
RUNS = 3
KILLS_PER_OUT = 10


class SharedOut:
    """An OUT with some runs of a course that needs no model, done by commands of two people."""

    workers = WORKERS
    runs = RUNS

    def __init__(
        self, course: Course, folder: Path, out: str, variables: Mapping[str, str]
    ) -> None:
        self.out = folder / out
        self.kills: list[Kill] = []
        self.troubles: list[str] = []
        """What workers failed with, though nothing but kills disturbed them."""
        self._course = course
        self._folder = folder
        path = first_on_path(BASE_INSTALL, variables)
        self._variables = {**variables, **LEASE_TIMES, "PYTHONPATH": path}

    @property
    def is_finished(self) -> bool:
        runs = list(run_directories(self.out))
        return len(runs) == self.runs and all(map(read_grades, runs))

    def differences(self, undisturbed: "SharedOut") -> list[str]:
        """What is wrong with the finished runs, or other than in those that nobody disturbed."""
        theirs = {run.relative: run for run in run_directories(undisturbed.out)}
        ours = {run.relative: run for run in run_directories(self.out)}
        found = [] if ours.keys() == theirs.keys() else [f"the runs are {sorted(map(str, ours))}"]
        for place, run in ours.items():
            found += [f"{place}: {one}" for one in run_differences(theirs[place], run)]
            found += [f"{place}: held by {run.holder}"] if run.holder is not None else []
        left = left_after(PATIENCE, self.out, [])
        found += [f"{left} processes were left"] if left else []
        return found + self.troubles

    # Workers

    def plan(self) -> None:
        """What is done before there are workers: nothing, since each of them plans its runs."""

    def finish(self) -> float:
        """Let one worker do what is left; returns its seconds after it took the first run."""
        process, printed = self._start("last")
        wait_until_it_holds(process, self.out)
        started = time.monotonic()
        assert process.wait() == 0, printed.read_text()
        return time.monotonic() - started

    def kill_workers(self, kills: int, longest: float, chance: random.Random) -> None:
        """Let the workers be killed, so often in all unless the runs are finished before that.

        Each kill comes up to `longest` seconds after the worker took its first run.
        """
        count = self.workers
        shares = [kills // count + (number < kills % count) for number in range(count)]
        seeds = [chance.getrandbits(32) for _ in shares]
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(self._kill_worker, range(count), shares, repeat(longest), seeds))

    def _kill_worker(self, number: int, kills: int, longest: float, seed: int) -> None:
        chance = random.Random(seed)
        while not self.is_finished:
            process, printed = self._start(f"worker-{number}")
            if kills == 0:  # it may go on while the other one is still to be killed
                self._note_troubles(process.wait(), printed.read_text())
                return
            wait_until_it_holds(process, self.out)
            try:
                process.wait(seconds := chance.uniform(0, longest))
            except subprocess.TimeoutExpired:
                self.kills.append(self._kill(process, f"after {seconds:.2f} s"))
                kills -= 1
            self._note_troubles(process.wait(), printed.read_text())

    def _start(
        self, name: str, arguments: "list[str] | None" = None
    ) -> "tuple[subprocess.Popen[bytes], Path]":
        printed = self._folder / f"{self.out.name}-{name}.txt"
        with printed.open("wb") as output:
            process = subprocess.Popen(
                [str(COMMAND), *(arguments or self._arguments())],
                cwd=self._folder, env=self._variables, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output,
            )  # fmt: skip
        return process, printed

    def _arguments(self) -> list[str]:
        """Of the command that is a worker."""
        return [
            "run", "--tasks", self._course.task, "--agents", self._course.agent,
            "--runs", str(self.runs), "--out", str(self.out), "--max-steps", MAX_STEPS,
        ]  # fmt: skip

    def _kill(self, process: "subprocess.Popen[bytes]", moment: str) -> Kill:
        process.send_signal(signal.SIGSTOP)  # so that it does nothing else before it is killed
        run, family = run_held_by(process, self.out), family_of(process)
        kill = Kill(
            moment=moment,
            started_by="run",
            met="between runs" if run is None else met_in(run),
            torn=run is not None and is_torn(run),
            left_processes=0,
        )
        process.kill()
        _, left = psutil.wait_procs(family, timeout=PATIENCE)
        return kill.model_copy(update={"left_processes": len(left)})

    def _note_troubles(self, code: int, printed: str) -> None:
        """A worker may end with 1: the other one was killed, and a run did not end."""
        if code not in (0, 1, -signal.SIGKILL) or "Traceback" in printed:
            self.troubles.append(printed)
        for run in run_directories(self.out):
            if run.failure.exists():
                self.troubles.append(f"{run.relative}: {run.failure.read_text()}")


class PlannedOut(SharedOut):
    """Runs that one command has planned, and four workers do."""

    workers = 4
    runs = 8

    def plan(self) -> None:
        """Have a command write its plan, and kill it then."""
        process, printed = self._start("driver", super()._arguments())
        while not any(self.out.glob("plans/*.json")):
            assert process.poll() is None, printed.read_text()
            time.sleep(0.01)
        process.kill()
        process.wait()

    def _arguments(self) -> list[str]:
        return ["jobs", "work", str(self.out)]


def killed_together(
    kind: type[SharedOut],
    course: Course,
    folder: Path,
    variables: Mapping[str, str],
    kills: int,
    longest: float,
    chance: random.Random,
) -> Iterator[SharedOut]:
    """Finished OUTs whose workers were killed so often in all."""
    outs = 0
    while kills > 0:
        outs += 1
        shared = kind(course, folder, f"shared-{outs}", variables)
        shared.plan()
        shared.kill_workers(min(kills, KILLS_PER_OUT), longest, chance)
        shared.finish()
        kills -= len(shared.kills)
        yield shared
