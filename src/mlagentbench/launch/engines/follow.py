"""What a command shows of runs that workers elsewhere execute: their directories tell it."""

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rich.live import Live
from rich.table import Table

from mlagentbench.launch.plans.plan import RunRequest, plan_files
from mlagentbench.launch.plans.plan_state import PlannedRun, RunState, planned_runs
from mlagentbench.launch.plans.state_table import running_table
from mlagentbench.launch.run_one import grade_text
from mlagentbench.runs.results import read_run
from mlagentbench.terminal import Terminal

PAUSE = 1.0
"""Seconds between two looks at the runs."""
SCHEDULER_PAUSE = 5.0
"""Seconds between two questions to a scheduler, which many people ask."""
SHARE = 0.1
"""The most of the time that looking may take."""

Working = Callable[[], bool]
"""Whether a scheduler still has workers for these runs."""


def follow(
    out: Path, requests: Sequence[RunRequest], working: Working, console: Terminal
) -> Collection[str]:
    """Show these runs until all are over or nothing works on them; returns what is left."""
    return _Following(out, requests, console).until_over(working)


class _Following:
    def __init__(self, out: Path, requests: Sequence[RunRequest], console: Terminal) -> None:
        asked = {request.run for request in requests}
        runs = planned_runs(plan_files(out))
        self._left = {run.run: run for run in runs if run.run in asked}
        self._total = len(self._left)
        self._console = console
        self._states: list[RunState] = []
        self._live = Live(
            console=console, get_renderable=self._table, transient=True, redirect_stdout=False
        )

    def until_over(self, working: Working) -> Collection[str]:
        asked, is_working = time.monotonic(), True
        if self._console.is_terminal:
            self._live.start()
        try:
            while self._left:
                looked = time.monotonic()
                self._look()
                if self._left and not is_working:
                    break
                took = time.monotonic() - looked
                time.sleep(max(PAUSE, took / SHARE) if self._left else 0)
                if self._left and time.monotonic() - asked > SCHEDULER_PAUSE:
                    # Runs are looked at once more after the last worker has ended.
                    asked, is_working = time.monotonic(), working()
        finally:
            self._live.stop()
        return self._left.keys()

    def _look(self) -> None:
        self._states = [run.state() for run in self._left.values()]
        for state in self._states:
            if not state.is_open:
                run = self._left.pop(state.run)
                count = f"[{self._total - len(self._left)}/{self._total}]"
                self._console.print(
                    f"{count} {run.directory.shown_name}: {_result(run, state)}", soft_wrap=True
                )

    def _table(self) -> Table:
        running = [one for one in self._states if one.state == "running"]
        table = running_table(running)
        table.caption = f"running {len(running):,}, waiting {len(self._left) - len(running):,}"
        return table


def _result(run: PlannedRun, state: RunState) -> str:
    if state.state != "done":
        return f"{state.state}: {state.cause}" if state.cause else state.state
    grade = read_run(run.directory).grade
    return "no grade" if grade is None else grade_text(grade)
