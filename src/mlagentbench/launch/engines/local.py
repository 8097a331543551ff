"""Run requests on this machine, in this process: a worker for the runs of one command."""

from collections.abc import Sequence

from mlagentbench.launch.engines.engine import EngineOptions
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.launch.workers.worker import Worker, WorkerOptions


class LocalEngine:
    """This machine, this process, `jobs` runs at a time."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options

    def execute(self, requests: Sequence[RunRequest]) -> None:
        if requests:
            options = WorkerOptions(jobs=self._options.jobs, wait=False)
            only = [request.run for request in requests]
            Worker(self._options.out, options, self._options.console, only).work()

    def cancel(self) -> None:
        """Nothing is left to stop: its worker is this process, which sees a cancelled plan."""
