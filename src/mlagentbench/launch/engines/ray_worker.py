"""A worker on a node of a Ray cluster: an actor, and the process that it keeps.

    python -m mlagentbench.launch.engines.ray_worker OUT NAME NODE waits|goes PID

is the process, and PID is the actor's. It has signals and a main thread of its own, which Ray keeps
from actors.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from mlagentbench.launch.workers.worker import WorkerOptions, WorkerPlace, work
from mlagentbench.records import Record
from mlagentbench.terminal import Terminal

LOOK_AROUND = 1.0
"""Seconds between two looks at whether the actor is still there."""
STOPPED = 128 + signal.SIGTERM
WAITS, GOES = "waits", "goes"
MODULE = "mlagentbench.launch.engines.ray_worker"


class WorkerCommand(Record):
    """What an actor needs to start its worker, on whichever node it is."""

    out: Path
    name: str
    waits: bool
    """Whether it stays while others have the last runs, to take over those of one that dies."""
    log: Path
    directory: Path
    """The current directory of the command, which paths of the plan may be relative to."""
    variables: dict[str, str]


class WorkerKeeper:
    """The actor: it keeps one worker, and leaves the cluster when that has ended."""

    def __init__(self, command: str) -> None:
        import ray

        context = ray.get_runtime_context()
        self._command = WorkerCommand.model_validate_json(command)
        self._node = context.get_node_id()
        restarted = context.was_current_actor_reconstructed
        gpus = ",".join(map(str, ray.get_gpu_ids()))
        self._process = self._start(self._command.waits or restarted, gpus)
        threading.Thread(target=self._until_it_ends, daemon=True).start()

    def stop(self) -> None:
        """Have the worker leave its runs so that they can be resumed."""
        self._process.send_signal(signal.SIGTERM)

    def _start(self, waits: bool, gpus: str) -> "subprocess.Popen[bytes]":
        command = self._command
        # The process could find its parent by itself, but might start when that has died.
        actor = str(os.getpid())
        arguments = [str(command.out), command.name, self._node, WAITS if waits else GOES, actor]
        allocation = {
            "MLAGENTBENCH_ALLOCATION": f"ray {command.name} of {command.out} on {self._node}",
            "MLAGENTBENCH_ALLOCATION_GPUS": gpus,
        }
        with command.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", MODULE, *arguments],
                cwd=command.directory,
                env={**os.environ, **command.variables, **allocation},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _until_it_ends(self) -> None:
        """Leave the cluster with the worker; one that was killed is started again by Ray."""
        import ray

        if self._process.wait() < 0:
            os._exit(1)
        ray.kill(ray.get_runtime_context().current_actor, no_restart=True)


def main(out: str, name: str, node: str, waits: str, actor: str) -> None:
    threading.Thread(target=_stop_with, args=(int(actor),), daemon=True).start()
    place = WorkerPlace(engine="ray", job=name, node=node[:12])
    try:
        work(Path(out), WorkerOptions(jobs=1, wait=waits == WAITS, place=place), Terminal())
    except KeyboardInterrupt:
        sys.exit(STOPPED)


def _stop_with(actor: int) -> None:
    """Stop when the actor is gone, as when Ray gives its place to something else."""
    while os.getppid() == actor:
        time.sleep(LOOK_AROUND)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
