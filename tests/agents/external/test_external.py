"""Command-line agents inside the sandbox: real programs, a real bridge; the model is scripted."""

from pathlib import Path
from typing import Any

import pytest
from foreign_runs import run_foreign
from number_task import SOLUTION, write_number_task
from scripted_model import Said, scripted, scripted_by

from mlagentbench.agents.external.external import external
from mlagentbench.errors import UsageError
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import run_suite
from mlagentbench.terminal import Terminal

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "tiny_agent"
TINY: dict[str, Any] = {
    "command": "python $MLAGENTBENCH_AGENT/tiny_agent.py",
    "files": str(EXAMPLE),
}


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("foreign_agents")]


def test_the_example_solves_a_task(tmp_path: Path) -> None:
    asked: list[str] = []
    look = "ls /home/agent; env; python -c 'import funcy'"
    replies = iter([f"```bash\n{look}\npython - <<'END'\n{SOLUTION}\nEND\n```", "DONE"])

    def answer(messages: Any, *_: Any) -> Said:
        asked.append(messages[-1].text)
        return next(replies)

    agent = external(**TINY, requirements=["funcy"])
    run = run_foreign(tmp_path, agent, scripted_by(answer))
    assert run.result.grade is not None and run.result.grade.score is not None
    assert run.result.grade.score < 0.2
    assert run.result.outcome is not None and run.result.outcome.kind == "submitted"
    assert run.result.outcome.detail == "the agent ended with exit code 0"
    assert "Predict y from x" in asked[0]
    seen = set(asked[1].split())
    assert {"PROBLEM.md", "OPENAI_BASE_URL=http://127.0.0.1:13131/v1"} <= seen
    assert "ModuleNotFoundError:" not in seen
    assert {"MLAGENTBENCH_STEPS_LEFT=10", "MLAGENTBENCH_BETTER=lower"} <= seen
    assert [step.action.name for step in run.history.steps] == ["Model Call"] * 2
    assert [line.step for line in run.history.replies] == [1, 2]
    assert run.history.usage.input_tokens == 20
    assert "validation mae=2.0" in run.history.steps[0].observation.text
    assert "validation mae=2.0" in run.output
    assert run.history.run is not None
    first, last = (step.snapshot for step in run.history.steps)
    assert run.history.run.snapshot != first == last, "what it made of a reply is in that step"
    assert "exit code 0, after 2 model calls; its last output:" in run.notes
    assert "files have sha256" in run.notes


def test_a_run_that_failed_goes_on_with_the_agent_started_again_until_the_budget_ends_it(
    tmp_path: Path,
) -> None:
    broken = scripted("```bash\necho mine > mine.txt\n```", RuntimeError("no capacity"))
    run = run_foreign(tmp_path, external(**TINY), broken, max_steps=3)
    assert run.result.outcome is not None
    assert (run.result.outcome.kind, run.result.outcome.cause) == ("failed", "model")
    again = scripted_by(lambda *_: "```bash\ncat mine.txt; echo $MLAGENTBENCH_STEPS_LEFT left\n```")
    run = run_foreign(tmp_path, external(**TINY), again, max_steps=3)
    assert "the agent is restarted on the current workspace" in run.notes
    assert run.output.count("mine\n2 left\n\n[exit code 0]") == 2, "it acted on its last reply, too"
    assert run.result.outcome is not None and run.result.outcome.kind == "steps"
    assert run.result.usage.steps == 3 and len(run.history.replies) == 3
    assert "the agent was cut off, after 2 model calls" in run.notes


def test_a_command_that_fails_before_it_asks_is_no_result(tmp_path: Path) -> None:
    run = run_foreign(tmp_path, external(command="no_such_agent --go"), scripted())
    assert run.result.outcome is not None
    assert (run.result.outcome.kind, run.result.outcome.cause) == ("failed", "harness")
    assert "exit code 127, without a model call" in run.result.outcome.detail
    assert "no_such_agent: command not found" in run.result.outcome.detail


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"sandbox": "local"}, "--sandbox local: agent external is an in-sandbox agent"),
        ({"feedback": "validation:3"}, "agent external has no actions"),
    ],
)
def test_where_it_cannot_live_is_said_at_once(
    tmp_path: Path, settings: dict[str, Any], reason: str
) -> None:
    request = SuiteRequest.read(
        tasks=str(write_number_task(tmp_path)), agents='external(command="true")',
        models="mockllm/model", runs=1, out=tmp_path, jobs=1, roles=[], prices=None, **settings,
    )  # fmt: skip
    with pytest.raises(UsageError, match=reason):
        run_suite(request, Terminal())


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: no such folder"):
        external(command="true", files=str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="should be a list"):
        external(command="true", requirements="numpy")  # type: ignore[arg-type]
