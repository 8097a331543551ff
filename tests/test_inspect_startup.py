"""An evaluation loads the clients and protocols that it uses, and no others.

Each case is a process of its own, because what is loaded belongs to the process.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from mlagentbench.agents.registry import AGENTS
from mlagentbench.launch.request import AgentChoice

EVALUATION = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import Generate, TaskState, solver
from mlagentbench.inspect_startup import load_only_what_is_used

load_only_what_is_used()
{before}

@solver
def look():
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        {inside}
        return state
    return solve

[log] = eval(
    Task(dataset=[Sample(input="one"), Sample(input="two")], solver=look()),
    model="none", display="none", log_format="json", ctl_server=False, {options}
)
assert log.status == "success", log.error
{after}
"""
UNUSED = ("openai", "anthropic", "acp", "fastapi")


def evaluate(folder: Path, *, before: str = "", inside: str = "pass", **more: str) -> list[str]:
    program = EVALUATION.format(
        before=before,
        inside=inside,
        options=more.get("options", ""),
        after=more.get("after", ""),
    )
    script = folder / "evaluation.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def test_an_evaluation_without_a_model_loads_no_client_and_no_protocol(tmp_path: Path) -> None:
    after = f"print(*[name for name in {UNUSED} if name in sys.modules])"
    assert evaluate(tmp_path, after=after) == []


def test_a_client_that_is_used_has_a_state_for_each_sample(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    inside = (
        "from inspect_ai.model._openai_responses import assistant_internal as a; print(id(a()))"
    )
    own, other = evaluate(
        tmp_path,
        before="from mlagentbench.inspect_startup import load_clients; load_clients(); kept = []",
        inside=f"{inside}; kept.append(a())",
    )
    assert own != other


def test_agents_that_may_load_a_client_within_a_sample_are_known() -> None:
    may = {name for name in AGENTS if AgentChoice(name=name).may_call_clients}
    assert may == {"langchain", "aide", "external"}
    assert AgentChoice(name="custom", file="custom.py").may_call_clients


def test_the_protocol_is_served_when_asked_for(tmp_path: Path) -> None:
    inside = (
        "from inspect_ai.agent._acp.server import acp_server_accepting_clients as asked; "
        "print(asked(), 'acp' in sys.modules)"
    )
    assert evaluate(tmp_path, inside=inside, options="acp_server=True") == ["True"] * 4
    assert evaluate(tmp_path, inside=inside) == ["False", "True"] * 2
