"""The real AIDE inside the sandbox, on a real task; the model is scripted."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from foreign_runs import run_foreign
from inspect_ai.model import ModelOutput
from number_task import SOLUTION, STARTER
from scripted_model import Said, scripted_by, tool_call

from mlagentbench.agents.external.aide import aide
from mlagentbench.agents.registry import AGENTS
from mlagentbench.errors import UsageError
from mlagentbench.tasks.python_env.env import ensure_python_env

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("foreign_agents")]


def script(code: str) -> str:
    """A reply with the number task's script, which writes where AIDE wants it."""
    moved = code.replace('"test.csv"', '"input/test.csv"').replace(
        '"submission', '"working/submission'
    )
    return f"A line through the origin.\n```python\n{moved}\n```"


def review(metric: float, **other: Any) -> ModelOutput:
    found = {"is_bug": False, "summary": "It fits.", "metric": metric, "lower_is_better": True}
    return tool_call("submit_review", **(found | other))


def test_its_tree_survives_and_the_best_nodes_submission_is_handed_in(tmp_path: Path) -> None:
    asked: list[str] = []

    def model(*replies: Said) -> Any:
        left = iter(replies)

        def answer(messages: Any, *_: Any) -> Said:
            asked.append(messages[-1].text)
            return next(left)

        return scripted_by(answer)

    settings: dict[str, Any] = {"steps": 3, "num_drafts": 1}
    first = model(script(SOLUTION), review(0.08), RuntimeError("no capacity"))
    run = run_foreign(tmp_path, aide(**settings), first)
    assert run.result.outcome is not None
    assert (run.result.outcome.kind, run.result.outcome.cause) == ("failed", "model")
    assert "AIDE: node 0, draft: Metric↓(0.0800)" in run.output
    assert "validation mae=2.0" in run.output, "what its scripts print is in the run's log"
    assert "Predict y from x" in asked[0] and "./working/submission.csv" in asked[0]
    assert "only these are: numpy" in asked[0] and "train.csv (201 lines)" in asked[0]

    worse = review(2.0, lower_is_better=False)
    second = model(script(STARTER), worse, script(SOLUTION), "It fits, I should say.")
    run = run_foreign(tmp_path, aide(**settings), second)
    assert "the agent is restarted" in run.notes and "exit code 0, after 4 model calls" in run.notes
    assert "Validation Metric: 0.08" in asked[3], "the tree of before is there again"
    assert "AIDE: node 1, improve: Metric↓(2.0000)" in run.output
    assert "TypeError: string indices" in run.output, "a review that AIDE cannot use is not the end"
    assert run.result.outcome is not None and run.result.outcome.kind == "submitted"
    assert run.result.usage.steps == 6
    assert run.result.grade is not None and run.result.grade.score is not None
    assert run.result.grade.score < 0.2, "the first node's submission, not the last one's"


def test_nothing_of_its_examples_can_be_seen() -> None:
    added = AGENTS["aide"].added_packages({})
    env = asyncio.run(ensure_python_env(["numpy>=2"], added, announce=print))
    assert env.packages["aideml"] == "0.2.2"
    [package] = env.directory.glob("lib/python*/site-packages/aide")
    assert (package / "agent.py").is_file() and not list(package.rglob("*.csv"))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(UsageError, match="should be at least 1"):
        aide(num_drafts=0)
