"""Run requests in this process: one Inspect evaluation of all of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from mlagentbench.inspect_startup import load_clients, load_only_what_is_used
from mlagentbench.launch.plans.plan import PlanFile, RunRequest
from mlagentbench.launch.workers.batch import Batch
from mlagentbench.launch.workers.live_display import LiveProgress
from mlagentbench.machine.slots import most_at_once
from mlagentbench.models.model_check import explain_prerequisites, let_have_prices
from mlagentbench.runs.lease import LeaseWatch
from mlagentbench.terminal import Terminal

if TYPE_CHECKING:
    import inspect_ai
    from inspect_ai.model import ModelCost


class Evaluation:
    """Executes batches of requests, one after the other."""

    def __init__(
        self,
        out: Path,
        jobs: int | None,
        console: Terminal,
        watch: LeaseWatch,
        worker: str = "",
    ) -> None:
        self._out = out
        self._jobs = jobs
        self._console = console
        self._watch = watch
        self._worker = worker

    def run(
        self, requests: Sequence[RunRequest], plan: PlanFile, is_stopping: Callable[[], bool]
    ) -> frozenset[str]:
        """Execute a batch; returns which of its runs were left to others.

        Raises KeyboardInterrupt when it was stopped.
        """
        load_only_what_is_used()
        if any(request.agent.may_call_clients for request in requests):
            load_clients()
        from inspect_ai import eval

        live = LiveProgress(self._console, total=None if self._worker else len(requests))
        batch = Batch(
            self._out,
            {request.run: request for request in requests},
            live,
            plan=plan,
            is_stopping=is_stopping,
            watch=self._watch,
            worker=self._worker,
        )
        tasks = list(_inspect_tasks(requests))
        jobs = self._jobs or most_at_once(request.need() for request in requests)
        # Inspect prints messages about its log directory, which are not useful here.
        quiet = redirect_stdout(StringIO())
        with batch.executing(), live, quiet, explain_prerequisites("Inspect"):
            logs = eval(
                tasks,
                log_dir=str(self._out / "logs"),
                model=None,
                model_cost_config=_prices(requests),
                max_tasks=jobs,
                max_samples=jobs,
                max_sandboxes=jobs,
                display="none",
                log_level="error",
                score_display=False,
                # It would take the signals by which a worker is stopped.
                ctl_server=False,
            )
        # When interrupted, Inspect returns no logs, or those of the finished tasks.
        if len(logs) < len(tasks) or any(log.status == "cancelled" for log in logs):
            raise KeyboardInterrupt
        return frozenset(batch.left_alone.values())


def _inspect_tasks(requests: Sequence[RunRequest]) -> "Iterator[inspect_ai.Task]":
    """An Inspect task for each cell: the requests that differ only in their run."""
    cells: dict[str, list[RunRequest]] = {}
    for request in requests:
        cell = request.model_dump_json(exclude={"run", "epoch", "resumes"})
        cells.setdefault(cell, []).append(request)
    yield from map(_inspect_task, cells.values())


def _inspect_task(requests: Sequence[RunRequest]) -> "inspect_ai.Task":
    from inspect_ai import task_with

    from mlagentbench.launch.inspect_task import registered_task, samples_of

    request = requests[0]
    task = registered_task(request.task, request.settings)
    config = task.config
    if request.max_retries is not None:
        config = config.model_copy(update={"max_retries": request.max_retries})
    return task_with(
        task,
        dataset=samples_of(requests),
        solver=request.agent.info.solver(**request.agent.settings),
        model=request.model.bound(),
        model_roles={role: choice.bound() for role, choice in request.roles.items()},
        config=config,
    )


def _prices(requests: Sequence[RunRequest]) -> "dict[str, ModelCost] | None":
    from inspect_ai.model import ModelCost

    prices = {
        name: ModelCost.model_validate(cost)
        for request in requests
        for name, cost in request.prices.items()
    }
    let_have_prices(prices)
    return prices or None
