"""Resolve requirements into exact packages with pip, then install exactly those.

Uses the harness's pip when it is new enough to resolve from metadata alone, otherwise a newer one
in a separate virtual environment. Task environments contain no pip. The user's pip settings (PIP_*
variables, pip.conf) apply.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.home import envs_dir, holding
from mlagentbench.records import Record
from mlagentbench.tasks.subprocesses import run_command

RESOLVES_WITHOUT_DOWNLOADING = (25, 3)
"""The first pip whose `install --dry-run` fetches metadata only, not the packages themselves."""

Announce = Callable[[str], None]


class Resolution(Record):
    """The exact packages for one interpreter, sorted by name."""

    python_version: str
    packages: tuple["ResolvedPackage", ...]

    def joined_with(self, other: "Resolution") -> "Resolution":
        """The packages of both; the other's version of a package that is in both."""
        both = {package.name: package for package in (*self.packages, *other.packages)}
        packages = tuple(both[name] for name in sorted(both))
        return self.model_copy(update={"packages": packages})


class ResolvedPackage(Record):
    """One package that pip chose, and the file to install it from."""

    name: str
    version: str
    url: str
    sha256: str | None = None
    direct: bool = False
    size: int | None = None

    @property
    def pinned(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def lock_line(self) -> str:
        requirement = f"{self.name} @ {self.url}" if self.direct else self.pinned
        return f"{requirement} --hash=sha256:{self.sha256}" if self.sha256 else requirement


def base_python() -> Path:
    """The interpreter that the harness's virtual environment was made from."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def own_pip() -> tuple[int, ...] | None:
    """The version of the harness's pip; None without one."""
    try:
        version = metadata.version("pip")
    except metadata.PackageNotFoundError:
        return None
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


async def find_pip(announce: Announce) -> list[str]:
    """A pip that resolves without downloading; an older one if it cannot be updated."""
    own = [sys.executable, "-m", "pip"]
    own_version = own_pip()
    if own_version is not None and own_version >= RESOLVES_WITHOUT_DOWNLOADING:
        return own
    directory = envs_dir() / "pip"
    ready = directory / "ready"
    tool = [str(directory / "bin" / "python"), "-m", "pip"]
    async with holding("env-pip") as lock:
        if ready.is_file() and Path(tool[0]).is_file():
            return tool
        if directory.exists():
            rmtree(directory)
        try:
            await run([str(base_python()), "-m", "venv", str(directory)], "venv", lock)
        except UsageError:
            rmtree(directory, ignore_errors=True)
            if own_version is None:
                raise
            return own
        needed = ".".join(map(str, RESOLVES_WITHOUT_DOWNLOADING))
        try:
            await run([*tool, "install", "--quiet", "--upgrade", f"pip>={needed}"], "pip", lock)
        except UsageError:
            announce(
                f"pip could not be updated to {needed} or later: "
                "packages are downloaded while they are resolved, before their size is known"
            )
            return tool if own_version is None else own
        ready.touch()
        return tool


async def resolve(
    pip: Sequence[str], base: Path, requirements: Sequence[str], options: Sequence[str] = ()
) -> Resolution:
    """What pip would install into an empty environment with that interpreter."""
    with TemporaryDirectory(prefix="mlagentbench-") as name:
        scratch = Path(name)
        await make_venv(base, scratch / "venv")
        report = scratch / "report.json"
        python = scratch / "venv" / "bin" / "python"
        how = ["--dry-run", "--quiet", "--no-user", "--report", str(report), *options]
        await run([*pip, "--python", str(python), "install", *how, "--", *requirements], "pip")
        resolved = json.loads(report.read_text(encoding="utf-8"))
    packages = [
        ResolvedPackage(
            name=re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower(),
            version=item["metadata"]["version"],
            url=item["download_info"]["url"],
            sha256=item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256"),
            direct=item["is_direct"],
        )
        for item in resolved["install"]
    ]
    return Resolution(
        python_version=resolved["environment"]["python_full_version"],
        packages=await _with_sizes(sorted(packages, key=lambda package: package.name)),
    )


async def install(
    pip: Sequence[str],
    python: Path,
    packages: Sequence[ResolvedPackage],
    requirements: Path,
    options: Sequence[str] = (),
    lock: int | None = None,
) -> None:
    """Install exactly these packages and list them in the file `requirements`."""
    lines = "".join(f"{package.lock_line}\n" for package in packages)
    write_atomically(requirements, lines.encode())
    if packages:
        how = ["--quiet", "--no-user", "--no-deps", "--compile", *options]
        command = [*pip, "--python", str(python), "install", *how, "--requirement"]
        await run([*command, str(requirements)], "pip", lock)


async def make_venv(base: Path, directory: Path, lock: int | None = None) -> None:
    command = [str(base), "-I", "-m", "venv", "--without-pip", str(directory)]
    await run(command, "venv", lock)


async def run(command: Sequence[str], name: str, lock: int | None = None) -> str:
    """Run a command and return its stdout; a failure is a UsageError with its last lines."""
    done = await run_command(command, without=_LEAKING, lock=lock)
    if done.exit_code != 0:
        raise UsageError(f"{name} failed: {done.last_lines()}")
    return done.stdout


_LEAKING = {"PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__", "VIRTUAL_ENV"}
"""Variables that would make the harness's packages look installed."""


async def _with_sizes(packages: Sequence[ResolvedPackage]) -> tuple[ResolvedPackage, ...]:
    from mlagentbench.tasks.data.download import http_client, size_of

    async with http_client(timeout=5.0) as client:

        async def sized(package: ResolvedPackage) -> ResolvedPackage:
            address = urlsplit(package.url)
            if address.scheme == "file":
                file = Path(unquote(address.path))
                return package.model_copy(
                    update={"size": file.stat().st_size if file.is_file() else None}
                )
            return package.model_copy(update={"size": await size_of(client, package.url)})

        return tuple(await asyncio.gather(*map(sized, packages)))
