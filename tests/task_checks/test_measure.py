"""Measuring a task by running it: what comes out, and where it is kept."""

import asyncio
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from folders import SEED_TASK, write_folder

from mlagentbench.errors import RunFailed
from mlagentbench.grading.success import bar_of
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.measure import measure, measure_tasks, used_instead
from mlagentbench.tasks.data.preparation import require_prepared
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import home_file, store_in_home, stored_measurements
from mlagentbench.tasks.task import Task, load_folder

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]
COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return write_folder(tmp_path / "seeds", SEED_TASK, submission="score.txt")


def measured(task: Task, runs: int, reference_runs: int) -> Measured:
    data, python_env = ensure_ready(task, "mini", call=call_task)
    return asyncio.run(measure(task, data, python_env, runs, reference_runs, print))


def test_every_run_has_the_seed_of_its_epoch(task: Task) -> None:
    figures = measured(task, runs=3, reference_runs=2)
    starter = [task.run_seed(epoch) % 1000 / 1000 for epoch in (1, 2, 3)]
    reference = [2 + task.run_seed(epoch) % 1000 / 1000 for epoch in (1, 2)]
    assert figures.data == require_prepared(task, "mini").hash
    assert figures.trivial == {"small": 0.1, "large": 0.75}
    assert figures.starter.mean == pytest.approx(statistics.fmean(starter))
    assert figures.starter.std == pytest.approx(statistics.stdev(starter))
    assert figures.starter.runs == 3 and not figures.starter.deterministic
    assert figures.reference.mean == pytest.approx(statistics.fmean(reference))
    assert figures.reference.runs == 2 and figures.reference.source == "ours"
    assert figures.ceiling == 5.0
    expected = bar_of(task.spec.metric, starter, [0.1, 0.75], statistics.fmean(reference))
    assert figures.bar == pytest.approx(expected)
    for part in (figures.starter, figures.reference):
        assert part.seconds and part.cpu_seconds and part.cpu_seconds > 0


def test_a_starter_that_fails_shows_its_last_words_and_nothing_is_kept(
    task: Task, with_shared_home: Path
) -> None:
    (task.starter / "train.py").write_text("print('reading'); raise SystemExit('no such column')")
    names = [str(task.folder)]
    before = (task.folder / "task.toml").read_text()
    with pytest.raises(
        RunFailed, match=r"(?s)starter's `python train.py` ended with status 1.*no s"
    ):
        list(measure_tasks(names, tier="mini", runs=2, reference_runs=1, write=True, draw="public"))
    data = require_prepared(task, "mini")
    assert (task.folder / "task.toml").read_text() == before
    assert not home_file(task, "mini", data.hash).exists()


def test_a_submission_without_a_score_is_an_error(task: Task) -> None:
    (task.starter / "train.py").write_text("open('score.txt', 'w').write('-1')")
    with pytest.raises(RunFailed, match="the starter's submission gets no score: negative"):
        measured(task, runs=2, reference_runs=1)


def test_a_solution_may_not_replace_read_only_files(task: Task) -> None:
    (task.solution / "number.txt").write_text("1")
    with pytest.raises(RunFailed, match=r"number\.txt would replace a read-only file"):
        measured(task, runs=2, reference_runs=1)


def test_command_line_writes_to_task_toml_or_to_the_home(task: Task) -> None:
    command = [
        str(Path(sys.executable).with_name("mlagentbench")),
        "tasks",
        "measure",
        str(task.folder),
    ]
    command += ["--runs", "2", "--reference-runs", "1", "--again"]
    home = subprocess.run(command, capture_output=True, text=True, check=True)
    data = require_prepared(task, "mini")
    kept = stored_measurements(task, "mini", data.hash)
    assert kept is not None and kept.starter.runs == 2
    assert str(home_file(task, "mini", data.hash)) in home.stdout.replace("\n", "")
    assert "[measured" not in (task.folder / "task.toml").read_text()
    for word in ("floor", "starter", "reference", "ceiling", "bar", "CPU s"):
        assert word in home.stdout
    assert "seeds: starter 2/2" in home.stderr

    subprocess.run([*command, "--write"], capture_output=True, text=True, check=True)
    again = load_folder(task.folder)
    assert again.spec.measured["mini"].starter.mean == kept.starter.mean
    assert stored_measurements(again, "mini", data.hash) == again.spec.measured["mini"]

    assert "for comparison" not in home.stdout
    third = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (
        "task.toml has measurements of the same data, which are used here; these are written to "
        f"{home_file(task, 'mini', data.hash)} for comparison\n"
    ) in third.stdout


def test_this_machine_s_measurements_of_a_timed_task_are_used_instead_of_written_ones(
    task: Task,
) -> None:
    """Nothing is timed here: what counts is the kind of task."""
    figures = measured(task, runs=2, reference_runs=1)
    timed = Task(task.folder, task.spec.model_copy(update={"kind": "timed"}))
    home = store_in_home(timed, "mini", figures)
    assert used_instead(timed, "mini", figures, written=True) == str(home)
    assert used_instead(timed, "mini", figures, written=False) is None
    store_in_home(task, "mini", figures)
    assert used_instead(task, "mini", figures, written=True) is None


def test_a_secret_draw_is_measured_when_it_is_made(task: Task) -> None:
    program = task.starter / "train.py"  # made calm enough for three runs
    program.write_text(program.read_text().replace("/ 1000", "/ 100_000"))
    command = [
        str(Path(sys.executable).with_name("mlagentbench")),
        "tasks",
        "prepare",
        str(task.folder),
    ]
    subprocess.run([*command, "--draw", "secret"], capture_output=True, check=True)
    data = require_prepared(task, "mini", "secret")
    figures = stored_measurements(task, "mini", data.hash)
    assert figures is not None and figures.starter.runs == 3 and figures.reference.runs == 1
