"""Where runs are executed. A new engine is a file beside this one, and a row of ENGINES."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mlagentbench.plugins import Registry

if TYPE_CHECKING:
    from mlagentbench.launch.plan import RunRequest
    from mlagentbench.terminal import Terminal


class Engine(Protocol):
    """Executes runs, and nothing else: their results are read from their directories."""

    def execute(self, requests: "Sequence[RunRequest]") -> None:
        """Execute a batch; return when each run has ended, has failed, or is held elsewhere.

        A run that fails leaves its reason in its directory and does not stop the others. Raises
        KeyboardInterrupt when the user stops it, with all runs left so that they can be resumed.
        """
        ...


@dataclass(frozen=True)
class EngineOptions:
    """What every engine is made with: where runs are, how many at once, and where to say so."""

    out: Path
    jobs: int | None
    """None: as many as there are slots for."""
    console: "Terminal"


@dataclass(frozen=True)
class EngineKind:
    """A row of ENGINES; its module is imported when it is used."""

    name: str
    """For --engine."""
    description: str
    """For help: "this machine, in this process"."""
    made_by: str
    """What takes EngineOptions and returns an Engine, as MODULE:NAME."""
    at_terminal: bool = False
    """Whether its runs can ask the person who started them."""

    def make(self, options: EngineOptions) -> Engine:
        module, _, name = self.made_by.partition(":")
        engine: Engine = getattr(import_module(module), name)(options)
        return engine


LOCAL_ENGINE = EngineKind(
    name="local",
    description="this machine, in this process",
    made_by="mlagentbench.launch.engines.local:LocalEngine",
    at_terminal=True,
)
ENGINES: Registry[EngineKind] = Registry("engine", LOCAL_ENGINE)
DEFAULT_ENGINE = LOCAL_ENGINE.name


def known_engine(name: str) -> str:
    """The name, if there is an engine of this name; else a UsageError."""
    return ENGINES.find(name, f"--engine {name}").name
