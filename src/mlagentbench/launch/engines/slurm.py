"""Runs on a Slurm cluster: a job array whose elements are workers.

The array is submitted with submitit and then needs nothing of this process, which only follows the
runs. OUT, the package and its data must be in directories that all nodes share.
"""

import math
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from mlagentbench.errors import UsageError
from mlagentbench.launch.engines.cluster import ClusterEngine
from mlagentbench.launch.engines.engine import EngineOptions, read_options
from mlagentbench.launch.engines.slurm_worker import work_in_slurm
from mlagentbench.launch.engines.started import StartedJob, covers, started_jobs
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.machine.ledger import Need
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record
from mlagentbench.tasks.spec import parse_seconds

if TYPE_CHECKING:
    from submitit import SlurmExecutor

JOB_NAME = "mlagentbench"
COMMAND_TIMEOUT = 60.0
STOPPING = 60.0
"""Seconds that workers get to stop their runs."""
PAUSE = 1.0
MEBIBYTE = 2**20

Duration = Annotated[float, BeforeValidator(parse_seconds)]


class SlurmOptions(Record):
    """--engine-options of Slurm."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    time: Annotated[Duration, Field(ge=60)] = 4 * 3600.0
    """Of a worker; with runs left, it is then queued again."""
    stop_before: Annotated[Duration, Field(ge=1)] = 120.0
    """How long before its time is up a worker begins to stop; Slurm may say so a minute earlier."""
    setup: tuple[str, ...] = ()
    """Lines of shell before the worker starts, such as `module load python`."""

    @model_validator(mode="after")
    def _time_to_work(self) -> Self:
        if self.stop_before >= self.time:
            raise ValueError(
                f"a worker of {self.time:g} s cannot stop {self.stop_before:g} s before its end; "
                "give a shorter stop_before or a longer time"
            )
        return self

    @property
    def minutes(self) -> int:
        return math.ceil(self.time / 60)

    def passed_on(self) -> dict[str, str | bool]:
        """What goes to sbatch as it is, besides what submitit has names for."""
        given = self.model_dump(exclude={"time", "stop_before", "setup"}, exclude_none=True)
        # B: for the script itself, which the worker replaces.
        return {**given, "requeue": True, "signal": f"B:USR2@{math.ceil(self.stop_before)}"}


class SlurmEngine(ClusterEngine):
    """Submits workers as a job array, and follows their runs."""

    def __init__(self, options: EngineOptions) -> None:
        super().__init__(options)
        self._options = read_options(SlurmOptions, options.choice)
        self._followed: list[str] = []
        """Jobs whose workers take the runs of this command."""
        _require_slurm()

    def cancel(self) -> None:
        for job in started_jobs(self._out, self._choice.name):
            if _queued(job.job):
                _cancel(job.job)
                self._console.print(f"cancelled Slurm job {job.job}")
            job.forget(self._out)

    # Its jobs

    def _live_workers(self, need: Need) -> int:
        """How many elements of jobs can take these runs; jobs that have ended are forgotten."""
        workers = 0
        for job in started_jobs(self._out, self._choice.name):
            if not (states := _queued(job.job)):
                job.forget(self._out)
            elif covers(job.need, need):
                self._console.print(f"following Slurm job {job.job}, which is there already")
                self._followed.append(job.job)
                workers += len(states)
        return workers

    def _is_working(self) -> bool:
        return any(map(_is_queued, self._followed))

    def _start(self, requests: Sequence[RunRequest], need: Need, count: int) -> None:
        from submitit.core.utils import UncompletedJobError

        executor = self._executor(need, count)
        try:
            elements = executor.map_array(work_in_slurm, [str(self._out)] * count, range(count))
        except UncompletedJobError as error:
            raise UsageError(
                f"--engine slurm: sbatch refused the job: {_last_words(str(error))}; change "
                "--engine-options"
            ) from error
        job = elements[0].job_id.partition("_")[0]
        StartedJob(choice=self._choice, job=job, need=need).write(self._out)
        self._followed.append(job)
        self._console.print(
            f"submitted Slurm job {job}: {counted(count, 'worker')} for "
            f"{counted(len(requests), 'run')}; logs go to {self._folder}",
            soft_wrap=True,
        )

    def _executor(self, need: Need, count: int) -> "SlurmExecutor":
        from submitit import SlurmExecutor

        # `exec`: then signals for the script reach the worker, and Slurm waits for it to stop.
        executor = SlurmExecutor(str(self._folder), python=f"exec {shlex.quote(sys.executable)}")
        gpus = {"gpus_per_node": need.gpus} if need.gpus else {}
        setup = {"setup": list(self._options.setup)} if self._options.setup else {}
        executor.update_parameters(
            job_name=JOB_NAME,
            time=self._options.minutes,
            cpus_per_task=need.cpus,
            mem=f"{math.ceil(need.memory / MEBIBYTE)}M",
            array_parallelism=count,
            use_srun=False,
            stderr_to_stdout=True,
            additional_parameters=self._options.passed_on(),
            **gpus,
            **setup,
        )
        return executor


def _require_slurm() -> None:
    try:
        import submitit  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "--engine slurm needs submitit: pip install 'mlagentbench[slurm]'"
        ) from error
    if shutil.which("sbatch") is None or shutil.which("srun") is None:
        raise UsageError(
            "--engine slurm: sbatch is not on the PATH; run this on a login node of the cluster"
        )


# Slurm's commands


def _queued(job: str) -> list[str]:
    """The states of a job's elements that Slurm has not finished; empty for a job it forgot.

    Slurm gives its ids anew some day, so a job of another name is someone else's.
    """
    which = ("--jobs", job, "--name", JOB_NAME)
    done = _slurm("squeue", "--noheader", "--array", *which, "--format", "%T")
    if done.returncode == 0:
        return done.stdout.split()
    if "Invalid job id" in done.stderr:
        return []
    raise UsageError(f"--engine slurm: {_last_words(done.stderr)}; see: squeue --jobs {job}")


def _is_queued(job: str) -> bool:
    """Whether Slurm still has a job; while its controller does not answer, it may have it."""
    try:
        return bool(_queued(job))
    except UsageError:
        return True


def _cancel(job: str) -> None:
    """Have Slurm end a job, once its workers have had the time to stop."""
    _slurm("scancel", "--state=PENDING", job)
    _slurm("scancel", "--signal=TERM", "--batch", job)
    deadline = time.monotonic() + STOPPING
    while _queued(job) and time.monotonic() < deadline:
        time.sleep(PAUSE)
    _slurm("scancel", job)


def _slurm(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"--engine slurm: {command[0]} did not answer within {COMMAND_TIMEOUT:g} s; the "
            "workers continue; run the same command again to follow them"
        ) from error


def _last_words(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return re.sub(r"^\w+: error: ", "", lines[-1]) if lines else "Slurm gave no reason"
