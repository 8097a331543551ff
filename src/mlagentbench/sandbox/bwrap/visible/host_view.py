"""What a sandbox shows of the host: commands, libraries and a Python, as mounts of bubblewrap."""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from mlagentbench.home import home
from mlagentbench.sandbox.bwrap.visible.copies import directory_of
from mlagentbench.sandbox.bwrap.visible.interpreter import Interpreter
from mlagentbench.sandbox.bwrap.visible.tools import (
    USR,
    commands,
    find_command,
    has_libraries,
    is_shown_library,
    library_directories,
    places,
    require_commands,
    require_tools,
)
from mlagentbench.tasks.spec import ToolName

STARTERS = "/run/start"
"""Programs that start root's sandboxes; covered before any command runs."""
_PACKAGE = Path(__file__).resolve().parents[3]
_SHARED_DATA = USR / "share" / "zoneinfo"
_ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/os-release")


class Places:
    """The places inside that exist: directories that were made, and what was bound."""

    def __init__(self, before: "Places | None" = None) -> None:
        self.made: set[Path] = {Path("/")} if before is None else set(before.made)
        self.bound: set[Path] = set() if before is None else set(before.bound)

    def parents(self, path: str) -> Iterator[str]:
        """Create the parents of a mount point; by default root's bubblewrap makes them private."""
        for parent in reversed(Path(path).parents):
            if parent not in self.made and self.bound.isdisjoint((parent, *parent.parents)):
                self.made.add(parent)
                yield from ("--perms", "0755", "--dir", str(parent))

    def read_only(self, path: Path, place: str) -> Iterator[str]:
        yield from self.parents(place)
        yield from ("--ro-bind", str(path), place)
        self.bound.add(Path(place))


class HostView:
    """What of the host is visible with a Python and the tools that were asked for."""

    def __init__(
        self, environment: Path, tools: Sequence[ToolName], gpus: bool, bwrap: str | None
    ) -> None:
        """`bwrap` is what root's sandboxes start a second time; None for an ordinary user."""
        require_commands()
        require_tools(tools, "the sandbox")
        self.python = Interpreter(environment)
        self.places = Places()
        self._tools = tools
        self._tool_places = places(tools)
        self._gpus = gpus
        self._bwrap = bwrap
        self.files = {name: text.encode() for name, text in self.python.texts().items()}
        self.options = (*self._system(), *self._interpreter())

    def _system(self) -> Iterator[str]:
        yield from self.places.read_only(self._commands(), "/usr/bin")
        for name, target in (("/bin", "usr/bin"), ("/sbin", "usr/bin"), ("/usr/sbin", "bin")):
            yield from ("--symlink", target, name)
        libraries = list(library_directories())
        for directory in libraries:
            if directory.is_symlink():
                yield from ("--symlink", str(directory.readlink()), str(directory))
            else:
                yield from self._libraries(directory, str(directory))
        for place in sorted({_SHARED_DATA, *self._tool_places}):
            if place.exists() and not any(map(place.is_relative_to, libraries)):
                yield from self.places.read_only(place, str(place))
        if self._bwrap is not None:
            starters = {"bwrap": Path(self._bwrap), "setpriv": Path("/usr/bin/setpriv")}
            yield from self.places.read_only(directory_of(starters), STARTERS)
        yield from self.places.parents(_ETC[0])
        for name in _ETC:
            yield from ("--ro-bind-try", name, name)

    def _commands(self) -> Path:
        """A directory with the visible commands; those below a visible place are links to it."""
        files, links = self.python.programs() if self.python.is_of_the_system else ({}, {})
        for name, command in commands(self._tools).items():
            real = command.resolve()
            if any(map(real.is_relative_to, self._tool_places)):
                links[name] = str(real)
            else:
                files[name] = command
        if self._gpus and (found := find_command("nvidia-smi")) is not None:
            files[found.name] = found
        return directory_of(files, links)

    def _interpreter(self) -> Iterator[str]:
        for place, directory in self.python.directories().items():
            yield from self.places.read_only(directory, place)
        for place, target in self.python.links().items():
            yield from ("--symlink", target, place)
        if not self.python.is_of_the_system:
            for place, directory in self.python.libraries().items():
                yield from self._libraries(directory, place)
        ours = self.python.inside(_PACKAGE)
        for place in (*self.python.hidden(), *([] if ours is None else [ours])):
            yield from self._hide(place)

    def _libraries(self, directory: Path, place: str) -> Iterator[str]:
        """Show a library directory without compilers, interpreters and other programs.

        Either its other entries are bound, or it is bound and these are covered, whichever needs
        fewer mounts.
        """
        shown: list[os.DirEntry[str]] = []
        hidden: list[os.DirEntry[str]] = []
        inner: list[os.DirEntry[str]] = []
        for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
            if has_libraries(entry.name) and entry.is_dir(follow_symlinks=False):
                inner.append(entry)
            elif self._shows(entry):
                shown.append(entry)
            elif not entry.is_symlink():
                hidden.append(entry)
        if len(hidden) < len(shown):
            yield from self.places.read_only(directory, place)
            for entry in hidden:
                inside = f"{place}/{entry.name}"
                yield from self._hide(inside) if entry.is_dir() else _cover(os.devnull, inside)
        else:
            yield from self.places.parents(f"{place}/entry")
            for entry in shown:
                if entry.is_symlink():
                    yield from (
                        "--symlink",
                        str(Path(entry.path).readlink()),
                        f"{place}/{entry.name}",
                    )
                else:
                    yield from self.places.read_only(Path(entry.path), f"{place}/{entry.name}")
        for entry in inner:
            yield from self._libraries(Path(entry.path), f"{place}/{entry.name}")

    def _shows(self, entry: "os.DirEntry[str]") -> bool:
        if is_shown_library(entry.name, entry.is_dir()):
            return True
        path = Path(entry.path)
        return path in self._tool_places or self.python.is_its_library(path)

    def _hide(self, place: str) -> Sequence[str]:
        """Cover a directory with an empty one that no command can write to.

        Root's own need no second mount to be read-only: commands have another uid.
        """
        if self._bwrap is not None:
            return ("--tmpfs", place)
        return _cover(str(directory_of({})), place)


def _cover(source: str, place: str) -> Sequence[str]:
    return ("--ro-bind", source, place)


def host_view(
    environment: Path, tools: tuple[ToolName, ...], gpus: bool, bwrap: str | None
) -> HostView:
    """The view of this machine; it is looked at once, since that takes 50 ms."""
    return _seen(home(), environment, tools, gpus, bwrap)


@lru_cache(maxsize=32)
def _seen(
    _home: Path, environment: Path, tools: tuple[ToolName, ...], gpus: bool, bwrap: str | None
) -> HostView:
    return HostView(environment, tools, gpus, bwrap)
