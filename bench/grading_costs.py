"""What grading costs: a timed task on a busy machine, and all steps of a run once more."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from measurements import Measurement, ratio
from whole_runs import TASK

from mlagentbench.environment.environment import Environment
from mlagentbench.grading import timed_grading
from mlagentbench.grading.grade import score_submission
from mlagentbench.grading.regrade import score_runs
from mlagentbench.records import Action, Record
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import require_prepared
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.python_env.env import require_python_env
from mlagentbench.tasks.task import load_task

TIMED_TASK = "vectorization"
GRADINGS = 3
BUSY_PROCESSES = 4
BUSY_SECONDS = 300
"""They end by themselves after this time, even if this process was killed."""
BUSY = f"""
import time
end = time.monotonic() + {BUSY_SECONDS}
while time.monotonic() < end:
    pass
"""
SUBMISSIONS = 4
REPEATS = 3
PREDICT = """
import sys
import pandas as pd
price = 150_000 + 10_000 * int(sys.argv[1])
houses = pd.read_csv("test.csv")["Id"]
pd.DataFrame({"Id": houses, "SalePrice": price}).to_csv("submission.csv", index=False)
"""


class TimedGrade(Record):
    """A score of timed grading, None if the machine was too busy, and the time that it took."""

    score: float | None
    seconds: float


def timed_grading_under_load() -> list[Measurement]:
    """The solution of a timed task graded beside busy processes, against graded alone.

    Without pauses, since the load is the same all the time.
    """
    alone, loaded = [], []
    with patch.object(timed_grading, "PAUSES", ()):
        for _ in range(GRADINGS):
            alone.append(_grade_solution())
            with _busy_processes():
                loaded.append(_grade_solution())
    beside = f"beside {BUSY_PROCESSES} busy processes"
    scores = [" ".join(map(_score_text, grades)) for grades in (loaded, alone)]
    found_busy, alone_busy = (
        sum(grade.score is None for grade in grades) / GRADINGS for grades in (loaded, alone)
    )
    return [
        Measurement(
            what=f"gradings {beside} that find the machine too busy / all",
            value=found_busy,
            target=1.0,
            sense="at least",
            from_what=f"scores: {scores[0]}; alone: {scores[1]}",
        ),
        Measurement(
            what="gradings alone that find the machine too busy / all",
            value=alone_busy,
            target=0.0,
            from_what=f"{GRADINGS} gradings, of one round each",
        ),
        ratio(
            f"time of timed grading {beside} / alone",
            [grade.seconds for grade in loaded],
            [grade.seconds for grade in alone],
            target=None,
        ),
    ]


def _score_text(grade: TimedGrade) -> str:
    return "none" if grade.score is None else f"{grade.score:.4f}"


def _grade_solution() -> TimedGrade:
    ensure_ready(load_task(TIMED_TASK), "mini", call=call_task)
    started = time.perf_counter()
    score: float | None = None
    with suppress(timed_grading.MachineBusy):
        score = asyncio.run(score_of_solution())
    return TimedGrade(score=score, seconds=time.perf_counter() - started)


async def score_of_solution() -> float:
    """The score of the solution of the timed task, which is prepared; else MachineBusy."""
    task = load_task(TIMED_TASK)
    data, python_env = require_prepared(task, "mini"), require_python_env(task)
    with tempfile.TemporaryDirectory() as directory:
        submitted = Path(directory, "submitted")
        submitted.mkdir()
        for name, contents in task.solution_files().items():
            (submitted / name).write_bytes(contents)
        scored = await score_submission(task, data, python_env, submitted)
    if scored.score is None:
        raise RuntimeError(f"the solution of {task.id} has no score: {scored.reason}")
    return scored.score


@contextmanager
def _busy_processes() -> Iterator[None]:
    """Keep the machine busy; RuntimeError when that ended too early."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(BUSY_PROCESSES)]
    try:
        yield
        if any(process.poll() is not None for process in processes):
            raise RuntimeError(f"grading took longer than the load, which ends in {BUSY_SECONDS} s")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def regrading() -> Measurement:
    """The sandboxes that grading all steps of a run starts, against its distinct submissions."""
    ensure_ready(load_task(TASK), "mini", call=call_task)
    with tempfile.TemporaryDirectory() as out:
        run = asyncio.run(_run_with_equal_submissions(Path(out)))
        start = BubblewrapSandbox.start
        with patch.object(BubblewrapSandbox, "start", autospec=True, side_effect=start) as started:
            [regraded] = score_runs([run], "all", lambda _: None)
    scores = [grade.score for grade in regraded.grades if grade.score is not None]
    if (len(scores), len(set(scores))) != (SUBMISSIONS * REPEATS, SUBMISSIONS):
        raise RuntimeError(f"{run}: unexpected grades: {regraded}")
    return Measurement(
        what="sandboxes to regrade all steps / distinct submissions",
        value=started.call_count / SUBMISSIONS,
        target=1.0,
        from_what=f"{started.call_count} / {SUBMISSIONS}, in {len(scores)} steps that have one",
    )


async def _run_with_equal_submissions(out: Path) -> Path:
    """The directory of a run that submits the same few predictions again and again."""
    predict = {"file_name": "predict.py", "content": PREDICT}
    actions = [Action(name="Write File", arguments=predict)]
    for number in [*range(SUBMISSIONS)] * REPEATS:
        arguments = {"script_name": "predict.py", "arguments": [str(number)]}
        actions.append(Action(name="Execute Script", arguments=arguments))
    async with Environment.open(TASK, out=out) as environment:
        for action in actions:
            observation = await environment.execute(action)
            if observation.status != "ok":
                raise RuntimeError(f"{action.name}: {observation.text}")
        return environment.run.path
