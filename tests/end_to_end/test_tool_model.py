"""Tasks whose programs use a model: who answers, what is kept, what a result says."""

import json
from pathlib import Path

import pytest
from chains import faults, rechain
from command_line import Run

from mlagentbench.program_services.tool_model import (
    read_cached_replies,
    read_logged_replies,
    request_key,
)
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import collect, run_directories

pytestmark = pytest.mark.slow

TASK = ("run", "--tasks", "bibtex-generation", "--out", "out")
READER = ("--role", "tool=mlagentbench/reader")


def test_an_agent_without_a_model_needs_the_role(run: Run) -> None:
    result = run(*TASK, "--agents", "nop", expect=2)
    assert "needs a model that the submitted program can use: --role tool=" in result.stderr


def test_the_services_need_our_sandbox(run: Run) -> None:
    result = run(*TASK, "--agents", "nop", *READER, "--sandbox", "local", expect=2)
    assert "uses a model, which needs one of: bubblewrap" in result.stderr


def test_other_roles_than_tool_are_refused_where_there_is_no_agent(run: Run) -> None:
    for verb in ("check", "measure"):
        result = run("tasks", verb, "bibtex-generation", "--role", "edit=a/b", expect=2)
        assert "only the role tool is used here" in result.stderr


def test_a_run_is_graded_with_the_model_and_again_without(tmp_path: Path, run: Run) -> None:
    rate = ("--max-rate", "mlagentbench=100000")
    shown = run(*TASK, "--agents", "baseline", *READER, *rate).stdout
    assert "tool model mlagentbench/reader; one grading used 120 replies (0 of them stored" in shown
    (result,) = collect(tmp_path / "out")
    assert result.record.disclosure.roles == {"tool": "mlagentbench/reader"}
    assert result.usage.input_tokens > 1000, "what the starter asked while it ran is the run's own"
    assert result.grade is not None and result.grade.tool is not None
    assert result.grade.success is False
    assert (result.grade.tool.calls, result.grade.tool.cached_calls) == (120, 0)
    asked = read_logged_replies(RunDirectory(tmp_path / "out", Path(result.path)).asked)
    tickets = list((tmp_path / "out" / "plans").glob("*/calls/mlagentbench/call-*"))
    assert len(tickets) == len(asked) + 120, "programs share the plan's rate, also in grading"

    again = json.loads(run("runs", "regrade", f"out/{result.path}", "--json").stdout)[0]["grades"][
        0
    ]
    assert again["score"] == result.grade.score
    assert (again["tool"]["calls"], again["tool"]["cached_calls"]) == (120, 120)
    assert again["tool"]["input_tokens"] == result.grade.tool.input_tokens

    as_if_answered_by(RunDirectory(tmp_path / "out", Path(result.path)), "openai/not-here")
    replayed = run("runs", "replay", f"out/{result.path}").stdout
    assert "reproduced; 2 steps: 2 same; scores that agree: 1 of 1" in replayed
    for out in (tmp_path / "out", tmp_path / "out" / "replays"):
        for one in run_directories(out):
            assert one.replies.exists() and faults(one) == []


def as_if_answered_by(run: RunDirectory, model: str) -> None:
    """Let a run's tool model have been one that nobody can ask here."""
    run.run_json.write_text(run.run_json.read_text().replace("mlagentbench/reader", model))
    kept = [
        line.model_copy(update={"model": model, "key": request_key(model, line.request)})
        for line in read_cached_replies(run.replies)
    ]
    run.replies.write_bytes(b"".join(line.model_dump_json().encode() + b"\n" for line in kept))
    rechain(run)
