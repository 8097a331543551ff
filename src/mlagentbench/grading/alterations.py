"""Alterations of a submission, made by the task's alterations.py: e.g. one with shuffled weights.

The submitted program must not know which of them it is run with. So they are made outside of the
sandboxes in which it runs, from a seed that did not exist before, and run in random order.
"""

import random
import secrets
from pathlib import Path

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task


async def make_alterations(
    task: Task, python_env: PythonEnv, submitted: Path, directory: Path
) -> list[Path]:
    """Directories below `directory`, named like their alterations, each laid out like `submitted`.

    Raises InvalidSubmissionReported when what was submitted cannot be varied.
    """
    path, made = task.spec.submission.path, directory / "made"
    await call_task(
        task,
        python_env,
        "alterations.make",
        read={"submission": submitted / path},
        write={"directory": made},
        seed=secrets.randbits(128),
    )
    alterations = []
    for alteration in sorted(made.iterdir()):
        home = directory / "alterations" / alteration.name
        (home / path).parent.mkdir(parents=True)
        alteration.rename(home / path)
        alterations.append(home)
    random.SystemRandom().shuffle(alterations)
    return alterations
