"""A worker as an element of a Slurm job array: what runs on a node."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mlagentbench.launch.engines.started import runs_left
from mlagentbench.launch.workers.worker import WorkerOptions, WorkerPlace, work
from mlagentbench.terminal import Terminal

MOST_RESTARTS = 100
"""So often a worker is queued again, lest one that never gets far does so for ever."""
ENDED_BY_SLURM = 300.0
"""Seconds within which Slurm ends a job that it was told to queue again."""
STOPPED = 128 + signal.SIGTERM
ATTEMPTS = 5
"""How often Slurm is told to queue a worker again, as its controller may be busy or restarting."""
PAUSE = 5.0
ANSWER = 15.0
"""Seconds that Slurm gets to answer, of the few that are left to the worker."""


def work_in_slurm(out: str, index: int) -> None:
    """Take runs of OUT until none is left for this worker, or its time is nearly up.

    Slurm says when that is, by SIGUSR2. The runs in progress are then left so that they can be
    resumed, and the element is queued again. After preemption and when a node fails, Slurm queues
    it again by itself.
    """
    deadline = _Deadline()
    signal.signal(signal.SIGUSR2, deadline.is_near)
    signal.signal(signal.SIGCONT, signal.SIG_DFL)  # submitit reports it
    restarts = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
    options = WorkerOptions(jobs=1, wait=_waits(index, restarts), place=_place())
    try:
        work(Path(out), options, Terminal())
    except KeyboardInterrupt:
        if not deadline.reached:
            sys.exit(STOPPED)
        _queue_again(Path(out), restarts)


def _waits(index: int, restarts: int) -> bool:
    """Whether it stays while others have the last runs, to take over those of a worker that dies.

    One is enough. An element that was queued again does so, too: on a node that Slurm lost sight
    of, its former self may still have a run.
    """
    return index == 0 or restarts > 0


class _Deadline:
    """Notes that the time is nearly up, and stops the worker as SIGTERM would."""

    reached = False

    def is_near(self, _number: int, _frame: object) -> None:
        self.reached = True
        os.kill(os.getpid(), signal.SIGTERM)


def _place() -> WorkerPlace:
    return WorkerPlace(engine="slurm", job=_element(), node=os.environ.get("SLURMD_NODENAME", ""))


def _element() -> str:
    """How Slurm names this element; a job of one worker is no array."""
    names = ("SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID")
    if all(name in os.environ for name in names):
        return "_".join(os.environ[name] for name in names)
    return os.environ["SLURM_JOB_ID"]


def _queue_again(out: Path, restarts: int) -> None:
    if not runs_left(out):
        return
    if restarts >= MOST_RESTARTS:
        sys.exit(f"this worker was queued {restarts} times, and runs are left; give it more time")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # by which Slurm ends the job now
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE if attempt else 0)
        if (refusal := _requeue()) is None:
            time.sleep(ENDED_BY_SLURM)
            sys.exit(STOPPED)
    sys.exit(
        f"Slurm did not queue this worker again: {refusal}; to resume, run the command that "
        "planned the runs again"
    )


def _requeue() -> str | None:
    """Have Slurm queue this element again; returns why it does not."""
    command = ["scontrol", "requeue", _element()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER)
    except subprocess.TimeoutExpired:
        return f"scontrol did not answer within {ANSWER:g} s"
    return None if done.returncode == 0 else done.stderr.strip() or f"code {done.returncode}"
