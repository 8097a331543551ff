"""`mlagentbench jobs cancel`: stop all workers of an OUT, wherever they are."""

import time
from collections.abc import Callable
from pathlib import Path

from mlagentbench.launch.plans.plan import plan_files
from mlagentbench.launch.plans.plan_state import PlanState, plan_state
from mlagentbench.numeric.number_format import counted

PATIENCE = 60.0
"""Seconds in which workers notice, stop their runs and let go of them."""
PAUSE = 0.5

Say = Callable[[str], None]


def cancel_plans(out: Path, say: Say) -> PlanState:
    """Cancel all plans that are not over, and wait until no run is being worked on."""
    state = plan_state(out)
    left = {one.plan for one in state.runs if one.is_open}
    for file in plan_files(out):
        if file.hash in left:
            file.cancel()
    if not left:
        say("nothing to cancel: all planned runs have ended")
        return state
    deadline, told = time.monotonic() + PATIENCE, 0
    while (running := state.of("running")) and time.monotonic() < deadline:
        if len(running) != told:
            told = len(running)
            say(f"waiting for {counted(told, 'run')} to stop")
        time.sleep(PAUSE)
        state = plan_state(out)
    for one in running:
        say(f"{one.run}: still held by {one.where}; it stops when that process looks again")
    say(
        f"cancelled: {counted(len(state.of('cancelled')), 'run')}; to resume, run the command that "
        "planned them again"
    )
    return state
