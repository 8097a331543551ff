"""What engines of clusters have in common: they start workers elsewhere, and follow their runs.

The workers need nothing of this process. It can end, and the same command follows them again.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path

from mlagentbench.launch.engines.engine import EngineOptions
from mlagentbench.launch.engines.follow import follow
from mlagentbench.launch.engines.started import JOBS, need_of_worker, workers_for
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.machine.ledger import Need
from mlagentbench.numeric.number_format import counted

MOST_WORKERS = 1000
"""Also what Slurm's default MaxArraySize allows."""


class ClusterEngine(ABC):
    """Starts as many workers as are missing, until all runs are over or nothing is left to try."""

    def __init__(self, options: EngineOptions) -> None:
        self._out = options.out
        self._jobs = options.jobs
        self._console = options.console
        self._choice = options.choice

    def execute(self, requests: Sequence[RunRequest]) -> None:
        if not requests:
            return
        try:
            self._execute(requests)
        except KeyboardInterrupt:
            self._console.print("stopping the workers; Ctrl-C again leaves them to the cluster")
            self.cancel()
            raise

    @abstractmethod
    def cancel(self) -> None:
        """Stop all workers of OUT: first cleanly, then by the cluster."""

    @abstractmethod
    def _live_workers(self, need: Need) -> int:
        """How many workers the cluster has that can take these runs, and say that there are."""

    @abstractmethod
    def _start(self, requests: Sequence[RunRequest], need: Need, count: int) -> None:
        """Start so many workers, and say so."""

    @abstractmethod
    def _is_working(self) -> bool:
        """Whether the cluster still has workers for these runs."""

    @property
    def _folder(self) -> Path:
        """Where the workers' logs are."""
        return self._out / JOBS / self._choice.name

    def _execute(self, requests: Sequence[RunRequest]) -> None:
        need = need_of_worker(requests)
        wanted = workers_for(requests, self._jobs, MOST_WORKERS)
        if (missing := wanted - self._live_workers(need)) > 0:
            self._start(requests, need, missing)
        left = self._follow(requests)
        if left and missing <= 0:  # what was there has ended, perhaps before it saw these runs
            rest = [request for request in requests if request.run in left]
            self._start(rest, need_of_worker(rest), workers_for(rest, self._jobs, MOST_WORKERS))
            left = self._follow(rest)
        if left:
            self._console.print(
                f"the workers on {self._choice.name} have ended, and {counted(len(left), 'run')} "
                f"did not; their logs are in {self._folder}; to resume, run the same command again",
                soft_wrap=True,
            )

    def _follow(self, requests: Sequence[RunRequest]) -> Collection[str]:
        """Show the runs until the workers have ended; returns what is left."""
        return follow(self._out, requests, self._is_working, self._console)
