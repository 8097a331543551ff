"""When a timing round counts, on machines that are calm or busy."""

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from timed_trial import ANY_LOAD, COARSE, FOLDER, SOLUTION, STARTER, Trial, small_trial

from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunFailed
from mlagentbench.grading import machine_load
from mlagentbench.grading import timed_grading as timing
from mlagentbench.grading.grade import score_submission
from mlagentbench.grading.machine_load import BusyClock, MachineLoad
from mlagentbench.grading.regrade import score_runs
from mlagentbench.grading.timed_grading import TimingRecord
from mlagentbench.guest.mlagentbench_task import Timings, grade_timings
from mlagentbench.machine.ledger import Need
from mlagentbench.machine.slots import slot_for, take_slot
from mlagentbench.records import Action, Outcome
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.runs.results import find_run, read_run
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import load_folder

CALM = MachineLoad(others=0.01, elapsed=2.0)
BUSY_SECONDS = 100
BUSY = f"""
import time
end = time.monotonic() + {BUSY_SECONDS}
while time.monotonic() < end:
    pass
"""


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    return small_trial(tmp_path, monkeypatch)


@contextmanager
def busy_processes(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """They end by themselves, even if this process is killed."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def timed(ratios: list[float], control: list[float], load: MachineLoad = CALM) -> TimingRecord:
    return TimingRecord(
        submission=tuple(ratios),
        starter=(1.0,) * len(ratios),
        control=tuple(control),
        sittings=1,
        load=load,
    )


@pytest.mark.parametrize(("control", "off"), [(1.04, False), (1.06, True), (0.94, True)])
def test_a_round_is_noisy_when_the_control_is_off(control: float, off: bool) -> None:
    trouble = timed([0.25] * 9, [control] * 9).trouble(2, 2)
    assert bool(trouble) is off
    if off:
        assert f"the starter took {control:.2f} times as long as the starter itself" in trouble


@pytest.mark.parametrize(
    ("there", "needed", "others", "noisy"),
    [(2, 2, 0.4, False), (2, 2, 0.6, True), (8, 2, 6.4, False), (8, 2, 6.6, True),
     (2, 4, 0.6, True), (8, None, 1.9, False), (8, None, 2.1, True)],
)  # fmt: skip
def test_a_round_is_noisy_when_too_few_processors_are_free(
    there: int, needed: int | None, others: float, noisy: bool
) -> None:
    load = MachineLoad(others=10 * others, elapsed=10.0)
    trouble = timed([0.25] * 9, [1.0] * 9, load).trouble(needed, there)
    assert bool(trouble) is noisy
    if noisy:
        assert f"other programs used {others:.2f} of {there} processors" in trouble


def test_busy_processes_are_seen() -> None:
    cores = os.sched_getaffinity(0)
    with busy_processes(2):
        asyncio.run(asyncio.sleep(0.5))
        before = BusyClock.now(cores)
        asyncio.run(asyncio.sleep(1.0))
        assert BusyClock.now(cores).seconds - before.seconds > 0.5


def test_only_the_cores_of_the_slot_are_looked_at() -> None:
    """One busy core keeps another core's clock from nothing."""
    busy, calm = sorted(os.sched_getaffinity(0))[:2]
    with busy_processes(1) as [process]:
        os.sched_setaffinity(process.pid, {busy})
        before = [BusyClock.now([core]) for core in (busy, calm)]
        asyncio.run(asyncio.sleep(1.0))
        after = [BusyClock.now([core]) for core in (busy, calm)]
    both = BusyClock.now((busy, calm))
    assert after[0].seconds - before[0].seconds > 0.5
    assert both.seconds >= after[0].seconds + after[1].seconds - 0.001


def test_the_score_is_the_median_of_the_ratios() -> None:
    starter = [1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0]
    ratios = [0.5, 0.45, 0.4, 0.45, 0.4, 0.55, 0.6, 0.5, 9.0]
    mine = [ratio * seconds for ratio, seconds in zip(ratios, starter, strict=True)]
    grade = grade_timings(Timings(mine, starter, starter, 1))
    assert grade.score == pytest.approx(statistics.median(ratios))
    assert grade.extra["ratio_quartiles"] == pytest.approx([0.45, 0.55])
    assert "warning" not in grade.extra


VARYING = [0.029, 0.029, 0.029, 0.029, 0.106, 0.179, 0.179, 0.179, 0.179]


def test_a_submission_whose_own_times_vary_is_scored_by_its_worse_quartile() -> None:
    starter, calm = [1.0] * 9, [0.99, 1.0, 1.01] * 3
    grade = grade_timings(Timings(VARYING, starter, calm, 1))
    assert grade.score == pytest.approx(0.179)
    assert "its worse quartile counts, not its median of 0.106" in grade.extra["warning"]
    as_much = [0.4, 1.0, 1.6] * 3
    assert grade_timings(Timings(VARYING, starter, as_much, 1)).score == pytest.approx(0.106)
    steady = [0.25] * 9
    assert grade_timings(Timings(steady, starter, calm, 1)).score == 0.25
    assert (
        "never with it" in grade_timings(Timings(steady, starter, calm, 1, True)).extra["warning"]
    )


@pytest.mark.slow
def test_a_noisy_machine_brings_more_rounds_with_new_requests_and_then_no_grade(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    draw = timing.TimedGrading.draw_requests

    async def remember(grading: timing.TimedGrading) -> dict[str, bytes]:
        requests = await draw(grading)
        drawn.append(requests["timed-00.bin"])
        return requests

    monkeypatch.setattr(timing.TimedGrading, "draw_requests", remember)
    monkeypatch.setattr(timing, "PAUSES", (0.3,))
    monkeypatch.setattr(timing, "CONTROL_TOLERANCE", -1.0)
    with pytest.raises(RunFailed, match="too busy to time the submission in 2 rounds") as failure:
        trial.grade(SOLUTION)
    assert failure.value.cause == "harness"
    assert len(set(drawn)) == len(drawn) == 3  # two rounds, and one without the submission
    assert any(
        text.startswith("timing again in 0.3 s: the starter took") for text in trial.announced
    )


@pytest.mark.slow
def test_no_submission_can_choose_not_to_be_timed(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds that are noisy with the submission alone count against it."""

    def noisy_with_submission(timings: TimingRecord, _needed: int | None, _there: int) -> str:
        faster = statistics.median(timings.submission) < 0.5 * statistics.median(timings.starter)
        return "noise" if faster else ""

    monkeypatch.setattr(TimingRecord, "trouble", noisy_with_submission)
    monkeypatch.setattr(timing, "PAUSES", ())
    grade = trial.grade(SOLUTION)
    assert grade["score"] == grade["extra"]["ratio_quartiles"][1]
    assert "calm without the submission" in grade["extra"]["warning"]
    assert grade["extra"]["sittings"] == 3


@pytest.mark.slow
def test_a_busy_machine_counts_only_when_asked_for_and_the_grade_says_so(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "CONTROL_TOLERANCE", -1.0)
    monkeypatch.setenv(timing.TIME_ANYWAY, "1")
    extra = trial.grade(SOLUTION)["extra"]
    assert extra["sittings"] == 1
    assert extra["warning"] == "timed on a busy machine, so not comparable"
    assert extra["busy"].startswith("the starter took")


@pytest.mark.slow
def test_grading_outside_of_a_run_waits_for_a_slot_and_says_so(trial: Trial) -> None:
    need = Need(cpus=1024, memory=2**60)
    trial.submit(STARTER)
    arguments = (trial.task, trial.data, trial.env, trial.submitted)

    async def wait_behind_another() -> None:
        with await take_slot(need, "another run"):
            grading = asyncio.create_task(
                score_submission(*arguments, announce=trial.announced.append)
            )
            while not (trial.announced or grading.done()):
                await asyncio.sleep(0.05)
            assert not [text for text in trial.announced if text == "timing"]
        assert (await grading).score is not None

    asyncio.run(wait_behind_another())
    assert trial.announced[0].startswith("waiting for a slot of 2 cores")
    assert trial.announced[0].endswith("held by another run")
    assert "timing" in trial.announced


@pytest.mark.slow
def test_programs_are_timed_on_the_cores_of_the_slot(trial: Trial) -> None:
    telling = STARTER.replace(
        "def forward(",
        "import os\nif len(os.sched_getaffinity(0)) != 1:\n    os._exit(3)\ndef forward(",
        1,
    )

    async def collect() -> None:
        async with slot_for(Need(cpus=1, memory=10**9), "one core"):
            await trial.collect(telling)

    asyncio.run(collect())
    if len(os.sched_getaffinity(0)) > 1:
        assert "ended instead of replying" in trial.reason(telling)


@pytest.mark.slow
def test_replies_go_to_disk_and_are_bounded(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    large = STARTER + "\ndef forward(*arguments):\n    return np.zeros(1_000_000)\n"
    tracemalloc.start()
    asyncio.run(trial.collect(large))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    sizes = [file.stat().st_size for file in (trial.outputs / "submission").iterdir()]
    assert sum(sizes) > 31 * 8_000_000
    assert peak < 60_000_000
    monkeypatch.setattr(timing, "MAX_REPLIES", 20_000_000)
    assert "sent more than 20,000,000 bytes of replies" in trial.reason(large)


@pytest.mark.slow
def test_all_requests_of_a_round_together_have_a_limit(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "ROUND_LIMIT", 0.2)
    slow = STARTER.replace("def forward(", "def slow(") + (
        "\nimport time\ndef forward(*arguments):\n    time.sleep(2)\n    return slow(*arguments)\n"
    )
    assert "within 6 s for all requests" in trial.reason(slow)


@pytest.mark.slow
@pytest.mark.timeout(BUSY_SECONDS)
def test_a_run_timed_on_a_busy_machine_is_missing_until_it_is_graded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vectorization"
    shutil.copytree(FOLDER, folder)
    mini = (folder / "mini.py").read_text().replace('"timed": 15', '"timed": 9')
    small = mini.replace('"height": 64, "width": 64', '"height": 32, "width": 32')
    (folder / "mini.py").write_text(small)
    task = load_folder(folder)
    ensure_ready(task, "mini", call=call_task)

    async def submit() -> Path:
        [(name, contents)] = task.solution_files().items()
        arguments = {"file_name": name, "content": contents.decode()}
        async with Environment.open(str(folder), out=tmp_path / "out") as environment:
            await environment.execute(Action(name="Write File", arguments=arguments))
            environment.finish(Outcome(kind="submitted"))
        return environment.run.path

    path = asyncio.run(submit())
    monkeypatch.setattr(timing, "PAUSES", ())
    monkeypatch.delenv(timing.TIME_ANYWAY)
    said: list[str] = []
    with busy_processes(len(os.sched_getaffinity(0))):
        [regraded] = score_runs([path], "last", said.append)
    assert regraded.grades == ()
    assert "the machine was too busy to time the submission in 1 round" in str(regraded.failure)
    assert f"run: mlagentbench runs regrade {path}" in str(regraded.failure)
    assert cause_of(read_run(find_run(path))).verdict == "missing"

    monkeypatch.setattr(timing, "CONTROL_TOLERANCE", COARSE)
    monkeypatch.setattr(machine_load, "MAX_BUSY", ANY_LOAD)
    [regraded] = score_runs([path], "last", said.append)
    assert [grade.valid for grade in regraded.grades] == [True]
    assert "busy" not in str(regraded.grades[0].extra.get("warning", ""))
    assert cause_of(read_run(find_run(path))).verdict == "counts"
