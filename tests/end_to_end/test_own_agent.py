"""An agent of one's own: the one of the docs, run as the docs say, and what can be wrong."""

import json
import re
from pathlib import Path

import pytest
from command_line import Run
from number_task import write_number_task
from wire_formats import ChatCompletions
from wire_servers import WireServer

from mlagentbench.agents.custom_agent import load_agent
from mlagentbench.errors import UsageError
from mlagentbench.runs.results import collect

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "agents" / "your-own.md"
WIRE = ChatCompletions("openai-api/own/model", "OWN")


def code_of_the_page() -> str:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_has_an_agent_of_thirty_lines() -> None:
    lines = [line for line in code_of_the_page().splitlines() if line.strip()]
    assert len(lines) <= 33


def test_the_agent_of_the_page_runs(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    (tmp_path / "my_agent.py").write_text(code_of_the_page())
    said = [
        "I will run the starter.",
        json.dumps({"action": "Execute Script", "input": {"script_name": "train.py"}}),
        json.dumps({"action": "Final Answer", "input": {"final_answer": "done"}}),
    ]
    with WireServer(WIRE.aside).running() as server:
        server.plan(*map(WIRE.text, said))
        result = run(
            "run", "--tasks", "./numbers", "--agents", "./my_agent.py(window=6)", "--models",
            WIRE.model, "--out", "out", **WIRE.variables(server.url),
        )  # fmt: skip
        assert len(server.requests) == 3
        assert "Not understood" in json.dumps(server.requests[1].body)
    [found] = collect(tmp_path / "out")
    assert found.grade is not None and found.grade.valid
    facts = found.record.disclosure
    assert (facts.agent, facts.agent_settings) == ("my_agent", {"window": 6})
    assert found.usage.input_tokens > 0 and "my_agent" in result.stdout


@pytest.mark.parametrize(
    ("source", "address", "reason"),
    [
        ("", "a.py", "no function is decorated with @solver"),
        ("import no_such_thing", "a.py", "cannot be imported: ModuleNotFoundError"),
        (None, "a.py", "not found"),
        (code_of_the_page(), "a.py:other", "a.py has no solver other; it has: my_agent"),
        (
            code_of_the_page().replace("my_agent", "react"),
            "a.py",
            "react is the name of a built-in agent",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    source: str | None, address: str, reason: str, tmp_path: Path
) -> None:
    if source is not None:
        (tmp_path / "a.py").write_text(source)
    with pytest.raises(UsageError, match=re.escape(reason)):
        load_agent(str(tmp_path / address))


def test_two_agents_whose_runs_would_be_the_same_are_refused(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    for file in ("first.py", "second.py"):
        (tmp_path / file).write_text(code_of_the_page())
    asked = ("--tasks", "./numbers", "--agents", "first.py,second.py", "--out", "out")
    result = run("run", *asked, expect=2)
    assert all(f"{tmp_path / file} on " in result.stderr for file in ("first.py", "second.py"))
    assert "both would be the run" in result.stderr
    assert collect(tmp_path / "out") == []
