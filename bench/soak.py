"""`make soak`: tests that need many repetitions; results are written to bench/results/soak.json.

kills     Two workers on one OUT are killed with SIGKILL at 100 random moments. Then one harness is
          killed at 100 random moments, and in the middle of everything that it writes or starts.
          Each run is resumed and must become what it would have been: a whole journal, no step
          done twice, the same workspaces, the same score. Up to an hour.
replies   20,000 generated replies go through the text agents' parser: each is read, or refused by
          an error of its own, and those whose meaning is clear are read as what they mean. Minutes.
graders   Every grader gets 5,000 damaged submissions. Each is scored or invalid, and soon. Half an
          hour.
baseline  30 runs of the baseline agent on every mini task: at most one may count as a success.
          Hours.
weights   5 architectures x 20 seeds of honest models for clrs, trained for seconds each, under the
          alterations of their weights: none may be rejected. Half an hour.
cheats    Submissions to every task that do no honest work (tests/redteam/cheats/), through the real
          grading on mini data: none may reach the bar. A quarter of an hour on an idle machine.
draws     1,000 simulated suites of runs on several draws, in each of five designs: 95 % intervals
          must cover at least 90 %, and the test give false alarms in at most 8 %. Ten minutes.
oracles   The solution of every mini task runs on a draw and is rebuilt on 5 fresh ones. It must
          succeed, and be no better on the given draw than the spread over draws allows. Two hours;
          --keep DIR keeps the runs, and continues those that are there.
hard      The hard tier of every task on 60 draws: the reference is safely above all that people
          write first and all that is almost right, and below the ceiling; with the findings of
          another draw it fails on at least half of 20. Many hours; what is measured stays in the
          user data directory, and the next time continues.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import parsing
from draw_coverage import Coverage, simulated_coverage
from hard_draws import HardDraws, hard_draws
from rebuilt_oracles import RebuiltOracle, rebuilt_oracles
from stored_results import keep

from mlagentbench.records import Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import collect, run_directories
from mlagentbench.tasks.python_env.env import ensure_python_env
from mlagentbench.tasks.task import load_task, task_folders

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "redteam"))

import courses  # the tests' own runs to be killed, and how they are compared
from cheats.runner import CheatOutcome, cheat_outcomes
from fuzzed_graders import fuzz
from honest_models import HonestModels, honest_models
from killed_workers import SharedOut, killed_together
from killing import COMMAND, Course, Harness, Kill, killed_at_random, takeovers
from undisturbed import differences

SHARES: dict[Callable[[Path], Course], float] = {
    courses.react: 0.4,
    courses.act: 0.15,
    courses.steady: 0.25,
    courses.oracle: 0.1,
    courses.research: 0.1,
}
"""How much of all kills each course gets."""
IN_THE_MIDDLE = (
    ("record", 1), ("run line", 1), ("sandbox start", 1), ("reply line", 1), ("begin line", 1),
    ("snapshot", 2), ("end line", 1), ("event line", 1), ("restore", 1), ("reply line", 2),
    ("end line", 2), ("outcome line", 1), ("grading", 1), ("grade line", 1),
)  # fmt: skip
"""What one run is killed in, one after the other."""
PARTS = ("kills", "replies", "graders", "baseline", "weights", "cheats", "draws", "oracles", "hard")


class LuckyRuns(Record):
    """How often running the starter as it is passed for a success."""

    task: str
    runs: int
    successes: int
    paper_successes: int


class KilledRuns(Record):
    """What came of killing the runs of one course."""

    course: str
    kills: int
    runs: int
    met: dict[str, int]
    started_by: dict[str, int]
    torn_lines: int
    takeovers: int
    """How often a journal was continued by another process."""
    left_processes: int
    replies_asked_for_again: int
    differences: tuple[str, ...]


def killed_courses(kills: int, out: Path) -> Iterator[KilledRuns]:
    """Kill runs of every course, and compare each with an undisturbed one."""
    yield killed_workers(kills, out)
    variables = dict(os.environ)
    for make, share in SHARES.items():
        folder = out / make.__name__
        folder.mkdir()
        course = make(folder)
        undisturbed = Harness(course, folder, "undisturbed", variables)
        longest = undisturbed.finish()
        if make is courses.react:
            aimed_at = Harness(course, folder, "killed", variables)
            for moment, times in IN_THE_MIDDLE:
                print(aimed_at.kill_in(moment, times), flush=True)
            aimed_at.finish()
            yield _summary("react, in the middle of", undisturbed, [aimed_at])
        killed = []
        for harness in killed_at_random(
            course, folder, variables, round(kills * share), longest, random.Random()
        ):
            for kill in harness.kills:
                print(kill, flush=True)
            killed.append(harness)
        yield _summary(course.name, undisturbed, killed)


def _summary(name: str, undisturbed: Harness, killed: list[Harness]) -> KilledRuns:
    return _counted(
        name,
        [kill for harness in killed for kill in harness.kills],
        [harness.run for harness in killed],
        [
            f"{harness.out.name}: {difference}"
            for harness in killed
            for difference in differences(undisturbed, harness)
        ],
        asked_again=sum(harness.lost_answers for harness in killed),
    )


def killed_workers(kills: int, out: Path) -> KilledRuns:
    """Kill two workers on one OUT, and compare each run with an undisturbed one."""
    variables = dict(os.environ)
    folder = out / "workers"
    folder.mkdir()
    course = courses.steady(folder)
    undisturbed = SharedOut(course, folder, "undisturbed", variables)
    longest = undisturbed.finish() / SharedOut.runs
    shared = []
    chance = random.Random()
    for one in killed_together(SharedOut, course, folder, variables, kills, longest, chance):
        for kill in one.kills:
            print(kill, flush=True)
        shared.append(one)
    return _counted(
        f"{course.name}, two workers on one OUT",
        [kill for one in shared for kill in one.kills],
        [run for one in shared for run in run_directories(one.out)],
        [f"{one.out.name}: {found}" for one in shared for found in one.differences(undisturbed)],
    )


def _counted(
    course: str,
    kills: Sequence[Kill],
    runs: Sequence[RunDirectory],
    found: Sequence[str],
    asked_again: int = 0,
) -> KilledRuns:
    return KilledRuns(
        course=course,
        kills=len(kills),
        runs=len(runs),
        met=dict(sorted(Counter(kill.met for kill in kills).items())),
        started_by=dict(sorted(Counter(kill.started_by for kill in kills).items())),
        torn_lines=sum(kill.torn for kill in kills),
        takeovers=sum(map(takeovers, runs)),
        left_processes=sum(kill.left_processes for kill in kills),
        replies_asked_for_again=asked_again,
        differences=tuple(found),
    )


def lucky_runs(runs: int, out: Path) -> Iterator[LuckyRuns]:
    for task in sorted(task_folders()):
        tool = load_task(task).spec.tool_model
        command = ["run", "--tasks", task, "--agents", "baseline", "--runs", str(runs), "--json"]
        command += [] if tool is None else ["--role", f"tool={tool}"]
        subprocess.run([COMMAND, *command, "--out", str(out / task)], check=True,
                       capture_output=True)  # fmt: skip
        grades = [result.grade for result in collect(out / task) if result.grade is not None]
        yield LuckyRuns(
            task=task,
            runs=len(grades),
            successes=sum(bool(grade.success) for grade in grades),
            paper_successes=sum(bool(grade.paper_success) for grade in grades),
        )


class FuzzedTask(Record):
    """What a grader made of damaged submissions."""

    task: str
    scores: int
    invalid: int
    slowest_seconds: float
    faults: tuple[str, ...]


def fuzzed_graders(count: int, out: Path) -> Iterator[FuzzedTask]:
    for task in sorted(task_folders()):
        requirements = load_task(task).spec.python.requirements
        python_env = asyncio.run(ensure_python_env(requirements, announce=print))
        scratch = out / task
        scratch.mkdir()
        found = fuzz(task, count, python_env, scratch, same=False)
        yield FuzzedTask(
            task=task,
            scores=found.scores,
            invalid=found.invalid,
            slowest_seconds=round(found.slowest, 2),
            faults=tuple(found.faults[:10]),
        )


def generated(count: int, _out: Path) -> Iterator[Record]:
    yield parsing.generated_replies(count)


def is_good(measured: Record) -> bool:
    match measured:
        case KilledRuns():
            return not measured.differences and measured.left_processes == 0
        case LuckyRuns():
            return measured.successes <= 1
        case FuzzedTask():
            return not measured.faults
        case HonestModels():
            return not measured.rejected
        case CheatOutcome():
            return not measured.reached_bar
        case Coverage():
            return measured.is_as_promised
        case RebuiltOracle():
            return measured.keeps_its_score
        case HardDraws():
            return measured.holds
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--replies", type=int, default=20_000)
    parser.add_argument("--submissions", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--fresh-draws", type=int, default=5)
    parser.add_argument("--hard-draws", type=int, default=60)
    parser.add_argument("--hard-coded", type=int, default=20)
    parser.add_argument("--hard-tasks", help="comma-separated; by default the suite hard")
    parser.add_argument("--keep", type=Path, help="keeps the runs of oracles")
    parser.add_argument("--models", type=Path, help="keeps the models that weights trains")
    options = parser.parse_args()
    parts: dict[str, Callable[[Path], Iterator[Record]]] = {
        "replies": partial(generated, options.replies),
        "kills": partial(killed_courses, options.kills),
        "graders": partial(fuzzed_graders, options.submissions),
        "baseline": partial(lucky_runs, options.runs),
        "weights": partial(honest_models, options.seeds, options.models),
        "cheats": cheat_outcomes,
        "draws": lambda _: simulated_coverage(options.suites),
        "oracles": lambda out: rebuilt_oracles(COMMAND, options.fresh_draws, options.keep or out),
        "hard": lambda _: hard_draws(options.hard_tasks, options.hard_draws, options.hard_coded),
    }
    good = True
    with tempfile.TemporaryDirectory(prefix="mlagentbench-soak-") as directory:
        for part in parts if options.only is None else [options.only]:
            out = Path(directory) / part
            out.mkdir()
            stored: dict[str, list[Record]] = {}
            for one in parts[part](out):
                print(one, flush=True)
                # Hard tiers are measured task by task, so each has its own commit and machine.
                name = f"{part} {one.task}" if isinstance(one, HardDraws) else part
                stored.setdefault(name, []).append(one)
                keep("soak.json", name, stored[name])
                good = good and is_good(one)
    sys.exit(not good)


if __name__ == "__main__":
    main()
