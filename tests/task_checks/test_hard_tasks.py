"""The hard tiers of the suite, each on its public draw: what people write first stays below."""

import asyncio
import json
from pathlib import Path

import pytest

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.hard_coded import findings_in, hard_coded
from mlagentbench.task_checks.trial_runs import Trials
from mlagentbench.task_checks.verdicts import panel_stays_below, solution_has_room
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.suites import load_suite
from mlagentbench.tasks.task import DEFAULT, SUITE, Task, load_task

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]
HARD = load_suite("hard").tasks
KNOWN_BY_HEART = "house-price"
DRAWS = ("1", "2", "3", "4")


def trials_on(task: Task, draw: str, scratch: Path) -> Trials:
    data, python_env = ensure_ready(task, "hard", draw, call=call_task)
    return Trials(task, data, python_env, scratch, print)


def test_the_suite_names_every_hard_tier() -> None:
    found = {file.parent.parent.name for file in SUITE.glob("*/hard/make.py")}
    assert found == set(HARD)


@pytest.mark.parametrize("name", HARD)
def test_only_the_solution_succeeds(name: str, tmp_path: Path) -> None:
    task = load_task(name, "hard")
    trials = trials_on(task, "public", tmp_path)
    measured = stored_measurements(task, "hard", trials.data.hash)
    assert measured is not None, "the measurements in task.toml are of other data"
    assert set(measured.default) == set(task.panel("default"))
    assert set(measured.ablations) == set(task.panel("ablations"))
    solution = asyncio.run(trials.solution(1))
    assert solution_has_room(task, measured, solution.scored).ok, solution.scored
    assert findings_in(task, solution.output), "it says what it found"
    best = task.spec.metric.best(list(measured.default.values()))
    first = next(one for one, score in measured.default.items() if score == best)
    default = asyncio.run(trials.member(DEFAULT, first))
    assert panel_stays_below(task, measured, DEFAULT, {first: default.scored}).ok, default.scored
    mechanisms = json.loads((trials.data.private / "mechanisms.json").read_text())
    assert mechanisms, "what the draw has"


def test_who_knows_one_draw_by_heart_fails_on_others(tmp_path: Path) -> None:
    """All tasks on 20 draws: make soak ONLY=hard."""
    task = load_task(KNOWN_BY_HEART, "hard")
    successes, own, found = [], [], None
    for draw in DRAWS:
        trials = trials_on(task, draw, tmp_path / draw)
        solution = asyncio.run(trials.solution(1))
        if found is not None:
            other = asyncio.run(trials.program("by-heart", hard_coded(task, found)))
            successes.append((other.scored.score or 0.0, solution.scored.score or 0.0))
        found = findings_in(task, solution.output)
        own.append(found)
    assert len({json.dumps(one) for one in own}) == len(DRAWS), "each draw has its own"
    losses = [by_heart > 2 * fresh for by_heart, fresh in successes]
    assert sum(losses) >= len(losses) / 2, successes
