"""`make bench`: what the harness costs, as ratios to the bare thing measured in the same run.

Repetitions are interleaved and medians compared, since machines are noisy. The table goes to the
terminal, the figures with machine and commit to bench/results/bench.json.
"""

import asyncio
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import parsing
from report import ReportFigures, in_words, measure_report
from rich.console import Console
from rich.table import Table

from mlagentbench.environment.disclosure import hardware
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.sandbox.bubblewrap import BubblewrapSandbox
from mlagentbench.environment.sandbox.sandbox import SandboxSpec
from mlagentbench.records import Action, Record
from mlagentbench.running.prepare import ensure_ready
from mlagentbench.tasks.task import load_task

RESULTS = Path(__file__).parent / "results" / "bench.json"
MLAGENTBENCH = str(Path(sys.prefix) / "bin" / "mlagentbench")
MILLION = 1_000_000


class Figure(Record):
    """One measured ratio, and the target that it should not pass."""

    what: str
    ours_ms: float
    bare_ms: float
    ratio: float
    spread: float
    target: float | None
    unit: str = "x"


def interleaved(
    ours: Callable[[], object], bare: Callable[[], object], rounds: int
) -> list[list[float]]:
    """Wall times of both, taken in turn."""
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for place, call in enumerate((ours, bare)):
            started = time.perf_counter()
            call()
            times[place].append(time.perf_counter() - started)
    return times


def figure(what: str, times: list[list[float]], target: float | None) -> Figure:
    ours, bare = statistics.median(times[0]), statistics.median(times[1])
    ratios = [a / b for a, b in zip(*times, strict=True)]
    quarters = statistics.quantiles(ratios, n=4)
    return Figure(
        what=what, ours_ms=ours * 1e3, bare_ms=bare * 1e3, ratio=ours / bare,
        spread=quarters[2] - quarters[0], target=target,
    )  # fmt: skip


def command_line() -> Figure:
    """`mlagentbench --help` against an empty Python process; its target is half a second."""

    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)

    times = interleaved(
        lambda: run(MLAGENTBENCH, "--help"), lambda: run(sys.executable, "-c", "pass"), 10
    )
    seconds = statistics.median(times[0])
    return figure("mlagentbench --help / python -c pass", times, None).model_copy(
        update={"what": f"mlagentbench --help: {seconds:.2f} s (target 0.5 s) / python -c pass"}
    )


def sandbox_start(python_env: Path) -> Figure:
    """Starting and stopping a sandbox, against starting an empty Python process."""
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        spec = SandboxSpec(workspace=Path(directory), python_env=python_env)

        async def start_and_stop() -> None:
            async with BubblewrapSandbox(spec):
                pass

        def bare() -> None:
            subprocess.run([python_env / "bin" / "python", "-c", "pass"], check=True)

        times = interleaved(lambda: runner.run(start_and_stop()), bare, 15)
    return figure("sandbox start and stop / python -c pass", times, None)


def steps(python_env: Path, workspace_mb: int, target: float) -> Figure:
    """A whole step, journalled and snapshotted, against the same script run bare."""
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        context = Environment.open("vectorization", out=Path(directory))
        environment = runner.run(context.__aenter__())
        try:
            work = environment.run.work
            _fill(work / "ballast", workspace_mb)
            write = Action(
                name="Write File", arguments={"file_name": "hi.py", "content": "print('hi')\n"}
            )
            hi = Action(name="Execute Script", arguments={"script_name": "hi.py"})
            runner.run(environment.execute(write))
            command = [python_env / "bin" / "python", "-u", work / "hi.py"]
            times = interleaved(
                lambda: runner.run(environment.execute(hi)),
                lambda: subprocess.run(command, check=True, capture_output=True),
                20,
            )
        finally:
            runner.run(context.__aexit__(None, None, None))
    return figure(f"step of print('hi'), {workspace_mb} MB workspace / bare", times, target)


def parsed_replies() -> list[Figure]:
    """A long reply of a text agent against as many characters in short ones: 1 when linear."""
    sound = interleaved(parsing.parse_long, parsing.parse_short, 10)
    hostile = interleaved(parsing.parse_long_hostile, parsing.parse_short_hostile, 3)
    return [
        figure("parsing a reply of 1 MB / 100 of 10 kB", sound, 1.5),
        figure("parsing hostile replies of 1 MB / of 10 kB", hostile, 1.5),
    ]


def _fill(folder: Path, megabytes: int) -> None:
    folder.mkdir()
    for number in range(megabytes):
        (folder / f"{number}.bin").write_bytes(bytes([number % 251]) * MILLION)


def write_figures(figures: list[Figure], reported: ReportFigures) -> None:
    table = Table(box=None, header_style="bold")
    for heading in ("what", "ours", "bare", "ratio", "spread", "target"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for one in figures:
        target = "-" if one.target is None else f"{one.target:g}"
        table.add_row(
            one.what, f"{one.ours_ms:.1f} ms", f"{one.bare_ms:.1f} ms", f"{one.ratio:.2f}",
            f"± {one.spread / 2:.2f}", target,
        )  # fmt: skip
    console = Console(width=120)
    console.print(table)
    console.print(in_words(reported), highlight=False)
    RESULTS.parent.mkdir(exist_ok=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=RESULTS.parent
    ).stdout.strip()
    facts = {
        "commit": commit,
        "python": platform.python_version(),
        "machine": hardware(),
        "figures": [one.model_dump() for one in figures],
        "report": reported.model_dump(),
    }
    RESULTS.write_text(json.dumps(facts, indent=2) + "\n")


def main() -> None:
    python_env = ensure_ready(load_task("vectorization"), "mini").python_env.directory
    write_figures(
        [
            command_line(),
            sandbox_start(python_env),
            steps(python_env, 1, 1.5),
            steps(python_env, 200, 1.6),
            *parsed_replies(),
        ],
        measure_report(),
    )


if __name__ == "__main__":
    main()
