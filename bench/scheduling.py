"""What it costs to give runs to workers: by plans, through Slurm and through Ray.

Every way does the same one-step runs with as many at once. Start-up is paid once a worker, so the
seconds a run are those between the end of the first tenth of the runs and the last.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from measurements import Measurement, as_text

from mlagentbench.launch.out_directory import create_output
from mlagentbench.launch.plans.plan import Plan, plan_suite
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import make_tasks_ready
from mlagentbench.launch.workers.worker import Worker, WorkerOptions
from mlagentbench.runs.results import run_directories
from mlagentbench.terminal import Terminal

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from number_task import write_number_task  # of the tests: a task that is graded in a moment
from real_engines import ray_cluster, slurm_cluster

MLAGENTBENCH = str(Path(sys.prefix) / "bin" / "mlagentbench")
RUNS = 200
AT_ONCE = 2
WORKERS = 4
WARM_UP = RUNS // 10
MANY = 10_000


def scheduling() -> list[Measurement]:
    """Seconds a run of each way, against the same runs in one process; and plans of many runs."""
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        task = write_number_task(here)
        alone = _seconds_a_run(here / "alone", lambda out: _run(task, out))
        measured = [_measured("in one process", alone, alone, target=None)]
        for name, way in _ways(task).items():
            try:
                seconds = _seconds_a_run(here / name.split()[-1], way)
            except pytest.skip.Exception as missing:
                print(f"not measured {name}: {missing}", file=sys.stderr)
                continue
            measured.append(_measured(name, seconds, alone, target=1.3))
        return [*measured, *_many_runs(task, here / "many")]


def _ways(task: Path) -> dict[str, Callable[[Path], None]]:
    return {
        f"with {WORKERS} workers": lambda out: _with_workers(task, out),
        "through Slurm": lambda out: _through_slurm(task, out),
        "through Ray": lambda out: _through_ray(task, out),
    }


def _measured(name: str, seconds: float, alone: float, target: float | None) -> Measurement:
    return Measurement(
        what=f"a one-step run {name} / in one process, {AT_ONCE} at once",
        value=seconds / alone,
        target=target,
        from_what=f"{as_text(seconds)} / {as_text(alone)} a run, {RUNS} runs",
    )


def _seconds_a_run(out: Path, execute: Callable[[Path], None]) -> float:
    """After the warm-up, by the times at which the runs' grades were written."""
    execute(out)
    ends = sorted(run.grades.stat().st_mtime for run in run_directories(out))
    if len(ends) != RUNS:
        raise RuntimeError(f"{len(ends)} of {RUNS} runs below {out} have a grade")
    return (ends[-1] - ends[WARM_UP - 1]) / (RUNS - WARM_UP)


def _run(task: Path, out: Path, *options: str, variables: Mapping[str, str] | None = None) -> None:
    command = [
        MLAGENTBENCH,
        "run",
        "--tasks",
        str(task),
        "--agents",
        "baseline",
        "--runs",
        str(RUNS),
    ]
    done = subprocess.run(
        [*command, "--max-steps", "1", "--out", str(out), "--jobs", str(AT_ONCE), *options],
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{done.stdout}{done.stderr}")


def _with_workers(task: Path, out: Path) -> None:
    _planned(task, out, RUNS).write(out)
    command = [MLAGENTBENCH, "jobs", "work", str(out), "--jobs", "1"]
    # The slots of the allocation keep the four from having more at once than the one process.
    shared = {
        "MLAGENTBENCH_ALLOCATION": str(out),
        "MLAGENTBENCH_ALLOCATION_CPUS": str(AT_ONCE),
    }
    with _started([command] * WORKERS, {**os.environ, **shared}) as workers:
        if any(worker.wait() for worker in workers):
            raise RuntimeError(f"a worker of {out} failed")


@contextmanager
def _started(
    commands: Sequence[Sequence[str]], variables: Mapping[str, str]
) -> "Iterator[list[subprocess.Popen[bytes]]]":
    processes = [
        subprocess.Popen(one, env=dict(variables), stdout=subprocess.DEVNULL) for one in commands
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def _through_slurm(task: Path, out: Path) -> None:
    with slurm_cluster() as cluster:
        _run(task, out, "--engine", "slurm", variables=cluster.variables)


def _through_ray(task: Path, out: Path) -> None:
    with ray_cluster(nodes=1) as cluster:
        _run(task, out, "--engine", f"ray:{cluster.address}", variables=cluster.variables)


def _planned(task: Path, out: Path, runs: int) -> Plan:
    request = SuiteRequest.read(tasks=str(task), agents="baseline", runs=runs, max_steps=1, out=out)
    create_output(out)
    return plan_suite(request, make_tasks_ready(request, Terminal(stderr=True)))


def _many_runs(task: Path, out: Path) -> list[Measurement]:
    """A plan of many runs: written, shown, and looked at by a worker."""
    _planned(task, out / "warm", 1)
    started = time.perf_counter()
    _planned(task, out, MANY).write(out)
    planned = time.perf_counter() - started
    started = time.perf_counter()
    subprocess.run([MLAGENTBENCH, "jobs", "status", str(out)], check=True, capture_output=True)
    shown = time.perf_counter() - started
    worker = Worker(out, WorkerOptions(), Terminal(stderr=True))
    waiting = _seconds_of_look(worker, MANY)
    for run in worker.open_runs():
        run.directory.path.mkdir(parents=True)
        run.directory.failure.write_text("it failed")
    _seconds_of_look(worker, 0)
    ended = _seconds_of_look(worker, 0)
    return [
        Measurement(
            what=f"a plan of {MANY:,} runs, made and written",
            value=planned, target=10.0, unit="s", from_what="one plan",
        ),
        Measurement(
            what=f"`jobs status` of {MANY:,} runs",
            value=shown, target=2.0, unit="s", from_what="the command, nothing begun",
        ),
        Measurement(
            what=f"a worker's look at {MANY:,} runs",
            value=waiting, target=2.0, unit="s", from_what="nothing begun",
        ),
        Measurement(
            what=f"a worker's further look at {MANY:,} runs that have ended",
            value=ended, target=0.1, unit="s", from_what="all of them failed",
        ),
    ]  # fmt: skip


def _seconds_of_look(worker: Worker, expected: int) -> float:
    """How long a worker takes to see which runs are left."""
    started = time.perf_counter()
    found = len(worker.open_runs())
    seconds = time.perf_counter() - started
    if found != expected:
        raise RuntimeError(f"a worker sees {found} runs instead of {expected}")
    return seconds
