"""Virtual environments, one per set of requirements, built once and shared between tasks.

An in-sandbox agent adds its packages to those of the task.

HOME/envs/
  index/KEY.json     requirements + base interpreter -> directory; a second call needs no network
  HASH-BASE/         the virtual environment; HASH covers the packages and the Python version
    requirements.lock   exact versions and checksums
    env.json            the PythonEnv; written last, so an environment without it is incomplete

A virtual environment cannot be moved, so it is built in place under a lock; the next call removes
an incomplete one.
"""

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Protocol

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.home import envs_dir, holding
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record
from mlagentbench.tasks.python_env import installer
from mlagentbench.tasks.python_env.installer import (
    Announce,
    Resolution,
    ResolvedPackage,
    base_python,
)
from mlagentbench.tasks.task import Task

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
_ENV_FILE = "env.json"


class PythonEnv(Record):
    """A finished virtual environment with its locked packages.

    It is of this machine, or in the image of a sandbox; then `directory` has only its facts.
    """

    directory: Path
    hash: str
    python_version: str
    packages: dict[str, str]
    sandbox: str | None = None
    """The sandbox in which it can be used; None if it is a virtual environment of this machine."""
    base_image: str | None = None
    """The id of the image on which its image was built."""
    image: str | None = None
    """The id of its image in the engine of this machine."""

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    @property
    def versions(self) -> dict[str, str]:
        """The versions of Python and of all packages."""
        return {"python": self.python_version, **self.packages}


class AddedPackages(Record):
    """The packages that an agent adds to a task's environment."""

    requirements: tuple[str, ...] = ()
    without_dependencies: tuple[str, ...] = ()
    """Packages installed without their dependencies, because these pin other versions."""
    removed: tuple[str, ...] = ()
    """Folders below site-packages to remove: data in which answers could be found."""

    def __bool__(self) -> bool:
        return bool(self.requirements or self.without_dependencies)

    @property
    def marks(self) -> list[str]:
        """What distinguishes such an environment from others, besides its requirements."""
        bare = sorted(f"{name} without dependencies" for name in self.without_dependencies)
        return [*bare, *sorted(f"without {path}" for path in self.removed)]


NOTHING_ADDED = AddedPackages()


class PythonEnvs(Protocol):
    """Where virtual environments are built and found."""

    def find(
        self, requirements: Sequence[str], added: AddedPackages = NOTHING_ADDED
    ) -> PythonEnv | None:
        """The environment built earlier for these requirements, if it still exists."""
        ...

    async def ensure(
        self,
        requirements: Sequence[str],
        added: AddedPackages = NOTHING_ADDED,
        *,
        announce: Announce,
    ) -> PythonEnv:
        """The environment for these requirements, built if there is none."""
        ...

    def with_hash(self, env_hash: str) -> PythonEnv | None:
        """The environment with that hash, whatever it was built for, if it still exists."""
        ...


class HostEnvs:
    """Virtual environments of this machine."""

    def find(
        self, requirements: Sequence[str], added: AddedPackages = NOTHING_ADDED
    ) -> PythonEnv | None:
        return find_python_env(requirements, added)

    async def ensure(
        self,
        requirements: Sequence[str],
        added: AddedPackages = NOTHING_ADDED,
        *,
        announce: Announce,
    ) -> PythonEnv:
        return await ensure_python_env(requirements, added, announce=announce)

    def with_hash(self, env_hash: str) -> PythonEnv | None:
        return python_env_with_hash(env_hash)


HOST_ENVS = HostEnvs()


class _IndexEntry(Record):
    requirements: tuple[str, ...]
    base: str
    directory: str


def find_python_env(
    requirements: Sequence[str],
    added: AddedPackages = NOTHING_ADDED,
    *,
    python: Path | None = None,
) -> PythonEnv | None:
    """The environment built earlier for these requirements, if it still exists."""
    file = _index_file(requirements, added, python or base_python())
    if not file.is_file():
        return None
    entry = _IndexEntry.model_validate_json(file.read_bytes())
    return _load(envs_dir() / entry.directory)


def require_python_env(task: Task, envs: PythonEnvs = HOST_ENVS) -> PythonEnv:
    """The environment of a task; a UsageError with the command to run when there is none."""
    found = envs.find(task.spec.python.requirements)
    if found is None:
        raise UsageError(
            f"{task.id}: its virtual environment is not built; "
            f"run: mlagentbench tasks prepare {task.address}"
        )
    return found


def python_env_with_hash(env_hash: str) -> PythonEnv | None:
    """The environment with that hash; None when it does not exist here."""
    for file in sorted(envs_dir().glob(f"*/{_ENV_FILE}")):
        found = _load(file.parent)
        if found is not None and found.hash == env_hash:
            return found
    return None


async def ensure_python_env(
    requirements: Sequence[str],
    added: AddedPackages = NOTHING_ADDED,
    *,
    python: Path | None = None,
    announce: Callable[[str], None],
) -> PythonEnv:
    """The environment for these requirements, built if there is none.

    Announces the download size before it downloads. Raises UsageError when pip cannot resolve
    or install them, or when they would bring CUDA packages to a machine without a GPU.
    """
    base = (python or base_python()).resolve()
    index = _index_file(requirements, added, base)
    async with holding(f"env-{index.stem}", lambda: announce("another process is building it")):
        found = find_python_env(requirements, added, python=base)
        if found is not None:
            return found
        pip = await installer.find_pip(announce)
        wanted = [*requirements, *added.requirements]
        resolution, options = await _resolve(pip, base, wanted, announce)
        if added.without_dependencies:
            bare = await installer.resolve(
                pip, base, added.without_dependencies, [*options, "--no-deps"]
            )
            resolution = resolution.joined_with(bare)
        announce(_download_notice(resolution.packages))
        env = await _build(pip, base, resolution, options, added)
        entry = _IndexEntry(
            requirements=(*sorted(wanted), *added.marks),
            base=str(base),
            directory=env.directory.name,
        )
        write_atomically(index, entry.model_dump_json(indent=2).encode())
        return env


async def _resolve(
    pip: Sequence[str], base: Path, requirements: Sequence[str], announce: Announce
) -> tuple[Resolution, list[str]]:
    """The exact packages, and the pip options that found them; CUDA only where it is allowed."""
    if _cuda_allowed():
        return await installer.resolve(pip, base, requirements), []
    asks_for_torch = _asks_for_torch(requirements)
    options = await index_options(requirements, announce)
    resolution = await installer.resolve(pip, base, requirements, options)
    if _cuda_packages(resolution) and not asks_for_torch:
        options = await _torch_index_options(announce)
        resolution = await installer.resolve(pip, base, requirements, options)
    cuda = _cuda_packages(resolution)
    if cuda:
        names = ", ".join(package.pinned for package in cuda)
        raise UsageError(
            f"the requirements {', '.join(requirements)} bring CUDA packages ({names}; "
            f"{_total(cuda)}), but this machine has no NVIDIA GPU; set MLAGENTBENCH_TORCH_INDEX to "
            f"an index with CPU builds of torch (default: {TORCH_INDEX}) that this machine can "
            "reach, pin a version that has a CPU build, or set MLAGENTBENCH_ALLOW_CUDA=1"
        )
    return resolution, options


async def index_options(requirements: Sequence[str], announce: Announce) -> list[str]:
    """pip's options for finding these packages; torch without CUDA, unless CUDA is allowed."""
    if _cuda_allowed() or not _asks_for_torch(requirements):
        return []
    return await _torch_index_options(announce)


def _asks_for_torch(requirements: Sequence[str]) -> bool:
    return any(_project(requirement) in _TORCH for requirement in requirements)


async def _torch_index_options(announce: Announce) -> list[str]:
    """Options that add the index with CPU builds; none when it does not respond in time."""
    from mlagentbench.tasks.data.download import http_client, is_reachable

    index = os.environ.get("MLAGENTBENCH_TORCH_INDEX", TORCH_INDEX).rstrip("/")
    if not index:
        return []
    if not index.startswith(("http://", "https://")):
        return ["--extra-index-url", index]
    async with http_client(timeout=5.0) as client:
        if await is_reachable(client, f"{index}/torch/"):
            return ["--extra-index-url", index]
    announce(f"{index} does not respond; using pip's default indexes for torch")
    return []


async def _build(
    pip: Sequence[str],
    base: Path,
    resolution: Resolution,
    options: Sequence[str],
    added: AddedPackages,
) -> PythonEnv:
    packages = resolution.packages
    pinned = [package.pinned for package in packages]
    resolved = digest(resolution.python_version, platform.machine(), *pinned, *added.marks)
    directory = envs_dir() / f"{resolved[:16]}-{digest(*_identity(base))[:8]}"
    async with holding(f"env-{directory.name}") as lock:
        ready = _load(directory)
        if ready is not None:
            return ready
        if directory.exists():
            rmtree(directory)
        try:
            await installer.make_venv(base, directory, lock)
            python, lock_file = directory / "bin" / "python", directory / "requirements.lock"
            await installer.install(pip, python, packages, lock_file, options, lock)
            _remove(directory, added.removed)
            env = PythonEnv(
                directory=directory,
                hash=resolved,
                python_version=resolution.python_version,
                packages={package.name: package.version for package in packages},
            )
            facts = env.model_dump_json(indent=2, exclude={"directory"})
            write_atomically(directory / _ENV_FILE, facts.encode())
        except BaseException as error:
            rmtree(directory, ignore_errors=True)
            if "No space left on device" in str(error):
                raise UsageError(
                    f"the disk of {directory.parent} is full: the packages did not fit; free "
                    "some space, or set MLAGENTBENCH_HOME to a directory on a larger disk"
                ) from error
            raise
        return env


def _remove(directory: Path, paths: Sequence[str]) -> None:
    [packages] = directory.glob("lib/python*/site-packages")
    for path in paths:
        if not (packages / path).is_dir():
            raise UsageError(f"{path} is not among the installed packages and cannot be removed")
        rmtree(packages / path)


def _load(directory: Path) -> PythonEnv | None:
    file = directory / _ENV_FILE
    if not file.is_file() or not (directory / "bin" / "python").is_file():
        return None
    return PythonEnv(directory=directory, **json.loads(file.read_bytes()))


def _index_file(requirements: Sequence[str], added: AddedPackages, base: Path) -> Path:
    everything = (*requirements, *added.requirements)
    key = requirements_key(_identity(base.resolve()), everything, added)
    return envs_dir() / "index" / f"{key[:32]}.json"


def requirements_key(base: Sequence[str], requirements: Sequence[str], added: AddedPackages) -> str:
    """What tells environments of different requirements, on this base, apart."""
    wanted = sorted({"".join(requirement.split()) for requirement in requirements})
    cuda = "cuda" if _cuda_allowed() else "cpu"
    return digest(*base, cuda, *wanted, *added.marks)


def _identity(base: Path) -> list[str]:
    """An interpreter's path, size and time, which change with another release."""
    status = base.stat()
    return [str(base), str(status.st_size), str(status.st_mtime_ns)]


def digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


_TORCH = {"torch", "torchvision", "torchaudio"}


def _project(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def _cuda_allowed() -> bool:
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*"))
    return has_gpu or os.environ.get("MLAGENTBENCH_ALLOW_CUDA", "") not in ("", "0")


def _cuda_packages(resolution: Resolution) -> list[ResolvedPackage]:
    return [
        package
        for package in resolution.packages
        if package.name.startswith(("nvidia-", "cuda-")) or package.name == "triton"
    ]


def _download_notice(packages: Sequence[ResolvedPackage]) -> str:
    local = [package for package in packages if package.url.startswith("file:")]
    remote = [package for package in packages if not package.url.startswith("file:")]
    parts = []
    if remote:
        parts.append(f"{_total(remote)} to download (less what pip has in its cache)")
    if local:
        parts.append(f"{_total(local)} from local files")
    count = counted(len(packages), "package")
    return f"{count}: {', '.join(parts) or 'nothing to download'}"


def _total(packages: Sequence[ResolvedPackage]) -> str:
    known = sum(package.size or 0 for package in packages)
    unknown = sum(package.size is None for package in packages)
    text = f"{known / 1e6:,.1f} MB"
    return f"{text} and {unknown} of unknown size" if unknown else text
