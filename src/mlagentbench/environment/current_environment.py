"""The Environment of the running sample, for whoever acts on it."""

from contextvars import ContextVar

from mlagentbench.environment.environment import Environment
from mlagentbench.errors import UsageError

_current: ContextVar[Environment] = ContextVar("mlagentbench_environment")


def publish(environment: Environment) -> None:
    """Make this the Environment of the running sample."""
    _current.set(environment)


def current_environment() -> Environment:
    """The Environment of the running sample."""
    try:
        return _current.get()
    except LookupError:
        raise UsageError(
            "there is no Environment here: agents run inside of a task of MLAgentBench "
            "(see: mlagentbench tasks list) or within Environment.open"
        ) from None
