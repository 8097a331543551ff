"""Real engines for tests, started by the scripts of tests/engines/.

Where one is missing, its tests are skipped with the reason; with MLAGENTBENCH_ENGINES=required they
fail instead.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

import psutil
import pytest

SCRIPTS = Path(__file__).parents[1] / "engines"
REQUIRED = "MLAGENTBENCH_ENGINES"
DIRECTORY = "MLAGENTBENCH_ENGINES_DIR"
"""Where engines have their directories, so that a caller can stop what a killed test left."""
PATIENCE = 120.0
"""Seconds for what a scheduler does in a few."""
NODES = 3


def without(reason: str) -> None:
    """Skip the test, or fail it where engines are required."""
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{reason}, and {REQUIRED}=required")
    pytest.skip(reason)


def wait_for(what: str, condition: Callable[[], object], patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {patience:g} s"
        time.sleep(0.2)


@contextmanager
def started(script: str, *arguments: str, **variables: str) -> Iterator[tuple[Path, str, str]]:
    """An engine in a new directory with a short name: the directory, and the NAME=VALUE printed."""
    directory = Path(mkdtemp(prefix="e-", dir=os.environ.get(DIRECTORY, "/tmp")))
    command = [str(SCRIPTS / script), "start", str(directory), *arguments]
    try:
        done = subprocess.run(
            command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, timeout=240
        )
        assert done.returncode == 0, f"{script} did not start, see above"
        name, _, value = done.stdout.split()[-1].partition("=")
        yield directory, name, value
    finally:
        subprocess.run([SCRIPTS / script, "stop", directory], timeout=60, check=True)
        shutil.rmtree(directory, ignore_errors=True)


class SlurmCluster:
    """A Slurm of NODES nodes on this machine: n1, n2, ..."""

    def __init__(self, directory: Path, conf: str) -> None:
        self._directory = directory
        self.variables = {"SLURM_CONF": conf}

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(
            command, env={**os.environ, **self.variables}, capture_output=True, text=True
        )
        return done.stdout if done.returncode == 0 else ""

    def elements(self, *options: str) -> list[str]:
        """The jobs and elements of arrays that Slurm has."""
        return self.ask("squeue", "--noheader", "--array", "--format", "%i", *options).split()

    def restarts(self, element: str) -> int:
        words = self.ask("scontrol", "show", "job", element).split()
        return max(int(word.removeprefix("Restarts=")) for word in words if "Restarts" in word)

    def kill_daemon(self, node: str) -> None:
        """Kill the slurmd of a node with SIGKILL; its jobs do not notice."""
        os.kill(int((self._directory / f"{node}.pid").read_text()), signal.SIGKILL)

    def step_daemons(self, node: str) -> list[psutil.Process]:
        """The slurmstepds of a node; what they run knows the names of its cluster and node."""
        wanted = {**self.variables, "SLURMD_NODENAME": node}
        return [
            process
            for process in psutil.process_iter(["name"])
            if process.info["name"] == "slurmstepd"
            and any(wanted.items() <= _variables(child).items() for child in process.children())
        ]


def _variables(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


def kill_with_children(process: psutil.Process, when: Callable[[], object]) -> None:
    """What a machine that loses power does to a process and all that it started.

    `when` says whether the moment is right; meanwhile nothing of it moves.
    """

    def is_dead() -> bool:
        family = [process, *process.children(recursive=True)]
        for one in family:
            with suppress(psutil.NoSuchProcess):  # its short-lived children end by themselves
                one.suspend()
        right = bool(when())
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.kill() if right else one.resume()
        if right:
            psutil.wait_procs(family, timeout=PATIENCE)
        return right

    wait_for("the moment to kill", is_dead)


@contextmanager
def slurm_cluster() -> Iterator[SlurmCluster]:
    missing = [name for name in ("slurmctld", "slurmd", "munged") if shutil.which(name) is None]
    if missing:
        without(f"{', '.join(missing)} not found; as root: tests/engines/slurm.sh install")
    if os.geteuid() != 0:
        without("only root can start slurmctld and slurmd")
    with started("slurm.sh", str(NODES)) as (directory, _, conf):
        yield SlurmCluster(directory, conf)


class RayCluster:
    """A Ray cluster of some nodes on this machine: n1, n2, ..."""

    def __init__(self, directory: Path, address: str) -> None:
        self._directory = directory
        self.address = address
        self.variables = {
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        """With these, what connects to the cluster stays on the loopback interface."""

    def node_id(self, node: str) -> str:
        [ident] = [word for word in self._raylet(node).cmdline() if word.startswith("--node_id=")]
        return ident.removeprefix("--node_id=")

    def kill_node(self, node: str) -> None:
        """Kill a node's raylet with SIGKILL; the actors of the node end with it."""
        self._raylet(node).kill()

    def _raylet(self, node: str) -> psutil.Process:
        return psutil.Process(int((self._directory / f"{node}.raylet").read_text()))


@contextmanager
def ray_cluster(nodes: int = NODES) -> Iterator[RayCluster]:
    try:
        import ray  # noqa: F401
    except ImportError:
        without("ray is not installed: pip install 'mlagentbench[ray]'")
    with started("ray.sh", str(nodes), PYTHON=sys.executable) as (directory, _, address):
        yield RayCluster(directory, address)
