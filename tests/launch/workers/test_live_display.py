"""What the terminal shows while runs are executed."""

import asyncio
import re
from io import StringIO
from pathlib import Path

from mlagentbench.environment.budget import Budget
from mlagentbench.launch.workers.live_display import LiveProgress
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.machine.gpus import Gpu
from mlagentbench.machine.ledger import Need, Slot
from mlagentbench.machine.slots import take_slot
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


def test_what_a_run_waits_for_is_shown_and_elsewhere_printed_once() -> None:
    run = RunDirectory(Path("/out"), Path("runs/numbers/mini/slow-0a0a0a0a/none/1"))
    for force_terminal, printed in ((True, 0), (False, 1)):
        terminal = StringIO()
        console = Terminal(file=terminal, force_terminal=force_terminal, width=120)
        live = LiveProgress(console, total=1)
        live.begin(run, Budget(BudgetLimits(steps=9, time=60)))
        for before in (3, 2):
            live.tell(run, f"waiting for timed grading: {before} before it")
        assert live.views[run.path].doing == "waiting for timed grading: 2 before it"
        said = "numbers (mini): slow, run 1: waiting for timed grading: 3 before it"
        assert terminal.getvalue().count(said) == printed
        assert "2 before it" not in terminal.getvalue()


def test_cores_waiting_runs_and_slots_in_use_are_shown() -> None:
    running, waiting = (
        RunDirectory(Path("/out"), Path(f"runs/numbers/mini/slow-0a0a0a0a/none/{epoch}"))
        for epoch in (1, 2)
    )
    gpu = Gpu(uuid="GPU-1", minor=3, name="A100")
    terminal = StringIO()
    live = LiveProgress(Terminal(file=terminal, force_terminal=True, width=160), total=2)
    need = Need(cpus=1, memory=10**9)
    with asyncio.run(take_slot(need, "numbers")), live:
        slot = Slot(cpus=(0, 1, 2, 5), memory=10**9, gpus=(gpu,))
        live.begin(running, Budget(BudgetLimits(steps=9)), slot)
        live.wait(waiting, "waiting for a slot of 1 core, 1 GB: held by numbers")
    shown = terminal.getvalue()
    assert "0-2,5, GPU 3" in shown
    assert "run 2: waiting for a slot of 1 core, 1 GB: held by numbers" in shown
    assert re.search(r"1 of \d+ cores?, 1 of [\d.]+ GB in slots, 0 waiting", shown)
    live.begin(waiting, Budget(BudgetLimits(steps=9)), slot)
    assert not live.waiting
