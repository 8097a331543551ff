"""A small task folder for the tests, and a plain way to call its functions."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from mlagentbench.guest import mlagentbench_task
from mlagentbench.records import Json
from mlagentbench.tasks.call_contract import TaskCodeFailed
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

MAKE = """
def make(raw, rng):
    rows = [f"{k},{value}" for k, value in enumerate(rng.normal(size=20))]
    (raw / "train.csv").write_text("id,y\\n" + "\\n".join(rows) + "\\n")
"""
PREPARE = """
def prepare(raw, public, private, rng):
    header, *rows = (raw / "train.csv").read_text().split()
    order = rng.permutation(len(rows))
    (public / "train.csv").write_text("\\n".join([header, *(rows[k] for k in order[5:])]))
    (private / "answers.csv").write_text("\\n".join([header, *(rows[k] for k in order[:5])]))
"""


WriteTask = Callable[..., Task]


async def plain_call(
    task: Task,
    python_env: PythonEnv,
    function: str,
    *,
    read: Mapping[str, Path] | None = None,
    write: Mapping[str, Path] | None = None,
    seed: int | None = None,
    pool: str | None = None,
    timeout: float = 600.0,
) -> Json:
    """A CallTask without a sandbox: the function in a process of its own."""
    module, name = function.split(".")
    arguments = {key: str(path) for key, path in {**(read or {}), **(write or {})}.items()}
    folders = [*task.code_folders, Path(mlagentbench_task.__file__).parent]
    program = f"""
import json, sys, numpy
from pathlib import Path
sys.path[:0] = {[str(folder) for folder in folders]!r}
import {module}
from task_driver import as_json
arguments = {{key: Path(value) for key, value in json.loads(sys.argv[1]).items()}}
seed = {seed!r}
if seed is not None:
    arguments["rng"] = numpy.random.default_rng(seed)
pool = {pool!r}
if pool is not None:
    arguments["pool"] = pool
print(json.dumps(as_json({module}.{name}(**arguments))))
"""
    command = [str(python_env.python), "-B", "-c", program, json.dumps(arguments)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=timeout)
    if done.returncode != 0:
        raise TaskCodeFailed("task", function, "failed", done.stderr.decode()[-2000:])
    return json.loads(done.stdout.decode().splitlines()[-1])
