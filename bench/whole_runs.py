"""Whole runs by the command line: what the harness adds to one, and sixteen of them at once."""

import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import psutil
from many_slots import slots_for
from measurements import Measurement, as_text, half_range, interleaved

from mlagentbench.runs.results import collect
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import load_task

MLAGENTBENCH = str(Path(sys.prefix) / "bin" / "mlagentbench")
AGENTS = Path(__file__).with_name("bench_agents.py")
TASK = "house-price"
STEPS = 50
SIDE_BY_SIDE = 16
NAPS = 20
EMPTY_EVAL = """
from inspect_ai import Task, eval
from inspect_ai.solver import solver

@solver
def nothing():
    async def solve(state, generate):
        return state
    return solve

[log] = eval(Task(solver=nothing()), model="mockllm/model", display="none")
assert log.status == "success"
"""


def run_agent(
    agent: str, out: Path, steps: int, *options: str, task: str = "vectorization"
) -> None:
    """`mlagentbench run` of one of our agents; RuntimeError unless all went well."""
    command = [MLAGENTBENCH, "run", "--tasks", task, "--agents", f"{AGENTS}:{agent}"]
    limits = ["--max-steps", str(steps), "--out", str(out), "--json"]
    ended = subprocess.run([*command, *limits, *options], capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: {ended.stdout}{ended.stderr}")


def whole_run() -> Measurement:
    """From the process's start to the grade, against its scripts and an empty `eval()`."""
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        outs = (here / f"out-{number}" for number in range(100))

        def ours() -> None:
            out = next(outs)
            agent = f"asks_and_says_hi(steps={STEPS - 1})"
            run_agent(agent, out, STEPS, "--models", "mlagentbench/reader", task=TASK)
            [result] = collect(out)
            if result.grade is None or not result.grade.valid:
                raise RuntimeError(f"the run has no grade: {result}")

        ours()
        [work] = here.glob("out-0/runs/**/work")
        task = load_task(TASK)
        ready = ensure_ready(task, "mini", call=call_task)
        for folder in (work, ready.data.public):
            shutil.copytree(folder, here / "work", dirs_exist_ok=True)
        starter = shlex.split(task.spec.commands.starter)[1:]

        def scripts() -> None:
            for script in (starter, *[["hi.py"]] * (STEPS - 3)):
                subprocess.run(
                    [ready.python_env.python, "-u", *script],
                    cwd=here / "work", check=True, capture_output=True,
                )  # fmt: skip

        def empty_eval() -> None:
            subprocess.run([sys.executable, "-c", EMPTY_EVAL], cwd=here, check=True)

        times = interleaved(ours, scripts, empty_eval, rounds=5)
    added = [run - scripts - empty for run, scripts, empty in zip(*times, strict=True)]
    whole, bare, empty = map(statistics.median, times)
    return Measurement(
        what=f"whole run of {STEPS} steps - scripts - an empty eval()",
        value=statistics.median(added),
        spread=half_range(added),
        target=3.0,
        unit="s",
        from_what=f"{as_text(whole)} - {as_text(bare)} - {as_text(empty)}",
    )


def side_by_side() -> list[Measurement]:
    """Sixteen runs of sleeping scripts at once, against one after the other; and their memory."""
    with tempfile.TemporaryDirectory() as directory:
        seconds = {}
        memory = HarnessMemory()
        for jobs in (SIDE_BY_SIDE, 1):
            options = ["--runs", str(SIDE_BY_SIDE), "--jobs", str(jobs)]
            started = time.perf_counter()
            with slots_for(SIDE_BY_SIDE), memory if jobs > 1 else nullcontext():
                run_agent(f"sleeps(steps={NAPS - 1}, seconds=1)", Path(directory, str(jobs)), NAPS,
                          *options, task=TASK)  # fmt: skip
            seconds[jobs] = time.perf_counter() - started
    together, in_turn = seconds[SIDE_BY_SIDE], seconds[1]
    return [
        Measurement(
            what=f"{SIDE_BY_SIDE} runs of {NAPS} steps in turn / side by side",
            value=in_turn / together,
            target=8.0,
            sense="at least",
            from_what=f"{as_text(in_turn)} / {as_text(together)}",
        ),
        Measurement(
            what=f"memory of the harness, {SIDE_BY_SIDE} runs side by side",
            value=memory.peak_mb,
            target=600.0,
            unit="MB",
            from_what=f"all {memory.processes} processes but the agents' own, shared pages once",
        ),
    ]


class HarnessMemory:
    """Watches what all processes below this one take, but for those that agents' scripts are."""

    EVERY = 0.5

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self.processes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self.EVERY):
            taken = []
            for process in psutil.Process().children(recursive=True):
                try:
                    if "nap.py" not in " ".join(process.cmdline()[-1:]):
                        taken.append(process.memory_full_info().pss / 1e6)
                except psutil.Error:
                    continue
            if sum(taken) > self.peak_mb:
                self.peak_mb, self.processes = sum(taken), len(taken)
