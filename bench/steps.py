"""What a step costs: a script run by the Environment, and by Inspect's tool calls, against bare."""

import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import parsing
import replies  # of tests/support, which parsing makes importable
from bench_agents import HI, RUN_HI
from many_slots import slots_for
from measurements import Measurement, half_range, interleaved, ratio
from whole_runs import run_agent

from mlagentbench.environment.environment import Environment
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Action, MachineCode
from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox

MILLION = 1_000_000
MANY = 1_000
ROUNDS = 5
WINDOW = 30
"""So many steps around one stand for it."""
REPLY = replies.sound_reply(parsing.KILOBYTES)


def sandbox_start(python_env: Path) -> Measurement:
    """Starting and stopping a sandbox, against starting an empty Python process."""
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        spec = SandboxSpec(workspace=Path(directory), python_env=python_env)

        async def start_and_stop() -> None:
            async with BubblewrapSandbox(spec):
                pass

        def bare() -> None:
            subprocess.run([python_env / "bin" / "python", "-c", "pass"], check=True)

        ours, alone = interleaved(lambda: runner.run(start_and_stop()), bare, rounds=15)
    return ratio("sandbox start and stop / python -c pass", ours, alone, target=None)


def restricted_start(python_env: Path) -> Measurement:
    """Starting a sandbox in which only installed machine code runs, against one with any."""
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:

        async def start_and_stop(machine_code: MachineCode) -> None:
            spec = SandboxSpec(
                workspace=Path(directory), python_env=python_env, machine_code=machine_code
            )
            async with BubblewrapSandbox(spec):
                pass

        restricted, usual = interleaved(
            lambda: runner.run(start_and_stop("installed")),
            lambda: runner.run(start_and_stop("any")),
            rounds=15,
        )
    what = "start and stop of a sandbox, installed machine code only / any"
    return ratio(what, restricted, usual, target=None)


def step(python_env: Path, files: int, size: int, target: float) -> Measurement:
    """A whole step, journalled and snapshotted, against the same script run bare."""
    with open_environment() as (environment, execute):
        fill(environment.run.work / "ballast", files, size)
        execute(HI)
        execute(RUN_HI)
        command: list[str | Path] = [
            python_env / "bin" / "python",
            "-u",
            environment.run.work / "hi.py",
        ]
        ours, bare = interleaved(
            lambda: execute(RUN_HI),
            lambda: subprocess.run(command, check=True, capture_output=True),
            rounds=50,
        )
    megabytes = files * size // MILLION
    return ratio(
        f"step, {megabytes} MB in {files:,} file{'s'[: files - 1]} / bare",
        ours,
        bare,
        target=target,
    )


def starting_together(runs: int) -> Measurement:
    """Opening many runs at the same time, for each of them, against opening one alone."""

    async def open_runs(number: int) -> float:
        async with AsyncExitStack() as stack:
            outs = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(number)]
            started = time.perf_counter()
            await asyncio.gather(
                *(
                    stack.enter_async_context(Environment.open("vectorization", out=Path(out)))
                    for out in outs
                )
            )
            return (time.perf_counter() - started) / number

    with slots_for(runs), asyncio.Runner() as runner:
        runner.run(open_runs(1))
        pairs = [(runner.run(open_runs(runs)), runner.run(open_runs(1))) for _ in range(ROUNDS)]
    each, alone = zip(*pairs, strict=True)
    return ratio(f"start of {runs} runs together, each / one alone", each, alone, target=None)


def repl_step(files: int) -> Measurement:
    """A step of the REPL, which may still write when it answers, with many files and with few."""
    ask = Action(name="Python REPL", arguments={"command": "1 + 1"})
    with (
        slots_for(2),
        open_environment() as (many, execute_among_many),
        open_environment() as (_, execute),
    ):
        fill(many.run.work / "ballast", files, 100)
        for step in (execute_among_many, execute):
            step(ask)
        taken, few = interleaved(lambda: execute_among_many(ask), lambda: execute(ask), rounds=20)
    return ratio(f"REPL step, {files:,} files / a few files", taken, few, target=None)


def step_parts(python_env: Path) -> list[Measurement]:
    """What a step consists of, each against the same script run bare."""
    with open_environment() as (environment, execute):
        execute(HI)
        execute(RUN_HI)
        hi = f"{environment.run.work}/hi.py"
        python = str(python_env / "bin" / "python")

        def snapshot() -> None:
            environment.snapshots.take(quiet=True)
            environment.store.commit()

        def two_lines() -> None:
            for _ in range(2):
                environment.note("one line")

        parts = {
            "in the sandbox, the script alone": lambda: execute.wait_for(
                environment.sandbox.run([python, "-u", "hi.py"])
            ),
            "snapshot of an unchanged workspace": snapshot,
            "two lines of the journal, on the disk": two_lines,
            "parsing a reply of 10 kB": lambda: parsing.is_read(REPLY),
        }
        bare, *times = interleaved(
            lambda: subprocess.run([python, "-u", hi], check=True, capture_output=True),
            *parts.values(),
            rounds=30,
        )
    return [
        ratio(f"part of a step: {name} / bare", taken, bare, target=None)
        for name, taken in zip(parts, times, strict=True)
    ]


def tool_call_steps() -> list[Measurement]:
    """Steps by Inspect's tool calls: against bare, and late in a long run against early."""
    with tempfile.TemporaryDirectory() as directory:
        times = Path(directory, "times.json")
        run_agent(
            f"tool_calls(times={times}, rounds={MANY // 2})", Path(directory, "out"), steps=MANY + 2
        )
        taken: list[tuple[float, float, float]] = json.loads(times.read_text())
    ours, direct, bare = zip(*taken, strict=True)
    added = [by_tool - alone for by_tool, alone in zip(ours, direct, strict=True)]
    measurements = [
        ratio("step by Inspect's tool call, 1 MB / bare", ours[:50], bare[:50], target=2.2),
        ratio("part of a step: Inspect's tool call / bare", added[:50], bare[:50], target=None),
    ]
    early = slice(0, WINDOW)
    for step in (400, MANY):
        end = min(step // 2 + WINDOW // 2, len(ours))
        late = slice(end - WINDOW, end)
        then, now = _typical(ours, bare, early), _typical(ours, bare, late)
        measurements.append(
            Measurement(
                what=f"step {step:,} / step 10, both against bare",
                value=now[0] / then[0],
                spread=(now[1] + then[1]) / then[0],
                target=1.1,
                from_what=f"{now[0]:.2f} x bare / {then[0]:.2f} x bare",
            )
        )
    return measurements


def _typical(ours: Sequence[float], bare: Sequence[float], window: slice) -> tuple[float, float]:
    """The ratio of medians of a window of steps, and its uncertainty."""
    ratios = [one / other for one, other in zip(ours[window], bare[window], strict=True)]
    middle = statistics.median(ours[window]) / statistics.median(bare[window])
    return middle, half_range(ratios) / len(ratios) ** 0.5


class Execute:
    """Carries out steps one after the other."""

    def __init__(self, runner: asyncio.Runner, environment: Environment) -> None:
        self._runner = runner
        self._environment = environment

    def wait_for(self, work: Coroutine[Any, Any, object]) -> None:
        self._runner.run(work)

    def __call__(self, action: Action) -> None:
        observation = self._runner.run(self._environment.execute(action))
        if observation.status != "ok":
            raise RuntimeError(f"{action.name}: {observation.text}")


@contextmanager
def open_environment(steps: int = 10_000) -> Iterator[tuple[Environment, Execute]]:
    """An Environment in a directory of its own, and a call that carries out one step."""
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        limits = BudgetLimits(steps=steps)
        context = Environment.open("vectorization", out=Path(directory), limits=limits)
        environment = runner.run(context.__aenter__())
        try:
            yield environment, Execute(runner, environment)
        finally:
            runner.run(context.__aexit__(None, None, None))


def fill(folder: Path, files: int, size: int) -> None:
    """Random files, a hundred to a folder, that the sandbox's user may write to."""
    for number in range(files):
        inside = folder / str(number // 100)
        inside.mkdir(parents=True, exist_ok=True)
        (inside / f"{number}.bin").write_bytes(os.urandom(size))
    subprocess.run(["chmod", "-R", "a+rwX", folder], check=True)
