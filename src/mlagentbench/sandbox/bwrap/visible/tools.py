"""Which programs and libraries of the host are visible in a sandbox.

The lists here decide that, not what happens to be installed: a compiler that is there on one
machine and not on another would make their results differ.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.tasks.spec import ToolName

USR = Path("/usr")
SEARCHED = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"

_NAMES = """
[ arch awk b2sum base32 base64 basename bash cat chgrp chmod chown cksum cmp comm cp csplit cut
date dd df diff dir dirname du echo egrep env expand expr factor false fgrep find flock fmt fold
getconf getent getopt grep groups gunzip gzip head hostname iconv id install join link ln locale
ls lscpu md5sum mkdir mkfifo mktemp more mv nice nl nohup nproc numfmt od paste pathchk pr
printenv printf pwd readlink realpath rm rmdir sed seq setsid sh sha1sum sha224sum sha256sum
sha384sum sha512sum shred shuf sleep sort split stat sum sync tac tail tar taskset tee test
timeout touch tr true truncate tsort tty uname unexpand uniq unlink wc which whoami xargs yes
zcat
"""
BASIC = tuple(_NAMES.split())
"""The commands of every sandbox: those that a minimal Linux has, so that all machines have them."""
_BASIC_PACKAGES = "coreutils bash findutils grep sed gawk diffutils tar gzip hostname util-linux"

_LIBRARY_FOLDERS = re.compile(
    r"locale|gconv|glibc-hwcaps|engines-.*|ossl-modules|wsl|nvidia.*"
    r"|(open|lib)?blas.*|lapack.*|atlas.*"
)
"""Folders beside the shared libraries that are visible."""
_LIBRARIES_OF_LANGUAGES = re.compile(
    r"lib(LLVM|LTO|MLIR|clang|lldb|cling|gccjit|cc1|cp1plugin|tcc|nvrtc|nvptx|asmjit|keystone"
    r"|perl|ruby|node|v8|mozjs|gjs|javascriptcore|webkit|Qt\dQml|Qt\dScript|duktape|mujs|quickjs"
    r"|guile|lua|tcl|python|php|R\.so|julia|mono|jvm|coreclr|hostfxr|ocaml|HS|ghc|rustc|swift"
    r"|wasm|pocl|gnat|fpc|octave)",
)
"""Compilers and interpreters that programs could load instead of starting them."""
_ARCHITECTURE = re.compile(r"[a-z0-9_]+-linux-(gnu|musl).*")


_GCC = """gcc g++ cc c++ cpp gcc-ar gcc-nm gcc-ranlib as ld ld.bfd ar nm objcopy objdump ranlib
readelf size strings strip make"""


class Toolchain(NamedTuple):
    """A compiler or language runtime that a task can ask for."""

    commands: tuple[str, ...]
    """The first must exist, the others are visible if they do."""
    places: tuple[str, ...]
    """Patterns of the files and folders below /usr that it needs."""
    package: str
    """What installs it."""


TOOLCHAINS: dict[ToolName, Toolchain] = {
    "gcc": Toolchain(
        tuple(_GCC.split()),
        ("include", "lib/gcc", "lib64/gcc", "libexec/gcc", "lib/bfd-plugins"),
        "gcc g++ make",
    ),
    "git": Toolchain(("git",), ("lib/git-core", "libexec/git-core", "share/git-core"), "git"),
    "node": Toolchain(
        ("node", "npm", "npx"),
        (
            "lib/node_modules",
            "share/nodejs",
            "share/node_modules",
            "lib/*/nodejs",
            "lib/*/libnode*",
        ),
        "nodejs",
    ),
    "perl": Toolchain(
        ("perl",),
        (
            "lib/*/perl*",
            "lib/perl*",
            "lib64/perl*",
            "lib/*/libperl*",
            "lib64/libperl*",
            "share/perl*",
        ),
        "perl",
    ),
}


def find_command(name: str) -> Path | None:
    """Where the host has a command."""
    found = shutil.which(name, path=SEARCHED)
    return None if found is None else Path(found)


def require_commands() -> None:
    """A UsageError names the commands of every sandbox that this machine lacks."""
    missing = [name for name in BASIC if find_command(name) is None]
    if missing:
        raise UsageError(
            f"every sandbox has the command{'s'[: len(missing) > 1]} {', '.join(missing)}, which "
            f"this machine lacks; install: apt-get install {_BASIC_PACKAGES} (with dnf also: which "
            "glibc-common; with pacman also: which, and inetutils instead of hostname)"
        )


def require_tools(asked: Sequence[ToolName], who: str) -> None:
    """A UsageError names the tool that this machine lacks, and how to install it."""
    for name in asked:
        if find_command(TOOLCHAINS[name].commands[0]) is None:
            raise UsageError(
                f"{who} asks for {name}, which this machine lacks; install it with: apt-get "
                f"install {TOOLCHAINS[name].package}"
            )


def commands(asked: Sequence[ToolName]) -> dict[str, Path]:
    """The commands of such a sandbox, with the host's programs."""
    names = [*BASIC, *(command for name in asked for command in TOOLCHAINS[name].commands)]
    found = {name: find_command(name) for name in names}
    return {name: place for name, place in found.items() if place is not None}


def places(asked: Sequence[ToolName]) -> frozenset[Path]:
    """What is visible for these tools besides their commands."""
    patterns = [pattern for name in asked for pattern in TOOLCHAINS[name].places]
    return frozenset(place for pattern in patterns for place in USR.glob(pattern))


def library_directories() -> Iterator[Path]:
    """The directories of the host that have shared libraries, and links to them."""
    for top in (Path("/"), USR):
        for name in ("lib", "lib32", "lib64", "libx32"):
            if (top / name).is_dir():
                yield top / name


def has_libraries(name: str) -> bool:
    """Whether a folder in a library directory is one, too: that of an architecture."""
    return _ARCHITECTURE.fullmatch(name) is not None


def is_shown_library(name: str, is_folder: bool) -> bool:
    """Whether an entry of a library directory is visible in every sandbox."""
    if is_folder:
        return has_libraries(name) or _LIBRARY_FOLDERS.fullmatch(name) is not None
    return _LIBRARIES_OF_LANGUAGES.match(name) is None
