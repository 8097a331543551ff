"""The live display: running runs with their cores, waiting runs, and the slots in use."""

import math
import sys
import time
from pathlib import Path
from typing import Self

import anyio
from rich.console import RenderableType
from rich.live import Live
from rich.table import Table

from mlagentbench.environment.budget import Budget
from mlagentbench.machine.ledger import Slot
from mlagentbench.machine.slots import pool_use
from mlagentbench.numeric.number_format import counted
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.terminal import Terminal, stacked, text_block, text_line

LOOK_PERIOD = 1.0
"""Seconds between two looks at the slots in use."""
MOST_WAITING = 5
"""Waiting runs that are shown one by one."""


class LiveRun:
    """One run in the display."""

    def __init__(self, name: str, budget: Budget, slot: Slot | None) -> None:
        self.name = name
        self.budget = budget
        self.cores = "all" if slot is None else cores_text(slot)
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
        self.waiting: dict[Path, str] = {}
        """The runs that wait for a slot, by their directories, and what they wait for."""
        self._told: dict[Path, set[str]] = {}
        self._use = ""
        self._looked = math.inf
        """When the slots in use were last looked at; never, where nothing is shown."""
        self._live = Live(
            console=console,
            get_renderable=self._shown,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._looked = -math.inf
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def begin(self, run: RunDirectory, budget: Budget, slot: Slot | None = None) -> None:
        """Add a run, which holds this slot."""
        self.waiting.pop(run.path, None)
        self.views[run.path] = LiveRun(run.shown_name, budget, slot)

    def wait(self, run: RunDirectory, text: str) -> None:
        """Show that a run waits for its slot, and for whom."""
        self.waiting[run.path] = f"{run.shown_name}: {text}"
        self.tell(run, text)

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
        self.leave(run)
        self.done += 1
        count = "" if self.total is None else f"[{self.done}/{self.total}] "
        self.say(f"{count}{run.shown_name}: {result}")

    def leave(self, run: RunDirectory) -> None:
        """Remove a run without a word."""
        self.views.pop(run.path, None)
        self.waiting.pop(run.path, None)

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

    def _shown(self) -> RenderableType:
        """The table of running runs, the runs that wait, and how much of the machine is in use."""
        waiting = [text_line(text, "dim") for text in tuple(self.waiting.values())[:MOST_WAITING]]
        more = len(self.waiting) - len(waiting)
        if more > 0:
            waiting.append(text_line(f"{counted(more, 'more run')} waiting for a slot", "dim"))
        return stacked(self._table(), *waiting, text_line(self._slots_in_use(), "dim"))

    def _slots_in_use(self) -> str:
        """What of the machine is in slots, of all processes; looked at once a second."""
        now = time.monotonic()
        if now - self._looked >= LOOK_PERIOD:
            self._looked = now
            use = pool_use()
            self._use = self._use if use is None else str(use)
        return self._use

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim", show_header=bool(self.views))
        for heading in ("run", "cores", "step", "elapsed", "left", "now"):
            table.add_column(heading, no_wrap=heading != "run")
        for view in self.views.values():
            steps = str(view.budget.usage.steps)
            elapsed = _clock(time.monotonic() - view.started)
            table.add_row(view.name, view.cores, steps, elapsed, _left(view.budget), view.doing)
        return table


def cores_text(slot: Slot) -> str:
    """The cores and GPUs of a slot, such as "0-3,6" or "0-1, GPU 0"."""
    parts: list[str] = []
    for core in slot.cpus:
        first, _, last = parts[-1].partition("-") if parts else ("", "", "")
        if first and int(last or first) == core - 1:
            parts[-1] = f"{first}-{core}"
        else:
            parts.append(str(core))
    gpus = ",".join(str(gpu.minor) for gpu in slot.gpus)
    return ",".join(parts) + (f", GPU {gpus}" if gpus else "")


def _left(budget: Budget) -> str:
    left = budget.remaining().items()
    return ", ".join(limit.text(amount) for limit, amount in left) or "no limit"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
