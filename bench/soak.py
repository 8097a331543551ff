"""`make soak`: what needs many repetitions; the figures go to bench/results/soak.json.

- 30 runs of the baseline agent on every mini task: at most one may count as a success.
- The harness is killed with SIGKILL at random moments of a run; each time no process may be left,
  and the same command must bring the run to its grade.
- 20,000 generated replies go through the text agents' parser: each is read, or refused by an error
  of its own, and those whose meaning is clear are read as what they mean.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import parsing
import psutil

from mlagentbench.environment.disclosure import hardware
from mlagentbench.evaluation.results import collect
from mlagentbench.records import Record
from mlagentbench.tasks.task import task_folders

RESULTS = Path(__file__).parent / "results" / "soak.json"
MLAGENTBENCH = str(Path(sys.prefix) / "bin" / "mlagentbench")
PATIENCE = 20.0


class LuckyRuns(Record):
    """How often running the starter as it is passed for a success."""

    task: str
    runs: int
    successes: int
    paper_successes: int


class Kills(Record):
    """What came of killing the harness again and again."""

    kills: int
    left_processes: int
    runs_finished: int


def lucky_runs(task: str, runs: int, out: Path) -> LuckyRuns:
    command = ["run", "--tasks", task, "--agents", "baseline", "--runs", str(runs)]
    subprocess.run([MLAGENTBENCH, *command, "--out", str(out), "--json"], check=True,
                   capture_output=True)  # fmt: skip
    grades = [result.grade for result in collect(out) if result.grade is not None]
    return LuckyRuns(
        task=task,
        runs=len(grades),
        successes=sum(bool(grade.success) for grade in grades),
        paper_successes=sum(bool(grade.paper_success) for grade in grades),
    )


def kill_again_and_again(kills: int, out: Path) -> Kills:
    """Each run is killed once at a random moment and then brought to its end."""
    left = 0
    for number in range(1, kills + 1):
        command = ["run", "--tasks", "vectorization", "--agents", "oracle"]
        command = [MLAGENTBENCH, *command, "--out", str(out / str(number))]
        harness = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.5, 12.0))
        family = (
            psutil.Process(harness.pid).children(recursive=True) if harness.poll() is None else []
        )
        os.kill(harness.pid, signal.SIGKILL)
        harness.wait()
        _, alive = psutil.wait_procs(family, timeout=PATIENCE)
        left += len(alive)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        print(f"kill {number} of {kills}: {len(alive)} processes left")
    results = [result for place in out.iterdir() for result in collect(place)]
    finished = sum(result.grade is not None and result.grade.valid for result in results)
    return Kills(kills=kills, left_processes=left, runs_finished=finished)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--replies", type=int, default=20_000)
    options = parser.parse_args()
    replies = parsing.generated_replies(options.replies)
    print(replies)
    with tempfile.TemporaryDirectory(prefix="mlagentbench-soak-") as directory:
        out = Path(directory)
        lucky = []
        for task in sorted(task_folders()):
            lucky.append(lucky_runs(task, options.runs, out / "lucky" / task))
            print(lucky[-1])
        kills = kill_again_and_again(options.kills, out / "kills")
        print(kills)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=RESULTS.parent
    ).stdout.strip()
    facts = {
        "commit": commit,
        "machine": hardware(),
        "baseline_runs": [one.model_dump() for one in lucky],
        "kills": kills.model_dump(),
        "replies": replies.model_dump(),
    }
    RESULTS.write_text(json.dumps(facts, indent=2) + "\n")
    good = all(one.successes <= 1 for one in lucky)
    sys.exit(not (good and kills.left_processes == 0 and kills.runs_finished == kills.kills))


if __name__ == "__main__":
    main()
