"""The runs that are being executed in this process, and what they share.

An engine sets its batch before it calls Inspect; every sample's code then finds it. Where Inspect
was started by its own command there is no engine, and the samples share a batch without requests.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from mlagentbench.environment.run_context import RunContext
from mlagentbench.environment.run_slot import RunSlots
from mlagentbench.launch.plans.plan import PlanFile, RunRequest
from mlagentbench.launch.workers.live_display import LiveProgress
from mlagentbench.models.sharing.shared_calls import RunShare
from mlagentbench.runs.lease import LeaseWatch


class Batch:
    """Requests by their id, the --out of their runs, and the display that shows them."""

    def __init__(
        self,
        out: Path | None = None,
        requests: Mapping[str, RunRequest] | None = None,
        live: LiveProgress | None = None,
        *,
        plan: PlanFile | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
        watch: LeaseWatch | None = None,
        worker: str = "",
    ) -> None:
        self.out = out
        self.requests = requests or {}
        self.live = live
        self.plan = plan
        """The plan that asks for these runs."""
        self.is_stopping = is_stopping
        """Whether no further run is to begin."""
        self.watch = watch
        """What is known of the leases of others; None if each has to be watched."""
        self.worker = worker
        """Where an engine runs this process, for the journals; empty for a person's command."""
        self.open: dict[str, RunContext] = {}
        """The runs in progress, by their sample's uuid."""
        self.slots = RunSlots()
        """What the runs in progress hold of this machine."""
        self.shares: dict[str, RunShare | None] = {}
        """What the samples share with the other runs of their plan, by their uuid."""
        self.left_alone: dict[str, str] = {}
        """The runs that other processes work on, or have finished, by their samples' uuids."""

    @contextmanager
    def executing(self) -> Iterator[None]:
        """Make this the batch of all samples that start meanwhile."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)
            self.slots.release_all()

    @contextmanager
    def slot_if_opened(self, sample: str) -> Iterator[None]:
        """Give a sample's slot back unless its run is open afterwards."""
        try:
            yield
        finally:
            if sample not in self.open:
                self.slots.release(sample)


_CURRENT: ContextVar[Batch] = ContextVar("mlagentbench_batch", default=Batch())  # noqa: B039


def current_batch() -> Batch:
    """The batch that the running sample belongs to."""
    return _CURRENT.get()
