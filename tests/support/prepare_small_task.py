"""Prepares the mini tier of a task folder, as a program that tests can kill or start twice."""

import asyncio
import sys
from pathlib import Path

from small_tasks import plain_call

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.preparation import prepare
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_folder

if __name__ == "__main__":
    env = PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})
    task = load_folder(Path(sys.argv[1]))
    try:
        again = sys.argv[2:] == ["--again"]
        made = asyncio.run(prepare(task, "mini", call=plain_call, python_env=env, again=again))
        print(made.hash)
    except UsageError as error:
        sys.exit(str(error))
