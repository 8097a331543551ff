"""What the terminal shows while runs are executed."""

from io import StringIO
from pathlib import Path

from mlagentbench.environment.budget import Budget
from mlagentbench.launch.live_display import LiveProgress
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.terminal import Terminal


def test_runs_of_one_name_are_told_apart() -> None:
    """An agent with two settings has two runs of the same shown name."""
    first, second = (
        RunDirectory(Path("/out"), Path(f"runs/numbers/mini/slow-{settings}/none/1"))
        for settings in ("0a0a0a0a", "1b1b1b1b")
    )
    terminal = StringIO()
    live = LiveProgress(Terminal(file=terminal, force_terminal=True, width=120), total=2)
    for run in (first, second):
        live.begin(run, Budget(BudgetLimits(steps=9, time=60)))
    live.show(first, "grading")
    live.end(first, "4.0, success")
    with live:
        pass
    shown = terminal.getvalue()
    assert "[1/2] numbers (mini): slow, run 1: 4.0, success" in shown
    assert shown.count("9 steps, 1 min 0 s") == 1
    assert "starting" in shown and "grading" not in shown
