"""Wheels for the Python of a base image, downloaded on the host."""

import re
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree

from mlagentbench.errors import UsageError
from mlagentbench.records import Record
from mlagentbench.tasks.python_env import installer
from mlagentbench.tasks.python_env.installer import Announce

_OLDEST_LIBC = 5
_OLD_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""What platforms were called before they were named by their libc."""


class BasePython(Record):
    """The Python of a base image."""

    version: str
    machine: str
    libc: str
    """Such as "glibc 2.36"; empty if it is another libc."""
    has_pip: bool

    def download_options(self) -> list[str]:
        """pip's options for downloading packages for this Python instead of its own."""
        major, minor = self.version.split(".")[:2]
        abis = (f"cp{major}{minor}", "abi3", "none")
        return [
            *("--only-binary", ":all:", "--implementation", "cp"),
            *("--python-version", f"{major}.{minor}"),
            *(word for abi in abis for word in ("--abi", abi)),
            *(word for platform in self.platforms() for word in ("--platform", platform)),
        ]

    def platforms(self) -> list[str]:
        """The platforms of wheels that run in the image, the newest first."""
        found = re.fullmatch(r"glibc 2\.(\d+)", self.libc)
        if found is None:
            raise UsageError(
                f"the base image has {self.libc or 'no glibc'}; images without network can only be "
                "built on one with glibc, such as python:3.11-slim"
            )
        newest_first = range(int(found[1]), _OLDEST_LIBC - 1, -1)
        names = [f"manylinux_2_{minor}" for minor in newest_first]
        names += [name for minor, name in _OLD_NAMES.items() if minor in newest_first]
        return [f"{name}_{self.machine}" for name in (*names, "linux")]


async def download_wheels(
    python: BasePython,
    wanted: Sequence[str],
    without_dependencies: Sequence[str],
    options: Sequence[str],
    directory: Path,
    announce: Announce,
) -> None:
    """Download the wheels of these requirements; those of an earlier call are not again."""
    if directory.is_dir():
        return
    unfinished = directory.with_name(f".{directory.name}")
    if unfinished.exists():
        rmtree(unfinished)
    unfinished.mkdir(parents=True)
    announce(f"downloading wheels for Python {python.version} of the image")
    pip = await installer.find_pip(announce)
    how = ["--quiet", "--dest", str(unfinished), *python.download_options(), *options]
    if wanted:
        await installer.run([*pip, "download", *how, "--", *wanted], "pip")
    if without_dependencies:
        bare = ["--no-deps", "--", *without_dependencies]
        await installer.run([*pip, "download", *how, *bare], "pip")
    unfinished.rename(directory)
