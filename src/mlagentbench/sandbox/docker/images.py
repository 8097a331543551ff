"""Images with the packages of a task, built once on a base image.

HOME/images/
  index/KEY.json     requirements + id of the base image -> directory
  HASH/env.json      the PythonEnv; HASH covers the base image and the resolved packages

HOME may be shared by several machines, each with an engine of its own, whose images have ids of
their own. An image is found by its tag, which has the HASH and is the same everywhere.

The packages are in a virtual environment at /opt/env of the image. They are installed in a
container whose state becomes the image when all has gone well. So no half-built image has a name,
and the container of a build that was killed is removed by the next one.

Either pip downloads and installs in that container, or the host downloads wheels for the Python of
the base image and the container has no network.
"""

import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Literal, get_args

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.home import holding, images_dir, wheels_dir
from mlagentbench.records import Record
from mlagentbench.sandbox.base import Bind
from mlagentbench.sandbox.docker.container_engine import LABEL, ContainerEngine
from mlagentbench.sandbox.docker.container_options import bind_option
from mlagentbench.sandbox.docker.wheelhouse import BasePython, download_wheels
from mlagentbench.sandbox.executor.places import ENVIRONMENT
from mlagentbench.tasks.python_env.env import (
    NOTHING_ADDED,
    AddedPackages,
    PythonEnv,
    digest,
    index_options,
    requirements_key,
)
from mlagentbench.tasks.python_env.installer import Announce

IMAGE = "MLAGENTBENCH_IMAGE"
"""The environment variable with the base image, where no option gives one."""
IMAGE_BUILD = "MLAGENTBENCH_IMAGE_BUILD"
"""The environment variable that says how packages get into an image."""
DEFAULT_BASE = "python:3.11-slim"
REPOSITORY = "mlagentbench-env"
_GIVEN = "/mnt"
"""Where the container that installs packages finds them; every image has this directory."""
_PYTHON = f"{ENVIRONMENT}/bin/python3"

_VOLUMES = "{{json .Config.Volumes}}"

ImageBuild = Literal["network", "wheelhouse"]

_FACTS = """
import importlib.util, json, os, platform, sys
found = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
print(json.dumps({
    "version": platform.python_version(),
    "machine": platform.machine(),
    "libc": found or "",
    "has_pip": importlib.util.find_spec("ensurepip") is not None,
}))
"""
_INSTALLED = """
import importlib.metadata, json, re
found = {
    re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower(): one.version
    for one in importlib.metadata.distributions()
}
print(json.dumps(dict(sorted(found.items()))))
"""


class _ImageEntry(Record):
    base: str
    requirements: tuple[str, ...]
    directory: str


def image_build() -> ImageBuild:
    """How packages get into images here."""
    asked = os.environ.get(IMAGE_BUILD) or "network"
    known = get_args(ImageBuild)
    if asked not in known:
        raise UsageError(f"{IMAGE_BUILD}={asked}: expected {' or '.join(known)}")
    chosen: ImageBuild = "network" if asked == "network" else "wheelhouse"
    return chosen


def base_image(asked: str | None = None) -> str:
    """The base image: the one asked for, else that of the environment variable, else ours."""
    return asked or os.environ.get(IMAGE) or DEFAULT_BASE


class TaskImage(Record):
    """An image with the packages of a task: its tag, and the id of the image below it."""

    tag: str
    base: str


def image_of(directory: Path) -> TaskImage:
    """The image whose facts are in this directory."""
    env = _load(directory)
    if env is None or env.base_image is None:
        raise RunFailed("sandbox", f"{directory} has no facts of an image of the docker sandbox")
    return TaskImage(tag=_tag(directory.name), base=env.base_image)


class ImageEnvs:
    """The images on one base, in the engine of this machine."""

    def __init__(self, engine: ContainerEngine, base: str, sandbox: str) -> None:
        self._engine = engine
        self._base = base
        self._sandbox = sandbox

    def find(
        self, requirements: Sequence[str], added: AddedPackages = NOTHING_ADDED
    ) -> PythonEnv | None:
        """The image built earlier for these requirements, if the engine still has it."""
        base = self._id_of(self._base)
        return None if base is None else self._find(self._key(base, requirements, added))

    async def ensure(
        self,
        requirements: Sequence[str],
        added: AddedPackages = NOTHING_ADDED,
        *,
        announce: Announce,
    ) -> PythonEnv:
        """The image for these requirements, built if there is none."""
        base = await self._base_id(announce)
        self._refuse_volumes()
        key = self._key(base, requirements, added)
        async with holding(f"image-{key}", lambda: announce("another process builds it")) as lock:
            found = self._find(key)
            if found is not None:
                return found
            announce(f"building an image on {self._base}")
            env = await _Build(self._engine, base, key, lock, announce).run(
                requirements, added, self._sandbox
            )
            entry = _ImageEntry(
                base=self._base,
                requirements=(*sorted((*requirements, *added.requirements)), *added.marks),
                directory=env.directory.name,
            )
            write_atomically(_index(key), entry.model_dump_json(indent=2).encode())
            return env

    def with_hash(self, env_hash: str) -> PythonEnv | None:
        """The image with these packages, if the engine still has it."""
        base = self._id_of(self._base)
        for directory in sorted(images_dir().iterdir()) if images_dir().is_dir() else ():
            env = _load(directory)
            if env is not None and (env.hash, env.base_image) == (env_hash, base):
                image = self._id_of(_tag(directory.name))
                if image is not None:
                    return env.model_copy(update={"image": image})
        return None

    def _key(self, base: str, requirements: Sequence[str], added: AddedPackages) -> str:
        everything = (*requirements, *added.requirements)
        return requirements_key([self._engine.name, base], everything, added)[:32]

    def _find(self, key: str) -> PythonEnv | None:
        if not _index(key).is_file():
            return None
        entry = _ImageEntry.model_validate_json(_index(key).read_bytes())
        env = _load(images_dir() / entry.directory)
        image = None if env is None else self._id_of(_tag(entry.directory))
        if env is None or env.base_image is None or image is None:
            return None
        return env.model_copy(update={"image": image})

    def _id_of(self, image: str) -> str | None:
        """The id of an image; None if the engine does not have it."""
        done = self._engine.ask("image", "inspect", "--format", "{{.Id}}", image)
        return None if done.returncode else done.stdout.strip()

    def _refuse_volumes(self) -> None:
        """A container would get a directory of the engine's disk for each, of unlimited size."""
        done = self._engine.ask("image", "inspect", "--format", _VOLUMES, self._base)
        places = [] if done.returncode else list(json.loads(done.stdout) or ())
        if places:
            raise UsageError(
                f"image {self._base} declares volumes ({', '.join(places)}), in which programs "
                "could write as much as they like; build one without VOLUME, or name another "
                f"with --image or {IMAGE}, such as {DEFAULT_BASE}"
            )

    async def _base_id(self, announce: Announce) -> str:
        found = self._id_of(self._base)
        if found is not None:
            return found
        if image_build() == "network":
            announce(f"downloading the image {self._base}")
            done = await self._engine.run("pull", "--quiet", self._base)
            found = self._id_of(self._base)
            if found is not None:
                return found
            reason = done.last_lines(1)
        else:
            reason = f"not in the engine, and {IMAGE_BUILD}=wheelhouse fetches none"
        raise UsageError(
            f"image {self._base}: {reason}; fetch it with: {self._engine.name} pull {self._base}, "
            f"or name another with --image or {IMAGE}"
        )


class _Build:
    """Building one image, while its lock is held."""

    def __init__(
        self, engine: ContainerEngine, base: str, key: str, lock: int, announce: Announce
    ) -> None:
        self._engine = engine
        self._base = base
        self._lock = lock
        self._announce = announce
        self._given = wheels_dir() / key
        self._container = f"{LABEL}-build-{key}"

    async def run(
        self, requirements: Sequence[str], added: AddedPackages, sandbox: str
    ) -> PythonEnv:
        self._engine.remove_container(self._container)
        python = await self._base_python()
        wanted = [*requirements, *added.requirements]
        options = await self._pip_options(python, wanted, added)
        try:
            installed = await self._install(wanted, added, options)
            return await self._commit(python, installed, added, sandbox)
        finally:
            self._engine.remove_container(self._container)

    async def _base_python(self) -> BasePython:
        """The Python of the base image, which is asked once for each build."""
        how = ("--rm", "--network", "none", "--pull", "never", "--entrypoint", "python3")
        done = await self._engine.run("run", *how, self._base, "-I", "-c", _FACTS)
        if done.exit_code:
            raise UsageError(
                f"the base image has no python3 that runs ({done.last_lines(1)}); "
                f"choose another with --image, such as {DEFAULT_BASE}"
            )
        python = BasePython.model_validate_json(done.stdout)
        if not python.has_pip:
            raise UsageError(
                "the python3 of the base image cannot make virtual environments with pip; add "
                f"python3-venv to it, or choose another with --image, such as {DEFAULT_BASE}"
            )
        return python

    async def _pip_options(
        self, python: BasePython, wanted: Sequence[str], added: AddedPackages
    ) -> list[str]:
        """How pip in the container finds the packages; downloads them if it has no network."""
        options = await index_options(wanted, self._announce)
        if image_build() == "network":
            self._given.mkdir(parents=True, exist_ok=True)
            return options
        bare = added.without_dependencies
        await download_wheels(python, wanted, bare, options, self._given, self._announce)
        return ["--no-index", "--find-links", _GIVEN]

    async def _install(
        self, wanted: Sequence[str], added: AddedPackages, options: Sequence[str]
    ) -> dict[str, str]:
        """Install the packages in a container; returns their versions."""
        network = () if image_build() == "network" else ("--network", "none")
        mount = bind_option(Bind(source=self._given, target=_GIVEN))
        labels = ("--name", self._container, "--label", f"{LABEL}.build={self._container}")
        script = _script(wanted, added, options)
        command = ("--entrypoint", "sh", self._base, "-ec", script)
        how = ("--pull", "never", *network, *mount, *labels)
        self._announce("installing packages in a container")
        done = await self._engine.run("run", *how, *command, lock=self._lock)
        if done.exit_code:
            raise UsageError(f"pip failed in a container: {done.last_lines()}")
        versions: dict[str, str] = json.loads(done.stdout.strip().rpartition("\n")[2])
        return versions

    async def _commit(
        self, python: BasePython, installed: dict[str, str], added: AddedPackages, sandbox: str
    ) -> PythonEnv:
        """Make an image of the container, unless there is one with the same packages."""
        pinned = [f"{name}=={version}" for name, version in installed.items()]
        resolved = digest(self._base, python.version, python.machine, *pinned, *added.marks)
        directory = images_dir() / resolved[:16]
        tag = _tag(directory.name)
        async with holding(f"image-{directory.name}") as lock:
            done = await self._engine.run("image", "inspect", "--format", "{{.Id}}", tag)
            image = done.stdout.strip()
            if done.exit_code:
                label = f"LABEL {LABEL}.env={resolved}"
                image = await self._engine.need(
                    "commit", "--change", label, self._container, tag, lock=lock
                )
        env = PythonEnv(
            directory=directory,
            hash=resolved,
            python_version=python.version,
            packages=installed,
            sandbox=sandbox,
            base_image=self._base,
            image=image,
        )
        env.directory.mkdir(parents=True, exist_ok=True)
        facts = env.model_dump_json(indent=2, exclude={"directory", "image"})
        write_atomically(env.directory / "env.json", facts.encode())
        if image_build() == "network":
            rmtree(self._given)
        return env


def _script(wanted: Sequence[str], added: AddedPackages, options: Sequence[str]) -> str:
    """What the shell of the container runs; its last line of output are the installed packages."""
    pip = [_PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--quiet"]
    install, bare = [*pip, "install", *options], added.without_dependencies
    commands = [["python3", "-m", "venv", "--without-pip", ENVIRONMENT]]
    if wanted or bare:
        commands = [
            ["python3", "-m", "venv", ENVIRONMENT],
            [*pip, "uninstall", "--yes", "setuptools"],
            *([[*install, "--", *wanted]] if wanted else []),
            *([[*install, "--no-deps", "--", *bare]] if bare else []),
            [*pip, "uninstall", "--yes", "pip"],
        ]
    lines = [f"{shlex.join(command)} >&2" for command in commands]
    lines += [f"rm -r {ENVIRONMENT}/lib/python3*/site-packages/{_plain(p)}" for p in added.removed]
    return "\n".join([*lines, shlex.join([_PYTHON, "-I", "-c", _INSTALLED])])


def _plain(path: str) -> str:
    """A path below site-packages that needs no quotes in a shell."""
    if re.fullmatch(r"[\w./-]+", path) is None or ".." in path:
        raise UsageError(f"{path} is not a folder of installed packages")
    return path


def _tag(name: str) -> str:
    return f"{REPOSITORY}:{name}"


def _index(key: str) -> Path:
    return images_dir() / "index" / f"{key}.json"


def _load(directory: Path) -> PythonEnv | None:
    file = directory / "env.json"
    if not file.is_file():
        return None
    return PythonEnv(directory=directory, **json.loads(file.read_bytes()))
