"""Everything this package uses that Inspect keeps private, in one place.

Any release of Inspect may change it. `tests/test_inspect_private.py` then names what broke and what
it was used for. Imports are inside the functions, because importing Inspect takes a second.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput
    from inspect_ai.util import SandboxEnvironment
    from rich.console import RenderableType

CLIENT_FLAGS = {"openai": "_HAS_OPENAI", "anthropic": "_HAS_ANTHROPIC"}
"""Clients, with the constants by which Inspect knows whether they are installed."""
PROTOCOL_SERVER = "inspect_ai.agent._acp.server"
"""The module of the agent client protocol's server; importing it takes a second."""


def prerequisite_error(message: str) -> Exception:
    """The exception whose message Inspect prints without a traceback, as rich markup."""
    from inspect_ai._util.error import PrerequisiteError

    return PrerequisiteError(message)


def prerequisite_message(error: Exception) -> "RenderableType | None":
    """What Inspect says is missing, such as a package or a key; None for other errors."""
    from inspect_ai._util.error import PrerequisiteError

    return error.message if isinstance(error, PrerequisiteError) else None


def sample_end(reason: str) -> Exception:
    """The exception by which a tool ends its sample, which is then scored."""
    from inspect_ai._util.exception import TerminateSampleError

    return TerminateSampleError(reason)


def sample_clock() -> Callable[[], float] | None:
    """The working time of the running sample, in seconds; None outside of a sample."""
    from inspect_ai._util.working import sample_timing

    timing = sample_timing()
    return None if timing is None else timing.working


def waiting() -> AbstractContextManager[None]:
    """A span in which the running sample waits, which is no working time of it."""
    from inspect_ai._util.working import sample_wait

    return sample_wait()


def around_model_calls(around: "Callable[..., Awaitable[Any]]") -> None:
    """Make every attempt of every model call by `around(model, generate, **arguments)`.

    `generate` is the method of the model's provider. It applies from now on, to all models of this
    process, and only once.
    """
    from inspect_ai.model import Model

    asked = Model._generate
    if getattr(asked, "around", None) is around:
        return

    @wraps(asked)
    async def generate(self: Model, *arguments: Any, **named: Any) -> Any:
        if "generate" not in vars(self.api):
            vars(self.api)["generate"] = partial(around, self, self.api.generate)
        return await asked(self, *arguments, **named)

    vars(generate)["around"] = around
    Model._generate = generate  # type: ignore[method-assign]


def usage_cost(model: "Model", output: "ModelOutput | Exception") -> float | None:
    """The dollars of a model's output; None without its tokens or prices."""
    from inspect_ai.model import ModelOutput
    from inspect_ai.model._model import model_usage_cost

    if not isinstance(output, ModelOutput) or output.usage is None:
        return None
    return model_usage_cost(model, output.usage, output)


def sample_log() -> str | None:
    """The address of the log of the running sample; None outside of a sample."""
    from inspect_ai.log._samples import sample_active

    active = sample_active()
    return None if active is None else active.log_location


def is_solver(value: object) -> bool:
    """Whether a value was registered by Inspect's `@solver`."""
    from inspect_ai._util.registry import is_registry_object

    return is_registry_object(value, "solver")


def model_providers() -> set[str]:
    """The names of all model providers, including those of installed packages."""
    from inspect_ai._util.entrypoints import ensure_entry_points
    from inspect_ai._util.registry import registry_find, registry_unqualified_name

    ensure_entry_points()
    kinds = registry_find(lambda info: info.type == "modelapi")
    return {registry_unqualified_name(kind) for kind in kinds}


def local_sandbox_directory(environment: "SandboxEnvironment") -> Path:
    """The directory of a sandbox of Inspect's kind `local`."""
    from inspect_ai.util._sandbox.local import LocalSandboxEnvironment

    return Path(environment.as_type(LocalSandboxEnvironment).directory.name)


def flag_clients(flag: Callable[[str], object]) -> None:
    """Let `flag(package)` tell Inspect whether a client that is installed needs a state."""
    from inspect_ai.model import _assistant_internal

    for package, constant in CLIENT_FLAGS.items():
        if getattr(_assistant_internal, constant) is True:
            setattr(_assistant_internal, constant, flag(package))


def open_no_protocol_sessions() -> None:
    """Let samples take a session of the agent client protocol for open, and open none."""
    from inspect_ai.agent._acp.transport import _acp_live_active

    _acp_live_active.set(True)
