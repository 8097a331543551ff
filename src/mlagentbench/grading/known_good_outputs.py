"""What the grader would be given if the known-good submission had been submitted."""

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mlagentbench.fs import scratch_directory
from mlagentbench.grading.submitted_program import collect_program
from mlagentbench.program_services.services import constant_services
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.known_good import known_good_submission
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task


@asynccontextmanager
async def known_good_outputs(
    task: Task, data: PreparedData, python_env: PythonEnv, collected: Path
) -> AsyncIterator[Path]:
    """A directory like `collected`, the outputs on which the grader failed.

    A program is run on the hidden inputs, with a model that always gives the same reply. In a timed
    task nothing is timed again: the starter has already answered the same requests.
    """
    stored = known_good_submission(task, data.public, data.private, call_task, python_env)
    async with stored as submission:
        if task.spec.kind not in ("program", "timed"):
            yield submission
            return
        with scratch_directory("known-good-outputs") as directory:
            outputs = directory / "outputs"
            outputs.mkdir(mode=0o755)
            if task.spec.kind == "program":
                services = constant_services(task, data.private) if task.spec.needs_model else None
                private = data.private
                await collect_program(task, python_env, submission, private, outputs, services)
            else:
                _answered_by_starter(submission, collected, outputs)
            yield outputs


def _answered_by_starter(submission: Path, collected: Path, outputs: Path) -> None:
    """The outputs of a timed grading with the starter's replies instead of the submission's."""
    shutil.copytree(submission, outputs, dirs_exist_ok=True)
    shutil.copytree(collected / "requests", outputs / "requests")
    for name in ("starter", "submission"):
        shutil.copytree(collected / "starter", outputs / name)
    timings = json.loads((collected / "timings.json").read_text(encoding="utf-8"))
    text = json.dumps({**timings, "submission": timings["control"]})
    (outputs / "timings.json").write_text(text, encoding="utf-8")
