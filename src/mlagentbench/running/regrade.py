"""`mlagentbench score`: grade runs again, also as they were after earlier steps."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from mlagentbench.environment.journal import read_journal
from mlagentbench.environment.run_directory import RunDirectory
from mlagentbench.errors import UsageError
from mlagentbench.evaluation.grading import grade_run
from mlagentbench.evaluation.results import find_run
from mlagentbench.records import Grade, Record


class Regraded(Record):
    """A run that was graded again, with its new grades."""

    run: str
    grades: tuple[Grade, ...]


def score_runs(
    paths: Sequence[Path], steps: str, announce: Callable[[str], None]
) -> list[Regraded]:
    """Grade each run at the steps asked for; all paths and steps are checked before any work."""
    chosen = [(run, chosen_steps(steps, len_of(run))) for run in map(find_run, paths)]
    results = []
    for run, numbers in chosen:
        grades = []
        with run.locked():
            for number in numbers:
                announce(f"grading {run.relative} after step {number}")
                grades.append(asyncio.run(grade_run(run, number)))
        results.append(Regraded(run=str(run.path), grades=tuple(grades)))
    return results


def len_of(run: RunDirectory) -> int:
    """How many steps a run has."""
    history = read_journal(run.journal)
    if history.run is None:
        raise UsageError(f"{run.path}: the run has not started; there is nothing to grade")
    return len(history.steps)


def chosen_steps(text: str, last: int) -> list[int]:
    """The step numbers that `last`, `all`, `every:N` or a list like `1,5,9` stands for."""
    if text == "last":
        return [last]
    if text == "all":
        return list(range(last + 1))
    if text.startswith("every:") and text[6:].isdecimal() and int(text[6:]) > 0:
        return sorted({*range(0, last + 1, int(text[6:])), last})
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(f"--steps {text}: expected last, all, every:N or numbers like 1,5,9")
    numbers = sorted({int(part) for part in parts})
    if numbers[-1] > last:
        raise UsageError(f"--steps {text}: the run's last step is {last}")
    return numbers
