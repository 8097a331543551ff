"""When a worker stops: Ctrl-C, SIGTERM, the end of its time, or a plan that is cancelled.

All of them are SIGINT to this process. Inspect then stops its samples, and every run is left so
that it can be resumed. Between two evaluations Inspect may consume a SIGINT; so what asked for it
is noted, and looked at before anything else begins.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from mlagentbench.launch.plans.plan import PlanFile

LOOK_AROUND = 1.0
"""Seconds between two looks at whether to stop."""


class Stopping:
    """Sends SIGINT when it is time, and says why."""

    def __init__(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._file: PlanFile | None = None
        self._ended = threading.Event()
        self._terminated = False
        self.time_is_up = False
        self.was_cancelled = False

    @property
    def is_asked_for(self) -> bool:
        """Whether nothing more is to begin."""
        return self._terminated or self.time_is_up or self.was_cancelled

    def continues_elsewhere(self) -> bool:
        """Whether only one plan was cancelled, so that others can be worked on; asked once."""
        cancelled, self.was_cancelled = self.was_cancelled, False
        return cancelled and not self.is_asked_for

    def require_not_asked_for(self) -> None:
        """Raise KeyboardInterrupt if the SIGINT that should have stopped this was consumed."""
        if self.is_asked_for:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        # A shell ignores it for what runs in its background, Ray blocks it for what it starts.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
        self._before = signal.signal(signal.SIGTERM, self._terminate)
        threading.Thread(target=self._look, daemon=True, name="stopping").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        signal.signal(signal.SIGTERM, self._before)

    @contextmanager
    def if_cancelled(self, file: PlanFile) -> Iterator[None]:
        """Stop what is done meanwhile if this plan is cancelled."""
        self.was_cancelled, self._file = False, file
        try:
            yield
        finally:
            self._file = None

    def _terminate(self, _number: int, _frame: object) -> None:
        self._terminated = True
        os.kill(os.getpid(), signal.SIGINT)

    def _look(self) -> None:
        while not self._ended.wait(LOOK_AROUND):
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.time_is_up = True
            elif self._file is not None and self._file.is_cancelled:
                self.was_cancelled, self._file = True, None
            else:
                continue
            os.kill(os.getpid(), signal.SIGINT)
            if self.time_is_up:
                return
