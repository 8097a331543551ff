"""The live display of running runs: run, step, elapsed time and budget left."""

import sys
import time
from pathlib import Path
from typing import Self

import anyio
from rich.live import Live
from rich.table import Table

from mlagentbench.environment.budget import Budget
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.terminal import Terminal, text_block


class LiveRun:
    """One run in the display."""

    def __init__(self, name: str, budget: Budget) -> None:
        self.name = name
        self.budget = budget
        self.doing = "starting"
        self.started = time.monotonic()


class LiveProgress:
    """A table of the running runs on a terminal; elsewhere a line when a run ends."""

    def __init__(self, console: Terminal, total: int | None) -> None:
        """`total` is None where others work on the same runs, so that no number is known."""
        self.console = console
        self.total = total
        self.done = 0
        self.views: dict[Path, LiveRun] = {}
        """The running runs, by their directories: names may be the same."""
        self._told: dict[Path, set[str]] = {}
        self._live = Live(
            console=console,
            get_renderable=self._table,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def begin(self, run: RunDirectory, budget: Budget) -> None:
        """Add a run."""
        self.views[run.path] = LiveRun(run.shown_name, budget)

    def show(self, run: RunDirectory, doing: str) -> None:
        """Show what a run is doing."""
        if run.path in self.views:
            self.views[run.path].doing = doing

    def tell(self, run: RunDirectory, waiting: str) -> None:
        """Show what a run waits for, such as "REASON: 3 before it"; elsewhere than on a terminal,
        print it once for each reason."""
        self.show(run, waiting)
        told = self._told.setdefault(run.path, set())
        reason = waiting.partition(":")[0]
        if not self.console.is_terminal and reason not in told:
            self.say(f"{run.shown_name}: {waiting}")
        told.add(reason)

    def end(self, run: RunDirectory, result: str) -> None:
        """Remove a run and print its result."""
        self.views.pop(run.path, None)
        self.done += 1
        count = "" if self.total is None else f"[{self.done}/{self.total}] "
        self.say(f"{count}{run.shown_name}: {result}")

    async def ask_person(self, request: str) -> str:
        """Ask the person at the terminal, instead of the table; "" without an answer."""
        self._live.stop()
        try:
            name = ", ".join(view.name for view in self.views.values())
            self.say(f"{name} asks for help:")
            self.console.print()
            self.console.print(text_block(request.strip()), soft_wrap=True)
            self.console.print()
            self.say("Your answer, in one line (none: Enter or Ctrl-D):")
            await anyio.wait_readable(sys.stdin)
            return sys.stdin.readline().strip()
        finally:
            self._live.start()

    def say(self, text: str) -> None:
        """Print something above the table."""
        self.console.print(text, soft_wrap=True)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim", show_header=bool(self.views))
        for heading in ("run", "step", "elapsed", "left", "now"):
            table.add_column(heading, no_wrap=heading != "run")
        for view in self.views.values():
            steps = str(view.budget.usage.steps)
            elapsed = _clock(time.monotonic() - view.started)
            table.add_row(view.name, steps, elapsed, _left(view.budget), view.doing)
        return table


def _left(budget: Budget) -> str:
    left = budget.remaining().items()
    return ", ".join(limit.text(amount) for limit, amount in left) or "no limit"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
