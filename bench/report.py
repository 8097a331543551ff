"""`mlagentbench report` on many generated runs: the first time, and when nothing has changed.

Each report is a process of its own; its peak memory is what the kernel says of it.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measurements import Measurement, as_text

from mlagentbench.records import Record

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
sys.path.insert(0, str(SUPPORT))
from generated_runs import AGENTS, TASKS, generate_runs  # noqa: E402

RUNS = 10_000
WARM_AT_MOST = 0.1
MEMORY_AT_MOST_MB = 1000.0
PROGRAM = """
import resource, sys
from pathlib import Path
from mlagentbench.report.report import ReportRequest, write_report
written = write_report(ReportRequest(directories=(Path(sys.argv[1]),)))
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
helper = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(len(written.data.collection.runs), written.data.collection.read, own, helper)
"""


class _Report(Record):
    seconds: float
    runs: int
    read: int
    own_mb: float
    helper_mb: float


def report_measurements(runs: int = RUNS) -> list[Measurement]:
    """Generate the runs in a directory of their own and report on them twice."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        made = generate_runs(out, epochs=runs // (len(TASKS) * len(AGENTS)))
        cold, warm = (_report(out, Path(directory) / "home") for _ in range(2))
    if (cold.runs, cold.read, warm.runs, warm.read) != (made, made, made, 0):
        raise RuntimeError(f"{made} runs were made; the reports say {cold} and {warm}")
    return [
        Measurement(
            what=f"report of {made:,} runs, again / the first time",
            value=warm.seconds / cold.seconds,
            target=WARM_AT_MOST,
            from_what=f"{as_text(warm.seconds)} / {as_text(cold.seconds)}",
        ),
        Measurement(
            what=f"memory of a report of {made:,} runs",
            value=max(cold.own_mb, warm.own_mb),
            target=MEMORY_AT_MOST_MB,
            unit="MB",
            from_what=f"its own process; {cold.helper_mb:.0f} MB in a process that reads runs",
        ),
    ]


def _report(out: Path, home: Path) -> _Report:
    started = time.perf_counter()
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(out)],
        env={**os.environ, "MLAGENTBENCH_HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    seconds = time.perf_counter() - started
    runs, read, own, helper = map(int, said)
    return _Report(
        seconds=seconds, runs=runs, read=read, own_mb=own / 1024, helper_mb=helper / 1024
    )
