"""A whole step of the agent `react` in a run under Inspect, against the same script run bare."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench_agents import HI, RUN_HI
from inspect_ai import eval
from inspect_ai.model import ModelOutput
from measurements import Measurement, ratio

from mlagentbench.inspect_plugin import react, registered_task
from mlagentbench.launch.request import RunSettings
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import run_directories

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from scripted_model import scripted_by, tool_call

ROUNDS = 40
"""With the other steps, fewer than the task allows."""


def react_step(python_env: Path) -> Measurement:
    """From one reply of the model to the next question, against the same script run bare."""
    ours: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        hi = Path(directory, "hi.py")
        hi.write_text(HI.arguments["content"])
        command: list[str | Path] = [python_env / "bin" / "python", "-u", hi]

        def replies() -> Iterator[ModelOutput]:
            yield tool_call("write_file", **HI.arguments)
            yield tool_call("execute_script", **RUN_HI.arguments)
            for _ in range(ROUNDS):
                started = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                replied = time.perf_counter()
                bare.append(replied - started)
                yield tool_call("execute_script", **RUN_HI.arguments)
                ours.append(time.perf_counter() - replied)
            yield tool_call("final_answer", final_answer="hi")

        [log] = eval(
            registered_task("vectorization", RunSettings()),
            solver=react(),
            model=scripted_by(replies()),
            log_dir=str(Path(directory, "out")),
            display="none",
            score=False,
        )
        if log.status != "success":
            raise RuntimeError(f"the run of react failed: {log.error}")
        [run] = run_directories(Path(directory, "out"))
        observations = [step.observation for step in read_journal(run.journal).steps]
    if failed := [observation for observation in observations if observation.status != "ok"]:
        raise RuntimeError(f"a step of react failed: {failed[0].text}")
    return ratio("whole step of react / bare", ours, bare, target=None)
