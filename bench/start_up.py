"""What it takes to start: a run until its first step, and commands that only list something."""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measurements import Measurement, as_text, half_range, interleaved, ratio
from whole_runs import EMPTY_EVAL, MLAGENTBENCH, TASK, run_agent

LISTING_SECONDS = 1.0
ROUNDS = 5


def start_of_a_run() -> Measurement:
    """From the command to the end of its first step, against an empty `eval()` of Inspect."""
    until_first_step, empty_evals = [], []
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        clock = here / "clock"
        for number in range(ROUNDS):
            started = time.time()
            run_agent(f"notes_the_first_step(clock={clock})", here / str(number), 2, task=TASK)
            until_first_step.append(float(clock.read_text()) - started)
            started = time.time()
            subprocess.run([sys.executable, "-c", EMPTY_EVAL], cwd=here, check=True)
            empty_evals.append(time.time() - started)
    return ratio(
        "from `run` to its first step / an empty eval()", until_first_step, empty_evals, target=1.5
    )


def command_line() -> list[Measurement]:
    """`--help` in seconds, and in CPU seconds what lists agents and tasks."""
    ours, bare = interleaved(
        lambda: _run(MLAGENTBENCH, "--help"), lambda: _run(sys.executable, "-c", "pass"), rounds=10
    )
    seconds, empty = statistics.median(ours), statistics.median(bare)
    return [
        Measurement(
            what="mlagentbench --help",
            value=seconds,
            target=0.5,
            unit="s",
            from_what=f"{seconds / empty:.0f} x an empty Python process of {as_text(empty)}",
        ),
        _listing("agents"),
        _listing("tasks"),
    ]


def _listing(group: str) -> Measurement:
    taken = []
    for _ in range(ROUNDS):
        before = _cpu_seconds()
        _run(MLAGENTBENCH, group, "list")
        taken.append(_cpu_seconds() - before)
    return Measurement(
        what=f"mlagentbench {group} list, CPU time",
        value=statistics.median(taken),
        spread=half_range(taken),
        target=LISTING_SECONDS,
        unit="s",
        from_what=f"the median of {ROUNDS}",
    )


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
