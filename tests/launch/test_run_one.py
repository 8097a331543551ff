"""What a run leaves when it cannot begin."""

from io import StringIO
from pathlib import Path

import pytest
from fake_nvidia_smi import write_fake_nvidia_smi
from number_task import write_number_task

from mlagentbench.launch.plans.plan_state import plan_state
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import run_suite
from mlagentbench.runs.results import find_run
from mlagentbench.terminal import Terminal

pytestmark = pytest.mark.slow


def test_a_run_that_gets_no_slot_says_why(
    tmp_path: Path, kept_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))
    write_fake_nvidia_smi(tmp_path, monkeypatch)
    (tmp_path / "gpus.xml").write_text("no xml")
    task = write_number_task(tmp_path)
    request = SuiteRequest.read(tasks=str(task), agents="nop", out=tmp_path / "out")
    outcome = run_suite(request, Terminal(file=StringIO()))
    assert outcome.missing == 1
    [state] = plan_state(tmp_path / "out").runs
    assert state.state == "failed"
    assert state.cause is not None and "cannot read what nvidia-smi -q -x prints" in state.cause


def test_a_run_does_not_continue_on_other_data(
    tmp_path: Path, kept_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))
    task = write_number_task(tmp_path)
    request = SuiteRequest.read(tasks=str(task), agents="nop", out=tmp_path / "out")
    [result] = run_suite(request, Terminal(file=StringIO())).results
    run = find_run(tmp_path / "out" / result.path)
    for file in (run.journal, run.grades):
        file.unlink()
    recorded = result.record.disclosure.data_hash
    run.run_json.write_text(run.run_json.read_text().replace(recorded, "0" * 64))
    assert run_suite(request, Terminal(file=StringIO())).missing == 1
    [state] = plan_state(tmp_path / "out").runs
    assert state.cause is not None and "was begun on data with hash 000000000000" in state.cause
    failure = run.failure.read_text()
    assert recorded[:12] in failure and failure.endswith("; use another --out")
