"""What agents are told, and do, in runs in which nothing can be executed."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from inspect_ai.model import ChatMessage, ModelOutput
from scripted_model import scripted_by, text_reply, tool_call
from small_task import OpenRun

from mlagentbench.agents.paper import langchain
from mlagentbench.agents.paper.autogpt import AutoGptAgent, Memory
from mlagentbench.agents.paper.research import ResearchAgent, Settings
from mlagentbench.agents.react import ReactAgent
from mlagentbench.agents.runner import run_agent
from mlagentbench.environment.actions.action_sets import PAPER_ACTIONS, STANDARD_ACTIONS
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.rehearsal import Rehearsal
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.question import prompt_text

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NAMES = ("Execute Script", "Python REPL", "Validate Submission")
NEVER_TOLD = (
    *NAMES,
    *(name.lower().replace(" ", "_") for name in NAMES),
    "run the starter",
    "Run the starter",
    "and run them",
    "by an experiment",
    "has run only after",
    "best submission",
)
PROGRAM = Rehearsal(command="bash reproduce.sh")
Act = Callable[[Environment], Awaitable[None]]


async def react(environment: Environment) -> None:
    await ReactAgent(environment).act(environment)


async def research(environment: Environment) -> None:
    await ResearchAgent(environment, Settings()).act()


async def autogpt(environment: Environment) -> None:
    agent = AutoGptAgent(environment, Memory(8_000), 3, 5)
    while True:
        await agent.turn()


ANSWER = {"final_answer": "done"}
AGENTS: dict[str, tuple[Act, tuple[Any, ...], ModelOutput]] = {
    "react": (react, STANDARD_ACTIONS, tool_call("final_answer", **ANSWER)),
    "langchain": (langchain.act, STANDARD_ACTIONS, tool_call("final_answer", **ANSWER)),
    "act": (
        research,
        PAPER_ACTIONS,
        text_reply(f"Action: Final Answer\nAction Input: {json.dumps(ANSWER)}"),
    ),
    "autogpt": (
        autogpt,
        PAPER_ACTIONS,
        text_reply(json.dumps({"command": {"name": "Final Answer", "args": ANSWER}})),
    ),
}


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("rehearsal", [PROGRAM, Rehearsal(command=None)], ids=["script", "program"])
async def test_what_an_agent_is_told_is_true(
    name: str, rehearsal: Rehearsal, open_environment: OpenRun
) -> None:
    act, actions, answer = AGENTS[name]
    asked: list[str] = []

    def reply(messages: Sequence[ChatMessage], tools: Sequence[Any], *_: object) -> ModelOutput:
        asked.append(prompt_text(messages))
        asked.extend(f"{tool.name}: {tool.description}" for tool in tools)
        return answer

    model = scripted_by(reply)
    opened = open_environment(
        models={"main": model, "fast": model}, actions=actions, rehearsal=rehearsal, execution=False
    )
    async with opened as environment:
        await run_agent(environment, act)
        assert environment.outcome is not None and environment.outcome.kind == "submitted"
        assert [step.action.name for step in environment.steps] == ["Final Answer"]
    told = "\n".join(asked)
    assert not [text for text in NEVER_TOLD if text in told]
    assert "you cannot execute anything in this run" in told
    if rehearsal.command is None:
        assert "After you submit, it is run and\ngraded as it is" in told
    else:
        assert "After you submit, `reproduce.sh` is run for you" in told
        assert "Each time it may take 20 s" in told


async def test_react_submits_the_workspace_when_its_budget_ends(open_environment: OpenRun) -> None:
    asked: list[str] = []
    writes = iter(
        [
            tool_call("write_file", file_name="reproduce.sh", content="python train.py\n"),
            tool_call("execute_script", script_name="train.py"),
        ]
    )

    def reply(messages: Sequence[ChatMessage], *_: object) -> ModelOutput:
        asked.append(messages[-1].text)
        return next(writes)

    opened = open_environment(
        BudgetLimits(steps=2), models={"main": scripted_by(reply)}, rehearsal=PROGRAM,
        execution=False,
    )  # fmt: skip
    async with opened as environment:
        agent = ReactAgent(environment)
        await run_agent(environment, agent.act, agent.at_end)
        assert environment.outcome is not None and environment.outcome.kind == "steps"
        refused = environment.steps[-1].observation
        assert refused.fault == "unknown action" and "There is no action" in refused.text
        listed = await environment.sandbox.read("reproduce.sh")
    assert listed == b"python train.py\n"
    assert asked[-1].endswith("[Left: 1 of 2 steps.]"), "nothing is said of a best submission"


async def test_actions_give_no_advice_that_needs_an_execution(
    open_environment: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlagentbench.environment.actions import action
    from mlagentbench.records import Action

    monkeypatch.setattr(action, "MAX_TEXT", 3)
    for execution in (True, False):
        async with open_environment(execution=execution) as environment:
            read = Action(name="Read File", arguments={"file_name": "train.py"})
            said = (await environment.execute(read)).text
            assert said.endswith("use a script" if execution else "of a text")
