"""Registries of named things, to which installed packages can add their own.

A package names a module in the entry point group `mlagentbench.plugins`. The module is imported
when a registry is first read, and calls `register` of the registries it adds to:

    [project.entry-points."mlagentbench.plugins"]
    my-package = "my_package.for_mlagentbench"
"""

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, TypeVar

from mlagentbench.errors import UsageError

ENTRY_POINT_GROUP = "mlagentbench.plugins"


class Named(Protocol):
    """What a registry needs of its rows."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)


class Registry(Mapping[str, Row]):
    """Rows of one kind by name: the built-in ones, then those of installed packages.

    Each seam of the package has one, a module constant such as `LIMITS = Registry("limit", ...)`.
    The module of a registry must be cheap to import, since it is imported to show the options of
    a command: what a row needs to do its work is imported where it is used.
    """

    def __init__(self, kind: str, *rows: Row) -> None:
        self._kind = kind
        self._rows: dict[str, Row] = {}
        for row in rows:
            self.register(row)

    def register(self, row: Row) -> None:
        """Add a row; each name exists once."""
        if row.name in self._rows:
            raise ValueError(f"there is a {self._kind} named {row.name!r} already")
        self._rows[row.name] = row

    def find(self, name: str, asked_by: str) -> Row:
        """The row of this name; a UsageError begins with what asked for it, such as an option."""
        if name in self:
            return self[name]
        near = difflib.get_close_matches(name, self, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(self)}"
        raise UsageError(
            f"{asked_by}: unknown {self._kind} {name!r}; {hint} (a package that adds it must be "
            "installed)"
        )

    def __getitem__(self, name: str) -> Row:
        load_plugins()
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(self._rows)

    def __len__(self) -> int:
        load_plugins()
        return len(self._rows)


@cache
def load_plugins() -> None:
    """Import the plugins of installed packages, once; a UsageError names one that is broken."""
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        _load(entry)


def _load(entry: EntryPoint) -> None:
    try:
        entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else "a package"
        raise UsageError(
            f"the plugin of {package} ({entry.value}) cannot be loaded: "
            f"{type(error).__name__}: {error}; update or uninstall it"
        ) from error
