"""The package of docs/extending.md, installed and used through the command line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Run
from inspect_ai.log import read_eval_log
from number_task import write_number_task
from plugin_packages import install_plugin, with_plugins
from wire_formats import WRITTEN, ChatCompletions
from wire_servers import WireServer

from mlagentbench.runs.results import collect, find_run

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
WIRE = ChatCompletions("openai-api/own/model", "OWN")


@pytest.fixture
def variables(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Those of a process that finds the page's package, and a model that runs the starter."""
    rules, scores, engine = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    modules = {"house_rules": rules, "house_rules_scores": scores, "house_rules_engine": engine}
    site = tmp_path / "site"
    install_plugin(site, "house-rules", modules)
    with WireServer(WIRE.aside).running() as server:
        server.plan(
            WIRE.text(action("List Files", dir_path=".")),
            WIRE.text(action("Execute Script", script_name="train.py")),
            WIRE.text(action("Final Answer", final_answer="done")),
        )
        yield {**WIRE.variables(server.url), "PYTHONPATH": with_plugins(site)["PYTHONPATH"]}


def action(name: str, **arguments: str) -> str:
    return f"Action: {name}\nAction Input: {json.dumps(arguments)}\n"


def test_a_package_adds_a_limit_a_sandbox_and_an_export(
    tmp_path: Path, run: Run, variables: dict[str, str]
) -> None:
    write_number_task(tmp_path)
    limit = str(2 * WRITTEN)
    options = ("--models", WIRE.model, "--sandbox", "throwaway", "--max-output-tokens", limit)
    command = ("run", "--tasks", "./numbers", "--agents", "act", "--out", "out")
    assert "sandbox throwaway" in run(*command, *options, **variables).stdout
    [cut_off] = collect(tmp_path / "out")
    facts = cut_off.record.disclosure
    assert cut_off.outcome is not None and cut_off.outcome.kind == "output_tokens"
    assert cut_off.outcome.detail == f"all {limit} output tokens are used"
    assert facts.limits["output_tokens"] == 2 * WRITTEN
    assert (facts.sandbox, facts.isolation) == ("throwaway", "a virtual machine for each run")

    place = str(find_run(tmp_path / "out" / cut_off.path).path)
    assert "raise --max-output-tokens" in run("resume", place, **variables).stderr
    run("resume", place, "--max-output-tokens", "100000", **variables)
    [ended] = collect(tmp_path / "out")
    assert ended.outcome is not None and ended.outcome.kind == "submitted"
    assert ended.grade is not None and ended.grade.valid
    assert ended.record.disclosure.limits["output_tokens"] == 100_000

    run("report", "out", "--scores", **variables)
    written = (tmp_path / "out" / "report" / "scores" / "scores.txt").read_text()
    assert written == f"{ended.path}: {ended.grade.score}\n"
    pages = "".join(page.read_text() for page in (tmp_path / "out" / "report").rglob("*.html"))
    assert "100,000 output tokens" in pages


def test_a_package_adds_an_engine(tmp_path: Path, run: Run, variables: dict[str, str]) -> None:
    write_number_task(tmp_path)
    command = ("run", "--tasks", "./numbers", "--agents", "nop,oracle", "--out", "out")
    run(*command, "--runs", "2", "--engine", "one-by-one", **variables)
    results = collect(tmp_path / "out")
    assert len(results) == 4 and all(result.grade is not None for result in results)
    logs = [read_eval_log(str(log)) for log in (tmp_path / "out" / "logs").glob("*.eval")]
    assert [len(log.samples or ()) for log in logs] == [1] * 4
    unknown = run(*command, "--engine", "one-by-on", expect=2, **variables)
    assert "--engine one-by-on: unknown engine 'one-by-on'; did you mean one-by-one?" in (
        unknown.stderr
    )
    refused = run(*command, "--engine", "one-by-one", "--interactive", expect=2, **variables)
    assert "--interactive" in refused.stderr


def test_a_report_needs_no_package_of_the_runs(
    tmp_path: Path, run: Run, variables: dict[str, str]
) -> None:
    write_number_task(tmp_path)
    command = ("run", "--tasks", "./numbers", "--agents", "nop", "--out", "out")
    run(*command, "--sandbox", "throwaway", "--max-output-tokens", "7", **variables)
    run("report", "out")
    pages = "".join(page.read_text() for page in (tmp_path / "out" / "report").rglob("*.html"))
    assert "output_tokens 7" in pages and "sandbox throwaway" in pages
    place = next((tmp_path / "out").glob("runs/*/*/*/*/1"))
    refused = run("resume", str(place), "--max-steps", "20", expect=2)
    assert "unknown limit 'output_tokens'" in refused.stderr
