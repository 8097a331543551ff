"""The budget of a run: its limits, its usage and what is left."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mlagentbench.inspect_private import sample_clock
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Usage


class Budget:
    """Counts what a run uses against its limits.

    Time is the run's own clock: it is stopped until `start()`, and in a resumed run it continues
    from the usage in the journal.
    """

    def __init__(
        self,
        limits: BudgetLimits,
        used: Usage | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self._used = used or Usage()
        self._clock = clock
        self._started: float | None = None
        self._stored: Callable[[], int] = lambda: 0

    def count_storage(self, stored: Callable[[], int]) -> None:
        """Count the bytes that this part of the run has stored so far."""
        self._stored = stored

    def start(self) -> None:
        if self._started is None:
            self._started = self._clock()

    def stop(self) -> None:
        self._used = self._used.model_copy(update={"seconds": self.seconds})
        self._started = None

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Stop the run's clock meanwhile, for work of the harness."""
        was_running = self._started is not None
        self.stop()
        try:
            yield
        finally:
            if was_running:
                self.start()

    def resume_from(self, used: Usage) -> None:
        """Continue with the usage of an earlier part of this run."""
        self._used = used
        self._started = None

    @property
    def seconds(self) -> float:
        running = 0.0 if self._started is None else self._clock() - self._started
        return self._used.seconds + running

    @property
    def usage(self) -> Usage:
        stored = self._used.stored + self._stored()
        return self._used.model_copy(update={"seconds": self.seconds, "stored": stored})

    def add_step(self) -> None:
        self._used = self._used.model_copy(update={"steps": self._used.steps + 1})

    def add_reply(self, input_tokens: int, output_tokens: int, cost: float | None) -> None:
        """Count a model's reply; a cost of `None` is unknown, not free."""
        used = self._used
        total = used.cost if cost is None else (used.cost or 0.0) + cost
        self._used = used.model_copy(
            update={
                "input_tokens": used.input_tokens + input_tokens,
                "output_tokens": used.output_tokens + output_tokens,
                "cost": total,
            }
        )

    def remaining(self) -> BudgetLimits:
        """What is left of each limit, never below 0."""
        return self.limits.left(self.usage)

    def check(self) -> None:
        """Raise RunEnded if something is used up."""
        if (ended := self.limits.used_up(self.usage)) is not None:
            raise ended

    def check_spending(self) -> None:
        """Raise RunEnded when models have used up something, such as the tokens or the money."""
        if (ended := self.limits.used_up(self.usage, by_models=True)) is not None:
            raise ended

    def command_time(self, limit: float) -> float:
        """The time limit of one command: its own, or the rest of the run's time."""
        left = self.remaining().get("time")
        return limit if left is None else max(0.1, min(limit, left))


def working_clock() -> Callable[[], float]:
    """The clock of the running Inspect sample, which stops while a provider makes it wait.

    Outside of a sample it is an ordinary clock.
    """
    return sample_clock() or time.monotonic
