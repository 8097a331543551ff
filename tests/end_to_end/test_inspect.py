"""The plug-in, from Inspect's side: its command line, its tools, its log."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.agent import Agent, AgentState, agent, react
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from number_task import STARTER, write_number_task

from mlagentbench import action_tools, current_environment
from mlagentbench.analysis.analyse import summarise
from mlagentbench.inspect_plugin import grade_submission, oracle, registered_task
from mlagentbench.launch.request import read_settings
from mlagentbench.runs.results import collect, run_directories
from mlagentbench.statistics.cells import cell_statistics

pytestmark = pytest.mark.slow

INSPECT = Path(sys.prefix) / "bin" / "inspect"


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


def number_task(tmp_path: Path, **settings: Any) -> Task:
    folder = write_number_task(tmp_path)
    return registered_task(str(folder), read_settings(settings, str))


def calls(*planned: tuple[str, dict[str, str]]) -> Model:
    """A model that calls these tools one after the other."""
    outputs = [ModelOutput.for_tool_call("mockllm", name, values) for name, values in planned]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return get_model("mockllm/model", custom_outputs=outputs)


@agent
def with_our_actions() -> Agent:
    async def execute(state: AgentState) -> AgentState:
        return await react(tools=action_tools(current_environment()))(state)

    return execute


def run(task: Task, tmp_path: Path, **options: Any) -> EvalLog:
    [log] = eval(task, log_dir=str(tmp_path / "logs"), display="none", **options)
    return log


def test_the_command_line_of_inspect_runs_an_agent_of_ours(tmp_path: Path) -> None:
    folder = write_number_task(tmp_path)
    command: list[str | Path] = [
        INSPECT,
        "eval",
        "mlagentbench/folder",
        "-T",
        f"path={folder}",
        "--model",
        "none",
    ]
    result = subprocess.run(
        [*command, "--solver", "mlagentbench/baseline", "--log-dir", "logs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    [log_file] = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(log_file))
    assert log.status == "success" and log.samples is not None
    scored = (log.samples[0].scores or {})["grade_submission"]
    assert scored.metadata is not None
    grade, disclosure = scored.metadata["grade"], scored.metadata["disclosure"]
    expected = {"score", "floor", "bar", "reference", "normalised", "success", "valid", "reason"}
    assert expected | {"paper_improvement", "paper_success"} <= grade.keys()
    assert disclosure["agent"] == "baseline" and disclosure["model"] == "none"
    assert disclosure["task"] == "numbers" and disclosure["tier"] == "mini"
    [found] = collect(tmp_path / "logs")
    assert found.grade is not None and found.grade.score == grade["score"]


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    folder = write_number_task(tmp_path)
    command: list[str | Path] = [
        INSPECT,
        "eval",
        "mlagentbench/folder",
        "-T",
        f"path={folder}",
        "-T",
        "teir=mini",
    ]
    result = subprocess.run(
        [*command, "--model", "none"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode != 0
    output = result.stdout + result.stderr
    assert "-T teir" in output and "tier, profile, draw" in output and "Traceback" not in output


def test_a_model_acts_with_our_actions_as_tools(tmp_path: Path) -> None:
    better = STARTER.replace("slope = 1 + random.gauss(0, 0.02)", "slope = 3.0")
    model = calls(
        ("list_files", {}),
        ("read_file", {"file_name": "../../etc/shadow"}),
        ("write_file", {"file_name": "test.csv", "content": "id,x"}),
        ("write_file", {"file_name": "train.py", "content": better}),
        ("execute_script", {"script_name": "train.py"}),
        ("validate_submission", {}),
        ("final_answer", {"final_answer": "slope 3"}),
    )
    log = run(number_task(tmp_path), tmp_path, model=model, solver=with_our_actions())
    assert log.status == "success"
    [found] = collect(tmp_path / "logs")
    assert found.outcome is not None and found.outcome.kind == "submitted"
    assert found.usage.steps == 7
    assert found.grade is not None and found.grade.score is not None and found.grade.score < 0.2
    assert found.record.disclosure.agent == "with_our_actions"
    assert found.record.disclosure.model == "mockllm/model"
    journal = (tmp_path / "logs" / found.path / "journal.jsonl").read_text()
    statuses = [
        line["observation"].get("status", "ok")
        for line in map(json.loads, journal.splitlines())
        if line["kind"] == "end"
    ]
    assert statuses == ["ok", "refused", "refused", "ok", "ok", "ok", "ok"]


def test_the_step_budget_ends_a_foreign_agent(tmp_path: Path) -> None:
    model = calls(*[("list_files", {})] * 6)
    task = number_task(tmp_path, max_steps=3)
    log = run(task, tmp_path, model=model, solver=with_our_actions())
    assert log.status == "success"
    [found] = collect(tmp_path / "logs")
    assert found.outcome is not None and found.outcome.kind == "steps"
    assert found.grade is not None and not found.grade.valid


def test_metrics_see_every_run(tmp_path: Path) -> None:
    log = run(number_task(tmp_path), tmp_path, model="none", solver=oracle(), epochs=3)
    assert log.results is not None
    found = {score.name: score for score in log.results.scores}
    assert set(found) == {"score", "normalised", "success"}
    assert found["score"].scored_samples == 3
    means = {name: metric.value for name, metric in found["score"].metrics.items()}
    assert means["mlagentbench/mean"] == pytest.approx(0.08, abs=0.05)
    assert means["mlagentbench/stderr"] == pytest.approx(0, abs=1e-9)

    runs = run_directories(tmp_path / "logs")
    [cell] = cell_statistics([summarise(one, str(tmp_path / "logs")) for one in runs])
    assert means["mlagentbench/mean"] == cell.score.mean
    assert means["mlagentbench/stderr"] == cell.score.standard_error
    assert found["success"].scored_samples == cell.success.n


def test_a_log_can_be_scored_again(tmp_path: Path) -> None:
    log = run(number_task(tmp_path), tmp_path, model="none", solver=oracle())
    again = score(log, grade_submission(), display="none")
    assert again.samples is not None and log.samples is not None
    first, second = log.samples[0].scores, again.samples[0].scores
    assert first is not None and second is not None
    assert second["grade_submission"].value == first["grade_submission"].value
