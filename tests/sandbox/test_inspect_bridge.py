"""Inspect's sandbox bridge through our provider: an agent inside calls a model outside."""

from pathlib import Path

import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import Agent, AgentState, agent, sandbox_agent_bridge
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.util import sandbox

import mlagentbench.sandbox.inspect_provider  # noqa: F401  (registers the provider)

pytestmark = pytest.mark.slow

AGENT_INSIDE = """
import json, time, urllib.request, urllib.error

body = {"model": "inspect", "messages": [{"role": "user", "content": "Say the word."}]}
request = urllib.request.Request(
    "http://localhost:13131/v1/chat/completions",
    data=json.dumps(body).encode(),
    headers={"Content-Type": "application/json", "Authorization": "Bearer none"},
)
for attempt in range(100):
    try:
        answer = json.load(urllib.request.urlopen(request, timeout=60))
        print(answer["choices"][0]["message"]["content"])
        break
    except urllib.error.HTTPError as error:
        print(json.load(error)["error"]["message"])
        break
    except urllib.error.URLError:  # the server inside does not listen yet
        time.sleep(0.1)
"""


@agent
def calls_from_inside(said: list[str]) -> Agent:
    async def execute(state: AgentState) -> AgentState:
        async with sandbox_agent_bridge(state) as bridge:
            await sandbox().write_file("agent.py", AGENT_INSIDE)
            result = await sandbox().exec(["python3", "agent.py"], timeout=60)
            said.append(result.stdout + result.stderr)
        return bridge.state

    return execute


def test_an_agent_inside_reaches_the_model(tmp_path: Path) -> None:
    """Its request goes out of the sandbox, through Inspect, and the answer comes back in."""
    said: list[str] = []
    output = ModelOutput.from_content("mockllm/model", "crocodile")
    output.usage = ModelUsage(input_tokens=3, output_tokens=1, total_tokens=4)
    (log,) = eval(
        Task(dataset=[Sample(input="go")], solver=calls_from_inside(said), sandbox="bubblewrap"),
        model=get_model("mockllm/model", custom_outputs=[output]),
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    assert said == ["crocodile\n"]
    assert log.samples is not None
    assert log.samples[0].messages[-1].text == "crocodile"
