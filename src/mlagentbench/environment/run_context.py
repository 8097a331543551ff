"""A run in progress, as its agent, its scorer and its display reach it."""

from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import Self

from mlagentbench.environment.environment import Environment
from mlagentbench.environment.run_setup import RunSetup
from mlagentbench.errors import UsageError
from mlagentbench.runs.directory import HeldRun


class RunContext:
    """A run in progress: its setup, its Environment, and all that was started for it.

    `open_run` makes it, agents find it by `current_run`, and the code that opened it closes it.
    """

    def __init__(
        self, setup: RunSetup, environment: Environment, resources: AsyncExitStack
    ) -> None:
        self.setup = setup
        self.environment = environment
        self._resources = resources
        """Its services, its sandbox and its Environment."""

    @property
    def run(self) -> HeldRun:
        return self.setup.run

    def publish(self) -> Self:
        """Make this the current run of the running sample or task."""
        _CURRENT.set(self)
        return self

    async def close(self) -> None:
        """Stop all that was started for the run; its holder still holds it."""
        await self._resources.aclose()

    async def __aenter__(self) -> Environment:
        return self.environment

    async def __aexit__(self, *_: object) -> None:
        await self.close()


_CURRENT: ContextVar[RunContext] = ContextVar("mlagentbench_run")


def current_run() -> RunContext:
    """The run in progress that the calling code is part of."""
    try:
        return _CURRENT.get()
    except LookupError:
        raise UsageError(
            "there is no run here: agents run inside of a task of MLAgentBench "
            "(see: mlagentbench tasks list) or within Environment.open"
        ) from None


def current_environment() -> Environment:
    """The Environment of the running sample."""
    return current_run().environment
