"""Run cells on this machine, in this process: one Inspect evaluation of all of them."""

from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mlagentbench.inspect_startup import load_only_what_is_used
from mlagentbench.launch.live_display import LiveProgress
from mlagentbench.launch.request import Cell, ReadyTasks, SuiteRequest, prices_of, role_choices
from mlagentbench.models.model_check import explain_prerequisites
from mlagentbench.models.model_choice import choose, who_answers
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_lines
from mlagentbench.tasks.make_ready import Ready

if TYPE_CHECKING:
    import inspect_ai
    from inspect_ai.model import ModelCost


def evaluate(
    requests: Sequence[SuiteRequest], ready: Sequence[ReadyTasks], console: Console
) -> bool:
    """Run all cells with Inspect; True when the user interrupted it.

    Several requests differ only in their cells, settings and roles.
    """
    from inspect_ai import eval_set

    load_only_what_is_used()
    request = requests[0]
    tasks = [
        _inspect_task(cell, one, ready_tasks[cell.python_needs])
        for one, ready_tasks in zip(requests, ready, strict=True)
        for cell in one.cells
    ]
    # Inspect prints messages about its log directory, which are not useful here.
    live = LiveProgress(console, total=len(tasks) * request.runs)
    with live, redirect_stdout(StringIO()), explain_prerequisites("Inspect"):
        _, logs = eval_set(
            tasks,
            log_dir=str(request.out / "logs"),
            log_dir_allow_dirty=True,
            retry_attempts=0,
            retry_immediate=False,
            model=None,
            model_cost_config=_all_prices(requests),
            epochs=request.runs,
            max_tasks=request.jobs,
            max_samples=request.jobs,
            max_sandboxes=request.jobs,
            display="none",
            log_level="error",
            score_display=False,
            max_retries=request.max_retries,
            ctl_server=False,
        )
    # When interrupted, Inspect returns no logs, or those of the finished tasks.
    return len(logs) < len(tasks) or any(log.status == "cancelled" for log in logs)


def _inspect_task(cell: Cell, request: SuiteRequest, ready: Ready) -> "inspect_ai.Task":
    from inspect_ai import task_with

    from mlagentbench.launch.inspect_task import registered_task

    task = registered_task(cell.task, request.settings)
    solver = cell.info.solver(**cell.agent.settings)
    model, roles = choose(cell.model, request.model_arguments), role_choices(request, cell)
    recording = who_answers(model, roles).recording
    parts = (task.version, ready.data.hash[:8], recording and recording[:8], _last_line(request))
    return task_with(
        task,
        solver=solver,
        model=model.bound(),
        model_roles={role: choice.bound() for role, choice in roles.items()},
        # Inspect skips what has a finished log of this version.
        version="+".join(str(part) for part in parts if part is not None),
    )


def _last_line(request: SuiteRequest) -> float | None:
    """The time of a resumed run's last journal line; the journal alone decides if it has ended."""
    if request.settings.continues is None:
        return None
    journal = RunDirectory(request.out, Path(request.settings.continues)).journal
    lines = read_lines(journal) if journal.exists() else []
    return max((line.at for line in lines), default=None)


def _all_prices(requests: Sequence[SuiteRequest]) -> "dict[str, ModelCost] | None":
    prices: dict[str, ModelCost] = {}
    for request in requests:
        prices |= prices_of(request) or {}
    return prices or None
