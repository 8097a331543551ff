"""A real Docker engine for tests, with a base image of Debian's packages.

MLAGENTBENCH_TEST_DOCKER_HOST or DOCKER_HOST names one that is running; otherwise root starts one.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_engines import SCRIPTS, started, without

BASE = "mlagentbench-test-base"
GIVEN = ("MLAGENTBENCH_TEST_DOCKER_HOST", "DOCKER_HOST")
LABEL = "mlagentbench"


class DockerEngine:
    """A running engine that has the base image."""

    def __init__(self, host: str) -> None:
        self.variables = {
            "DOCKER_HOST": host,
            "MLAGENTBENCH_CONTAINER_ENGINE": "docker",
            "MLAGENTBENCH_IMAGE": BASE,
            "MLAGENTBENCH_IMAGE_BUILD": "wheelhouse",
        }

    def ask(self, *arguments: str) -> str:
        done = subprocess.run(
            ["docker", *arguments],
            env={**os.environ, **self.variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def containers(self) -> list[str]:
        """Our containers, running or not."""
        return self.ask("ps", "--all", "--quiet", "--filter", f"name={LABEL}").split()

    def volumes(self) -> list[str]:
        return self.ask("volume", "ls", "--quiet").split()

    def dangling_images(self) -> list[str]:
        return self.ask("images", "--quiet", "--filter", "dangling=true").split()


@contextmanager
def docker_engine(base: Path) -> Iterator[DockerEngine]:
    """The engine; `base` keeps the file system of its base image."""
    if shutil.which("docker") is None:
        without("docker not found; as root: tests/engines/docker.sh install")
    for host in filter(None, map(os.environ.get, GIVEN)):
        if _answers(host):
            yield _with_base(DockerEngine(host), base)
            return
    if shutil.which("dockerd") is None:
        without("dockerd not found; as root: tests/engines/docker.sh install")
    if os.geteuid() != 0:
        without(f"only root can start dockerd; name an engine with {GIVEN[0]}")
    with started("docker.sh") as (_directory, _name, host):
        yield _with_base(DockerEngine(host), base)


def _answers(host: str) -> bool:
    command = ["docker", "version"]
    done = subprocess.run(command, env={**os.environ, "DOCKER_HOST": host}, capture_output=True)
    return done.returncode == 0


def _with_base(engine: DockerEngine, base: Path) -> DockerEngine:
    if not engine.ask("images", "--quiet", BASE):
        if not base.exists() and shutil.which("mmdebstrap") is None:
            without("mmdebstrap not found; as root: tests/engines/docker.sh install")
        base.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [SCRIPTS / "docker.sh", "image", BASE, base],
            env={**os.environ, **engine.variables},
            stdout=subprocess.DEVNULL,
            check=True,
        )
    return engine
