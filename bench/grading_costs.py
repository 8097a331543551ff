"""What grading costs: a timed task on a busy machine, and all steps of a run once more."""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from measurements import Measurement, half_range, ratio
from whole_runs import TASK

from mlagentbench.environment.environment import Environment
from mlagentbench.grading.grade import score_submission
from mlagentbench.grading.regrade import score_runs
from mlagentbench.records import Action, Record
from mlagentbench.sandbox.bwrap.sandbox import BubblewrapSandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
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
    """A score of timed grading, and what it took to get it."""

    score: float
    seconds: float
    rounds: int


def timed_grading_under_load() -> list[Measurement]:
    """The solution of a timed task graded beside busy processes, against graded alone."""
    alone, loaded = [], []
    for _ in range(GRADINGS):
        alone.append(_grade_solution())
        with _busy_processes():
            loaded.append(_grade_solution())
    scores = [(one.score, other.score) for one, other in zip(loaded, alone, strict=True)]
    score, alone_score = map(statistics.median, zip(*scores, strict=True))
    rounds, alone_rounds = (sum(grade.rounds for grade in grades) for grades in (loaded, alone))
    beside = f"beside {BUSY_PROCESSES} busy processes / alone"
    return [
        Measurement(
            what=f"score of timed grading {beside}",
            value=score / alone_score,
            spread=half_range([one / other for one, other in scores]),
            from_what=f"{score:.4f} / {alone_score:.4f}; "
            f"{rounds} / {alone_rounds} timing rounds for {GRADINGS} gradings",
        ),
        ratio(
            f"time of timed grading {beside}",
            [grade.seconds for grade in loaded],
            [grade.seconds for grade in alone],
            target=None,
        ),
    ]


def _grade_solution() -> TimedGrade:
    task = load_task(TIMED_TASK)
    ready = ensure_ready(task, "mini", call=call_task)
    with tempfile.TemporaryDirectory() as directory:
        submitted = Path(directory, "submitted")
        submitted.mkdir()
        for name, contents in task.solution_files().items():
            (submitted / name).write_bytes(contents)
        started = time.perf_counter()
        scored = asyncio.run(score_submission(task, ready.data, ready.python_env, submitted))
        seconds = time.perf_counter() - started
    if scored.score is None:
        raise RuntimeError(f"the solution of {task.id} has no score: {scored.reason}")
    return TimedGrade(score=scored.score, seconds=seconds, rounds=scored.extra["sittings"])


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
