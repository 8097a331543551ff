"""What `mlagentbench jobs status` prints."""

import time
from collections.abc import Iterator
from pathlib import Path

from rich.live import Live
from rich.table import Table
from rich.text import Text

from mlagentbench.launch.plans.plan_state import STATES, PlanState, RunState, plan_state
from mlagentbench.launch.plans.state_table import SHOWN, running_table
from mlagentbench.numeric.number_format import counted
from mlagentbench.terminal import Terminal, stacked, text_line

PAUSE = 2.0
"""Seconds between two looks."""


def print_state(state: PlanState, console: Terminal) -> None:
    """Print the counts, the running runs, and why others failed."""
    for part in _parts(state):
        console.print(part, soft_wrap=True)


def watch_state(out: Path, console: Terminal) -> PlanState:
    """Show the state until all runs have ended; returns the last one."""
    state = plan_state(out)
    with Live(stacked(*_parts(state)), console=console, auto_refresh=False) as live:
        while not state.is_over:
            time.sleep(PAUSE)
            state = plan_state(out)
            live.update(stacked(*_parts(state)), refresh=True)
    return state


def _parts(state: PlanState) -> Iterator[Text | Table]:
    counts = state.counts
    shown = [f"{name} {counts[name]:,}" for name in STATES if counts[name] or name != "cancelled"]
    yield text_line(f"{counted(len(state.runs), 'run')}: {', '.join(shown)}")
    for reason in state.hindered:
        yield text_line(reason, "yellow")
    if running := state.of("running"):
        yield running_table(running)
        yield from _more(running)
    for one in (failed := state.of("failed"))[:SHOWN]:
        yield text_line(f"{one.run}: {one.cause}", "red")
    yield from _more(failed)


def _more(runs: list[RunState]) -> Iterator[Text]:
    if len(runs) > SHOWN:
        yield text_line(f"and {len(runs) - SHOWN:,} more (--json lists all)")
