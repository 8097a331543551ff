"""A small vectorization task, and what any convolution.py gets for its time."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from prepared import write_data

from mlagentbench.grading import machine_load
from mlagentbench.grading import timed_grading as timing
from mlagentbench.grading.timed_grading import collect_timed
from mlagentbench.records import Json
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import SUITE, Task, load_folder

FOLDER = SUITE / "vectorization"
STARTER = (FOLDER / "starter" / "convolution.py").read_text()
SOLUTION = (FOLDER / "solution" / "convolution.py").read_text()
SLOW = STARTER.replace("def forward(", "def slow(")
SMALL_LAYER = {
    "batch": 1, "height": 32, "width": 32, "channels": 3,
    "rows": 3, "columns": 3, "filters": 8, "stride": 2, "padding": 2,
}  # fmt: skip
COARSE = 0.3
"""How far the control may be off: here scores are told apart by factors, and a busy machine would
only repeat the rounds."""
ANY_LOAD = 1000.0


class Trial:
    """A small vectorization task, and a way to have any convolution.py graded by it."""

    def __init__(self, directory: Path, task: Task) -> None:
        self.task = task
        self.env = PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})
        self.announced: list[str] = []
        self.submitted, self.outputs = directory / "submitted", directory / "outputs"
        for path in (self.submitted, self.outputs):
            path.mkdir(parents=True)
        self.data = write_data(
            directory / "data",
            public={"layer.json": json.dumps(SMALL_LAYER), "tables/kept.json": "[1.5]"},
            private={"requests.json": json.dumps({"timed": 9, "layer": SMALL_LAYER})},
        )

    def submit(self, source: str) -> None:
        (self.submitted / "convolution.py").write_text(source)

    async def collect(self, source: str) -> None:
        self.submit(source)
        arguments = (self.task, self.data, self.env, self.submitted, self.outputs)
        await collect_timed(*arguments, self.announced.append)

    def grade(self, source: str) -> Json:
        """Grade by what the program does alone; what it says is judged by the task's tests."""

        async def run() -> Json:
            await self.collect(source)
            (self.outputs / "convolution.py").write_text(STARTER)
            data = {"private": self.data.private, "public": self.data.public}
            read = {"outputs": self.outputs, **data}
            return await call_task(self.task, self.env, "grade.grade", read=read)

        return asyncio.run(run())

    def reason(self, source: str) -> str:
        """Why the program is invalid, in the first timing round."""
        with (
            pytest.MonkeyPatch.context() as patch,
            pytest.raises(InvalidSubmissionReported) as invalid,
        ):
            patch.setattr(timing, "PAUSES", ())
            self.grade(source)
        return str(invalid.value)


def small_trial(directory: Path, patch: pytest.MonkeyPatch) -> Trial:
    """A trial that is not disturbed by other tests, which keep the machine busy."""
    patch.setenv("MLAGENTBENCH_HOME", str(directory / "home"))
    patch.delenv(timing.TIME_ANYWAY)
    patch.setattr(timing, "CONTROL_TOLERANCE", COARSE)
    patch.setattr(timing, "PAUSES", (0.1, 0.1))
    patch.setattr(machine_load, "MAX_BUSY", ANY_LOAD)
    return Trial(directory, load_folder(FOLDER))
