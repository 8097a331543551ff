"""Where runs are executed. A new engine is a file beside this one, and a row of ENGINES."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.plugins import Registry
from mlagentbench.records import Json, Record, reason_of

if TYPE_CHECKING:
    from mlagentbench.launch.plans.plan import RunRequest
    from mlagentbench.terminal import Terminal

OPTION, OPTIONS = "--engine", "--engine-options"


class Engine(Protocol):
    """Executes runs, and nothing else: their results are read from their directories."""

    def execute(self, requests: "Sequence[RunRequest]") -> None:
        """Execute runs of a plan that is written; return when none of them is left to do here.

        Each run has then ended, has failed, or is held elsewhere. A run that fails leaves its
        reason in its directory and does not stop the others. Raises KeyboardInterrupt when the
        user stops it, with all runs left so that they can be resumed.
        """
        ...

    def cancel(self) -> None:
        """Stop all that this engine has started for OUT, also in another process."""
        ...


class EngineChoice(Record):
    """What was chosen with --engine and --engine-options."""

    name: str
    argument: str = ""
    """What follows a colon, as in ray:ADDRESS."""
    options: dict[str, Json] = {}

    @property
    def kind(self) -> "EngineKind":
        return ENGINES[self.name]

    def make(self, out: Path, jobs: int | None, console: "Terminal") -> Engine:
        """The engine; a UsageError if something that it needs is missing here."""
        return self.kind.make(EngineOptions(out, jobs, console, self))


DEFAULT_ENGINE = "local"
DEFAULT_CHOICE = EngineChoice(name=DEFAULT_ENGINE)


@dataclass(frozen=True)
class EngineOptions:
    """What every engine is made with: where runs are, how many at once, and where to say so."""

    out: Path
    jobs: int | None
    """None: as many as there are slots for."""
    console: "Terminal"
    choice: EngineChoice = DEFAULT_CHOICE


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
    argument: str = ""
    """What may follow its name and a colon, for help, such as ADDRESS."""

    @property
    def spelled(self) -> str:
        return f"{self.name}[:{self.argument}]" if self.argument else self.name

    def make(self, options: EngineOptions) -> Engine:
        module, _, name = self.made_by.partition(":")
        engine: Engine = getattr(import_module(module), name)(options)
        return engine


LOCAL_ENGINE = EngineKind(
    name=DEFAULT_ENGINE,
    description="this machine, in this process",
    made_by="mlagentbench.launch.engines.local:LocalEngine",
    at_terminal=True,
)
SLURM_ENGINE = EngineKind(
    name="slurm",
    description="a Slurm cluster, as a job array",
    made_by="mlagentbench.launch.engines.slurm:SlurmEngine",
)
RAY_ENGINE = EngineKind(
    name="ray",
    description="a Ray cluster",
    made_by="mlagentbench.launch.engines.ray:RayEngine",
    argument="ADDRESS",
)
WORKERS_ENGINE = EngineKind(
    name="workers",
    description="workers that you start with `jobs work`",
    made_by="mlagentbench.launch.engines.workers:WorkersEngine",
)
ENGINES: Registry[EngineKind] = Registry(
    "engine", LOCAL_ENGINE, SLURM_ENGINE, RAY_ENGINE, WORKERS_ENGINE
)


def choose_engine(text: str, options: dict[str, Json] | None = None) -> EngineChoice:
    """Read NAME or NAME:ARGUMENT; a UsageError if there is no such engine."""
    name, colon, argument = text.partition(":")
    kind = ENGINES.find(name, f"{OPTION} {text}")
    if colon and not (kind.argument and argument):
        raise UsageError(f"{OPTION} {text}: write {OPTION} {kind.spelled}")
    return EngineChoice(name=name, argument=argument, options=options or {})


Options = TypeVar("Options", bound=Record)


def read_options(kind: type[Options], choice: EngineChoice) -> Options:
    """The options of an engine as its record; a UsageError names a wrong one."""
    try:
        return kind.model_validate(choice.options)
    except ValidationError as error:
        first = error.errors()[0]
        reason = reason_of(first)
        if not first["loc"]:
            raise UsageError(f"{OPTIONS}: {reason}") from error
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields) or "none"
            raise UsageError(
                f"{OPTIONS} {name}: the engine {choice.name} has no such option; it has: {known}"
            ) from error
        raise UsageError(f"{OPTIONS} {name}={first['input']}: {reason}") from error
