"""Whole runs through the command line: real sandboxes, real grading, no model."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from command_line import COMMAND, Run
from number_task import GRADE, slow_starter, write_number_task

from mlagentbench.cli import main
from mlagentbench.runs.results import collect, find_run

pytestmark = pytest.mark.slow

AGENTS = ("--agents", "nop,baseline,oracle")


def journal_of(out: Path, agent: str = "*") -> Path:
    [journal] = out.glob(f"runs/*/*/{agent}/*/*/journal.jsonl")
    return journal


def wait_until(condition: object, what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.05)
    pytest.fail(f"waited {seconds} s in vain for {what}")


def start(tmp_path: Path, variables: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "run", *arguments],
        cwd=tmp_path,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_agents_without_a_model_are_run_graded_and_shown(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    run("tasks", "measure", "./numbers", "--runs", "8", "--reference-runs", "2")
    result = run("run", "--tasks", "./numbers", *AGENTS, "--runs", "2", "--out", "out")
    assert "floor" in result.stdout
    assert "oracle" in result.stdout
    found = {(r.record.disclosure.agent, r.record.epoch): r for r in collect(tmp_path / "out")}
    assert len(found) == 6
    for epoch in (1, 2):
        nop, baseline, oracle = (found[name, epoch] for name in ("nop", "baseline", "oracle"))
        assert nop.grade is not None and baseline.grade is not None and oracle.grade is not None
        assert nop.grade.score is None and "submission.csv not found" in (nop.grade.reason or "")
        assert nop.grade.success is False
        assert baseline.grade.valid and baseline.grade.success is False
        assert oracle.grade.success is True and oracle.grade.paper_success is True
        assert oracle.grade.normalised == pytest.approx(1, abs=0.2)
        assert oracle.outcome is not None and oracle.outcome.kind == "submitted"
        assert oracle.usage.steps == 3
    facts = found["oracle", 1].record.disclosure
    assert facts.sandbox == "bubblewrap" and facts.isolation.startswith("bubblewrap: ")
    assert facts.draw == "public" and facts.data_verified and facts.network is False
    assert facts.feedback == "none" and facts.limits["steps"] == 10
    scores = {r.grade.score for (agent, _), r in found.items() if agent == "baseline" and r.grade}
    assert len(scores) == 2, "each run has a seed of its own"


def test_the_same_command_again_does_nothing_twice(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    command = ("run", "--tasks", "./numbers", "--agents", "baseline", "--out", "out")
    run(*command)
    before = journal_of(tmp_path / "out").read_bytes()
    again = run(*command, "--json")
    assert journal_of(tmp_path / "out").read_bytes() == before
    assert json.loads(again.stdout)["missing"] == 0
    more = json.loads(run(*command, "--runs", "3", "--json").stdout)
    assert len(more["runs"]) == 3
    [first] = (tmp_path / "out").glob("runs/*/*/*/*/1/journal.jsonl")
    assert first.read_bytes() == before


def test_runs_with_other_settings_in_the_same_directory_do_not_count(
    tmp_path: Path, run: Run
) -> None:
    write_number_task(tmp_path)
    command = ("run", "--tasks", "./numbers", "--agents", "baseline", "--out", "out", "--json")
    run(*command)
    broken_grader = GRADE.replace("    answers =", "    1 / 0\n    answers =")
    write_number_task(tmp_path, grade_py=broken_grader)
    values = json.loads(run(*command, "--max-steps", "5", expect=1).stdout)
    assert values["missing"] == 1
    [only] = values["runs"]
    assert only["record"]["disclosure"]["limits"]["steps"] == 5 and only["grade"] is None


def _alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(
    tmp_path: Path, run: Run, environment_variables: dict[str, str]
) -> None:
    write_number_task(tmp_path, starter=slow_starter(5))
    arguments = ("--tasks", "./numbers", "--agents", "baseline", "--out", "out")
    harness = start(tmp_path, environment_variables, *arguments)
    log = lambda: list((tmp_path / "out").glob("runs/*/*/*/*/*/output.log"))  # noqa: E731
    wait_until(lambda: log() and b"begun" in log()[0].read_bytes(), "the starter")
    family = psutil.Process(harness.pid).children(recursive=True)
    os.killpg(harness.pid, signal.SIGINT)
    output, _ = harness.communicate(timeout=60)
    assert harness.returncode == 130, output
    assert "run the same command again" in output
    assert "mlagentbench run --tasks ./numbers" in output
    assert "Traceback" not in output
    wait_until(lambda: not any(_alive(process) for process in family), "the sandbox's end", 30)
    run("run", *arguments)
    [result] = collect(tmp_path / "out")
    assert result.grade is not None and result.grade.valid


def test_a_grader_that_fails_is_no_score(tmp_path: Path, run: Run) -> None:
    broken = GRADE.replace("    answers =", "    1 / 0\n    answers =")
    write_number_task(tmp_path, grade_py=broken)
    arguments = ("run", "--tasks", "./numbers", "--agents", "baseline", "--out", "out")
    result = run(*arguments, expect=1)
    assert "ZeroDivisionError" in result.stderr
    assert "failed: 1 of 1 run;" in result.stderr
    [ungraded] = collect(tmp_path / "out")
    assert ungraded.grade is None and "ZeroDivisionError" in (ungraded.failure or "")
    write_number_task(tmp_path)
    run(*arguments)
    [graded] = collect(tmp_path / "out")
    assert graded.grade is not None and graded.failure is None
    assert graded.usage.steps == 2, "only the grading was done again"


def test_a_budget_of_steps_ends_a_run_and_the_workspace_is_graded(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    run("run", "--tasks", "./numbers", "--agents", "oracle", "--out", "out", "--max-steps", "2")
    [result] = collect(tmp_path / "out")
    assert result.outcome is not None and result.outcome.kind == "steps"
    assert result.usage.steps == 2 and result.grade is not None and result.grade.valid


def test_a_budget_of_time_ends_a_run(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path, starter=slow_starter(60))
    run("run", "--tasks", "./numbers", "--agents", "baseline", "--out", "out", "--max-time", "3s")
    [result] = collect(tmp_path / "out")
    assert result.outcome is not None and result.outcome.kind == "time"
    assert result.grade is not None and "submission.csv not found" in (result.grade.reason or "")


def test_score_grades_earlier_steps(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    run("run", "--tasks", "./numbers", "--agents", "oracle", "--out", "out")
    [directory] = (tmp_path / "out").glob("runs/*/*/*/*/*")
    result = run("runs", "regrade", str(directory), "--steps", "all", "--json")
    [scored] = json.loads(result.stdout)
    assert [grade["step"] for grade in scored["grades"]] == [0, 1, 2, 3]
    assert [grade["valid"] for grade in scored["grades"]] == [False, False, True, True]
    assert scored["grades"][2]["score"] == scored["grades"][3]["score"]
    assert (
        "last step is 3" in run("runs", "regrade", str(directory), "--steps", "9", expect=2).stderr
    )
    assert (
        "expected last, all"
        in run("runs", "regrade", str(directory), "--steps", "x", expect=2).stderr
    )
    assert "is not a run" in run("runs", "regrade", "out", expect=2).stderr
    assert find_run(directory).relative.parts[0] == "runs"


def test_a_moved_output_directory_can_be_graded(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    run("run", "--tasks", "./numbers", "--agents", "baseline", "--out", "out")
    (tmp_path / "out").rename(tmp_path / "moved")
    [directory] = (tmp_path / "moved").glob("runs/*/*/*/*/*")
    [scored] = json.loads(run("runs", "regrade", str(directory), "--json").stdout)
    assert scored["grades"][0]["valid"]


def test_without_isolation_when_asked_for_by_name(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    arguments = ("run", "--tasks", "./numbers", "--agents", "oracle", "--out", "out")
    result = run(*arguments, "--sandbox", "local")
    assert "sandbox local" in result.stdout
    [found] = collect(tmp_path / "out")
    assert found.record.disclosure.sandbox == "local"
    assert found.record.disclosure.isolation == "none"
    assert found.grade is not None and found.grade.valid
    refused = run(*arguments, "--sandbox", "podman", expect=2)
    known = "known: bubblewrap, docker, local"
    assert f"--sandbox podman: unknown sandbox 'podman'; {known}" in refused.stderr


def test_feedback_without_a_hold_out_is_refused_at_once(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    arguments = ("run", "--tasks", "./numbers", "--agents", "baseline", "--out", "out")
    refused = run(*arguments, "--feedback", "validation:3", expect=2)
    assert "hold_out" in refused.stderr
    assert "expected none or validation:N" in run(*arguments, "--feedback", "x", expect=2).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tasks", "house-prize", "--agents", "nop"), "did you mean house-price?"),
        (("--tasks", "house-price", "--agents", "orakle"), "did you mean oracle?"),
        (("--tasks", "house-price", "--agents", "nop(steps=3)"), "agent nop"),
        (("--tasks", "house-price", "--agents", "nop(x"), "not of the form"),
        (("--tasks", "house-price", "--agents", "nop", "--max-time", "soon"), "--max-time soon"),
        (("--tasks", "house-price", "--agents", "nop", "--max-time", "0s"), "--max-time 0s: it sh"),
        (("--tasks", "house-price", "--agents", "nop", "--max-cost", "1"), "--prices FILE"),
        (("--tasks", "house-price", "--agents", "nop", "--max-cost", "0"), "greater than 0"),
        (("--tasks", "house-price", "--agents", "nop", "--role", "edit"), "ROLE=MODEL"),
        (("--tasks", "house-price", "--agents", "nop", "--role", "edit=gpt"), "ROLE=MODEL"),
        (("--tasks", "house-price", "--agents", "nop", "--role", "edit=no/gpt"), "model no/gpt: "),
        (
            ("--tasks", "house-price", "--agents", "nop", "--models", "openai/gpt-5"),
            "none of these agents uses a",
        ),
        (("--tasks", "./nowhere", "--agents", "nop"), "task.toml not found"),
        (("--tasks", "", "--agents", "nop"), "no task is named"),
        (("--tasks", "house-price", "--agents", ""), "at least one"),
        (("--suite", "papr", "--agents", "nop"), "did you mean paper?"),
        (("--suite", "quick", "--tasks", "cifar10", "--agents", "nop"), "both tasks and a suite"),
        (("--tasks", "cifar10", "--agents", "nop", "--variant", "both"), "tasks that have one: f"),
    ],
)
def test_bad_input_gets_one_clear_line(
    tmp_path: Path, kept_home: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    """Within this process: starting the command once for each mistake would show no more."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))
    monkeypatch.setattr(sys, "argv", ["mlagentbench", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    *started, complaint = printed.err.splitlines()
    assert ended.value.code == 2 and said in complaint and printed.out == ""
    # Models are checked after a line that says what is run, because loading Inspect takes a while.
    assert all(line.startswith("runs: 1; results go to ") for line in started)


def test_bad_input_is_an_exit_code_of_the_process(run: Run) -> None:
    refused = run("run", "--tasks", "house-prize", "--agents", "nop", expect=2)
    assert "did you mean house-price?" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1 and refused.stdout == ""


def test_the_full_tier_asks_to_be_prepared(tmp_path: Path, run: Run) -> None:
    home = str(tmp_path / "empty-home")
    arguments = ("run", "--tasks", "house-price", "--agents", "nop", "--tier", "full")
    result = run(*arguments, expect=2, MLAGENTBENCH_HOME=home)
    assert "mlagentbench tasks prepare house-price --tier full" in result.stderr


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").write_text("")
    home = str(tmp_path / "file" / "home")
    result = run("tasks", "prepare", "house-price", expect=2, MLAGENTBENCH_HOME=home)
    assert home in result.stderr and "set MLAGENTBENCH_HOME" in result.stderr


def test_missing_bubblewrap_is_named(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    only_python = str(Path(sys.prefix) / "bin")
    arguments = ("run", "--tasks", "./numbers", "--agents", "nop", "--out", "out")
    result = run(*arguments, expect=2, PATH=only_python)
    assert "apt-get install bubblewrap" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_output_directory_that_cannot_be_made_is_named(tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").write_text("")
    result = run("run", "--tasks", "house-price", "--agents", "nop", "--out", "file/out", expect=2)
    assert "--out" in result.stderr and "choose a directory" in result.stderr


def test_the_sandbox_of_this_machine_can_be_checked(run: Run) -> None:
    assert "0 failed" in run("doctor").stdout
    assert "there is no network" in run("doctor", "--sandbox").stdout
    assert "no sandbox 'podman'" in run("doctor", "--sandbox", "podman", expect=2).stderr


def test_all_tasks_or_those_of_a_suite(run: Run) -> None:
    result = run("tasks", "check", "--all", "--suite", "paper", expect=2)
    assert result.stderr == "mlagentbench: --all and --suite paper are both given; name one\n"
