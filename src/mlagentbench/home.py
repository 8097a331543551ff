"""The user data directory: prepared data, virtual environments, measurements and locks.

HOME/                       MLAGENTBENCH_HOME, else the platform's user data directory
  data/TASK/vN/TIER/HASH/   public/ private/ data.json
  downloads/TASK/vN/        raw files of the full tier, kept so that downloads can resume
  envs/HASH-BASE/           one venv per set of resolved requirements and base interpreter
  envs/index/               the venv of each set of requirements
  images/HASH/              the facts of an image of the docker sandbox; index/ as in envs
  wheels/KEY/               what was downloaded for an image that is built without network
  baselines/TASK/vN/TIER/   DATAHASH.json, measured on this machine
  memorisation/             results of `tasks memorisation`, and the replies of unfinished ones
  cache/report/             what reports have already read; can be deleted at any time
  cache/sandbox/            copies of the programs that are visible in sandboxes
  locks/                    one file for each thing that only one process may make at a time
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import file_lock


def home() -> Path:
    """The home directory, created if needed."""
    chosen = os.environ.get("MLAGENTBENCH_HOME")
    if chosen:
        path = Path(chosen).expanduser().absolute()
    else:
        from platformdirs import user_data_path

        path = user_data_path("mlagentbench")
    return _writable(path)


def data_dir(task_id: str, version: int, tier: str) -> Path:
    return home() / "data" / task_id / f"v{version}" / tier


def downloads_dir(task_id: str, version: int) -> Path:
    return home() / "downloads" / task_id / f"v{version}"


def envs_dir() -> Path:
    return home() / "envs"


def images_dir() -> Path:
    return home() / "images"


def wheels_dir() -> Path:
    return home() / "wheels"


def report_cache_dir() -> Path:
    return _writable(home() / "cache" / "report")


def sandbox_copies_dir() -> Path:
    return _writable(home() / "cache" / "sandbox")


def baselines_dir(task_id: str, version: int, tier: str) -> Path:
    return home() / "baselines" / task_id / f"v{version}" / tier


def memorisation_dir() -> Path:
    return _writable(home() / "memorisation")


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the machine-wide lock of that name; waits while another process holds it."""
    with file_lock(_writable(home() / "locks") / f"{name}.lock"):
        yield


@asynccontextmanager
async def holding(name: str, on_wait: Callable[[], None] | None = None) -> AsyncIterator[int]:
    """`locked` for coroutines: waiting does not block the event loop and can be cancelled.

    `on_wait` is called once if another process holds the lock. Yields the lock's descriptor: a
    child process that inherits it keeps the lock if this process is killed.
    """
    file = _writable(home() / "locks") / f"{name}.lock"
    waited = False
    with ExitStack() as stack:
        while True:
            try:
                handle = stack.enter_context(file_lock(file, wait=False))
                break
            except BlockingIOError:
                if on_wait is not None and not waited:
                    on_wait()
                waited = True
                await asyncio.sleep(0.05)
        yield handle


def _writable(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(_unwritable(path, error.strerror or str(error))) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise UsageError(_unwritable(path, "permission denied"))
    return path


def _unwritable(path: Path, reason: str) -> str:
    return f"cannot write to {path}: {reason}; set MLAGENTBENCH_HOME to a writable directory"
