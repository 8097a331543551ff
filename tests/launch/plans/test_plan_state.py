"""How far plans have come, by files alone: what hinders them, and the ends of long files."""

import json
import os
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.launch.plans import plan_state as module
from mlagentbench.launch.plans.plan import PlanFile
from mlagentbench.launch.plans.plan_state import plan_state, planned_runs, require_plans
from mlagentbench.models.sharing.outages import Outage
from mlagentbench.models.sharing.plan_limits import PlanLimits, SharingTimes
from mlagentbench.models.sharing.spending import Spending

RUNS = [f"runs/t/mini/nop-0/none/{epoch}" for epoch in (1, 2)]


def asked(out: Path, name: str, runs: list[str], at: int) -> PlanFile:
    """A plan that was asked for at that time."""
    file = PlanFile(out, name)
    file.path.parent.mkdir(parents=True, exist_ok=True)
    requests = [{"run": run, "task": "t"} for run in runs]
    file.path.write_text(json.dumps({"requests": requests}))
    os.utime(file.path, (at, at))
    return file


def fail(file: PlanFile) -> None:
    for run in planned_runs([file]):
        run.directory.path.mkdir(parents=True)
        run.directory.failure.write_text("it failed")


def test_only_plans_with_open_runs_are_hindered(tmp_path: Path) -> None:
    replaced = asked(tmp_path, "aa", RUNS[:1], at=1000)
    last = asked(tmp_path, "bb", RUNS, at=2000)
    for file in (replaced, last):
        PlanLimits(spend=1.0).write(file.directory)
    Spending(replaced.directory).add(1.0)
    assert plan_state(tmp_path).hindered == ()
    Outage(last.directory, "openai", SharingTimes.chosen()).begin("503: overloaded")
    [reason] = plan_state(tmp_path).hindered
    assert reason.startswith("openai does not answer")
    fail(last)
    state = plan_state(tmp_path)
    assert state.is_over and len(state.of("failed")) == 2 and state.hindered == ()


def test_an_out_without_plans_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no plans; name the --out directory"):
        require_plans(tmp_path)
    file = asked(tmp_path, "aa", RUNS, at=1000)
    assert require_plans(tmp_path) == [file]


@pytest.mark.parametrize("length", [10, 8150, 9000, 2_000_000])
def test_long_grades_and_outcomes_are_read_from_the_ends_of_their_files(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [run] = planned_runs([asked(tmp_path, "aa", RUNS[:1], at=1000)])
    folder = run.directory.path
    folder.mkdir(parents=True)
    outcome = {"kind": "submitted", "detail": "x" * length}
    line = {"kind": "outcome", "outcome": outcome, "usage": {"steps": 2}}
    (folder / "journal.jsonl").write_text(json.dumps(line) + "\n")
    (folder / "grades.jsonl").write_text(json.dumps({"step": 2, "reason": "y" * length}) + "\n")
    monkeypatch.setattr(module, "is_finished", lambda *_: pytest.fail("it reads whole files"))
    assert run.state().state == "done"
