"""Runs on a cluster, as a command that a person types, and what came of them."""

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from courses import LEDGER, STEADY
from killing import BASE_INSTALL, COMMAND, first_on_path
from number_task import write_number_task
from real_engines import wait_for
from undisturbed import run_differences

from mlagentbench.launch.plans.plan_state import PlanState, plan_state
from mlagentbench.records import Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import run_directories
from mlagentbench.runs.resumption import BROKEN_OFF

LEASE_TIMES = {"MLAGENTBENCH_LEASE_RENEWAL": "0.5", "MLAGENTBENCH_LEASE_VOID": "10"}
PLACE = re.compile(r"(\w+) job (\S+) on (\S+), worker (\S+-\d+)")


class Place(Record):
    """Where a worker had a run, as its journal says."""

    engine: str
    job: str
    node: str
    worker: str


class ClusterRuns:
    """Some runs of a task whose score tells when a step was done twice, below one OUT."""

    def __init__(
        self, folder: Path, out: str, runs: int, variables: Mapping[str, str], nap: float = 0.3
    ) -> None:
        self.folder = folder
        self.out = folder / out
        self.runs = runs
        path = first_on_path(BASE_INSTALL, variables)
        self.variables = {**variables, **LEASE_TIMES, "PYTHONPATH": path}
        self.printed = folder / f"{out}.txt"
        if not (folder / "steady.py").exists():
            starter = LEDGER.replace("time.sleep(0.3)", f"time.sleep({nap})")
            write_number_task(folder, "ledger", starter=starter)
            (folder / "steady.py").write_text(STEADY)

    def start(self, *options: str) -> "subprocess.Popen[bytes]":
        """The driver."""
        with self.printed.open("wb") as printed:
            return subprocess.Popen(
                [
                    COMMAND, "run", "--tasks", "./ledger",
                    *(() if "--agents" in options else ("--agents", "./steady.py")),
                    "--runs", str(self.runs), "--max-steps", "100", "--out", self.out, *options,
                ],
                cwd=self.folder, env=self.variables, stdin=subprocess.DEVNULL,
                stdout=printed, stderr=printed,
            )  # fmt: skip

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
        )

    @property
    def state(self) -> PlanState | None:
        return plan_state(self.out) if list(self.out.glob("plans/*.json")) else None

    def count(self, name: str) -> int:
        return (
            0 if self.state is None else len([one for one in self.state.runs if one.state == name])
        )

    def wait_until(self, name: str, at_least: int, patience: float = 120.0) -> None:
        wait_for(f"{at_least} {name}", lambda: self.count(name) >= at_least, patience)

    def directories(self) -> list[RunDirectory]:
        return list(run_directories(self.out))

    def places(self, run: RunDirectory) -> list[Place]:
        """Where a run was, in turn."""
        told = [one.detail for one in read_journal(run.journal).events if one.event == "worker"]
        found = [PLACE.fullmatch(one) for one in told]
        assert all(found), told
        return [
            Place(engine=one[1], job=one[2], node=one[3], worker=one[4]) for one in found if one
        ]

    def in_a_step(self, at_most: int = 100) -> list[RunDirectory]:
        """The runs of which an action is being carried out, after at most so many others."""
        journals = [(run, read_journal(run.journal)) for run in self.directories()]
        begun = [run for run, one in journals if one.interrupted and len(one.steps) <= at_most]
        return [run for run in begun if run.holder is not None]

    def stopped(self) -> list[RunDirectory]:
        """The runs that were begun, that nobody has, and whose agent has not ended.

        Of one whose agent has ended, only the grade may be missing; no worker opens it again.
        """
        state = self.state
        waiting = set() if state is None else {one.run for one in state.of("waiting")}
        left = [run for run in self.directories() if str(run.relative) in waiting]
        journals = [(run, read_journal(run.journal)) for run in left]
        begun = [(run, one) for run, one in journals if one.interrupted or one.steps]
        return [run for run, one in begun if one.outcome is None or one.outcome.kind in BROKEN_OFF]

    def nodes(self) -> Counter[str]:
        return Counter(place.node for run in self.directories() for place in self.places(run))

    def differences(self, undisturbed: "ClusterRuns") -> list[str]:
        """What is wrong with the runs, or other than in those of one machine."""
        theirs = {run.relative: run for run in undisturbed.directories()}
        ours = {run.relative: run for run in self.directories()}
        found = [] if ours.keys() == theirs.keys() else [f"the runs are {sorted(map(str, ours))}"]
        for place, run in ours.items():
            found += [f"{place}: {one}" for one in run_differences(theirs[place], run)]
        return found


def killed(driver: "subprocess.Popen[bytes]") -> None:
    """Kill a driver with SIGKILL."""
    assert driver.poll() is None
    driver.kill()
    assert driver.wait() == -signal.SIGKILL


def finished(
    driver: "subprocess.Popen[bytes]", runs: ClusterRuns, codes: Sequence[int] = (0,)
) -> str:
    """Wait for a driver; returns what it printed."""
    code = driver.wait(timeout=240)
    printed = runs.printed.read_text()
    assert code in codes, printed
    return printed


def interrupted(
    runs: ClusterRuns, options: Sequence[str], follows: str
) -> tuple[str, list[RunDirectory]]:
    """Follow workers that are there, then Ctrl-C: what it printed, and runs stopped in a step."""
    driver = runs.start(*options)
    wait_for(follows, lambda: follows in runs.printed.read_text())
    wait_for("a run is at its beginning", lambda: runs.in_a_step(at_most=1))
    driver.send_signal(signal.SIGINT)
    printed = finished(driver, runs, (130,))
    assert runs.count("running") == 0 and runs.count("done") < runs.runs
    stopped = runs.stopped()
    assert stopped, "no run was stopped in the middle"
    return printed, stopped


def cancelled(runs: ClusterRuns, options: Sequence[str]) -> None:
    """Begin again, and have another command cancel it."""
    driver = runs.start(*options)
    runs.wait_until("running", 1)
    done = runs.command("jobs", "cancel", str(runs.out))
    assert done.returncode == 0, done.stderr
    finished(driver, runs, (1,))
    assert runs.count("running") == 0 and runs.count("cancelled") > 0


def resumed(runs: ClusterRuns, options: Sequence[str], stopped: Sequence[RunDirectory]) -> str:
    """Finish all runs, also those that were stopped; returns what was printed."""
    printed = finished(runs.start(*options), runs)
    assert runs.count("done") == runs.runs
    assert all(len(runs.places(run)) > 1 for run in stopped), "they were not resumed"
    return printed
