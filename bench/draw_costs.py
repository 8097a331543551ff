"""What a fresh draw costs: preparing it against generating it, and finding it measured."""

import asyncio
import itertools
import os
import tempfile
from pathlib import Path
from unittest.mock import patch

from measurements import Measurement, interleaved, ratio

from mlagentbench.home import home
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.tasks.data.preparation import prepare
from mlagentbench.tasks.draws import draw_seed
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import Task, load_task

TASKS = ("house-price", "spaceship-titanic", "vectorization")
ROUNDS = 3
MEASURED_TASK = "house-price"


def draw_costs() -> list[Measurement]:
    """Preparing a draw is to take at most three times as long as generating its files."""
    with tempfile.TemporaryDirectory(prefix="draws-") as directory:
        for name in ("envs", "locks"):
            (home() / name).mkdir(exist_ok=True)
            (Path(directory) / name).symlink_to(home() / name)
        tasks = [load_task(name) for name in TASKS]
        for task in tasks:
            ensure_ready(task, "mini", call=call_task)
        with patch.dict(os.environ, MLAGENTBENCH_HOME=directory):
            return [*map(_preparing, tasks), _cached_measurements(load_task(MEASURED_TASK))]


def _preparing(task: Task) -> Measurement:
    python_env = ensure_ready(task, "mini", call=call_task).python_env
    draws = itertools.count(1)

    def generated() -> None:
        with tempfile.TemporaryDirectory() as raw:
            seed = draw_seed(task, "mini", str(next(draws)))
            write = {"raw": Path(raw)}
            asyncio.run(call_task(task, python_env, "mini.make", write=write, seed=seed))

    def prepared() -> None:
        draw = str(next(draws))
        asyncio.run(prepare(task, "mini", call=call_task, python_env=python_env, draw=draw))

    ours, beside = interleaved(prepared, generated, rounds=ROUNDS)
    return ratio(f"preparing a draw / generating it: {task.id}", ours, beside, target=3.0)


def _cached_measurements(task: Task) -> Measurement:
    ready = ensure_ready(task, "mini", "measured", call=call_task)

    def measured() -> None:
        asyncio.run(ensure_measured(task, *ready, None, lambda _: None))

    [[first]] = interleaved(measured, rounds=1)
    [again] = interleaved(measured, rounds=ROUNDS)
    what = "measurements of a draw: asked for again / first"
    return ratio(what, again, [first] * ROUNDS, target=0.1)
