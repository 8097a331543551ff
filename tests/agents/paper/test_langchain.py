"""LangChain's own agent on a real task; only the model is scripted."""

from typing import Any

import pytest
from inspect_ai.model import ChatMessageTool, ModelOutput
from inspect_ai.tool import ToolCall
from scripted_model import Said, scripted, scripted_by, text_reply, tool_call
from small_task import OpenRun

from mlagentbench.agents.paper.langchain import act
from mlagentbench.agents.registry import AGENTS
from mlagentbench.agents.runner import run_agent
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.runs.journal import read_journal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DONE = tool_call("final_answer", final_answer="done")


async def test_its_tools_are_our_actions_and_the_run_ends_with_the_final_answer(
    open_environment: OpenRun,
) -> None:
    asked: list[Any] = []
    replies = iter([tool_call("execute_script", script_name="train.py"), DONE])

    def answer(messages: Any, tools: Any, *_: Any) -> Said:
        asked.append((messages, tools))
        return next(replies)

    async with open_environment(models={"main": scripted_by(answer)}) as environment:
        await run_agent(environment, act)
        assert environment.outcome is not None
        assert (environment.outcome.kind, environment.outcome.detail) == ("submitted", "done")
        assert [step.action.name for step in environment.steps] == [
            "Execute Script",
            "Final Answer",
        ]
        kept = read_journal(environment.run.journal).replies
        assert [line.step for line in kept] == [1, 2]
    messages, tools = asked[1]
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[1].text == environment.problem and "mean 2.5" in messages[3].text
    offered = {tool.name: tool.parameters for tool in tools}
    assert set(offered) == {spec.tool_name for spec in environment.actions.specs.values()}
    assert offered["execute_script"].required == ["script_name"]


async def test_faults_go_back_to_the_model_and_cost_a_step(open_environment: OpenRun) -> None:
    answers: list[str] = []
    replies = iter(
        [
            tool_call("read_file", file_name="nowhere.txt"),
            tool_call("read_file", path="train.py"),
            tool_call("write_file", file_name="train.csv", content="id,y\n"),
            tool_call("dance"),
            text_reply("I give up."),
        ]
    )

    def answer(messages: Any, *_: Any) -> Said:
        if isinstance(messages[-1], ChatMessageTool):
            answers.append(messages[-1].text)
        return next(replies)

    async with open_environment(models={"main": scripted_by(answer)}) as environment:
        await run_agent(environment, act)
        statuses = [step.observation.status for step in environment.steps]
        assert statuses == ["error", "error", "refused"]
        assert environment.outcome is not None
        assert environment.outcome.detail == "the agent stopped by itself"
    assert "nowhere.txt does not exist" in answers[0]
    assert "the argument file_name is missing" in answers[1]
    assert "read-only" in answers[2]
    assert "dance is not a valid tool" in answers[3], "LangChain's own words"


async def test_the_budget_ends_it(open_environment: OpenRun) -> None:
    forever = scripted_by(lambda *_: tool_call("list_files"))
    limits = BudgetLimits(steps=3)
    async with open_environment(limits, models={"main": forever}) as environment:
        await run_agent(environment, act)
        assert len(environment.steps) == 3
        assert environment.outcome is not None and environment.outcome.kind == "steps"


async def test_replies_that_do_nothing_are_bounded_too(open_environment: OpenRun) -> None:
    forever = scripted_by(lambda *_: tool_call("dance"))
    limits = BudgetLimits(steps=3)
    async with open_environment(limits, models={"main": forever}) as environment:
        await run_agent(environment, act)
        assert environment.steps == [] and len(environment.models.replies) == 8
        assert environment.outcome is not None and environment.outcome.kind == "steps"
        assert "LangChain's limit of 8 turns" in environment.outcome.detail


async def test_several_calls_in_one_reply_are_carried_out_in_their_order(
    open_environment: OpenRun,
) -> None:
    both = text_reply("")
    both.choices[0].message.tool_calls = [
        ToolCall(id=name, function="write_file", arguments={"file_name": name, "content": name})
        for name in ("a.txt", "b.txt")
    ]
    async with open_environment(models={"main": scripted(both, DONE)}) as environment:
        await run_agent(environment, act)
        files = [step.action.arguments.get("file_name") for step in environment.steps]
        assert files == ["a.txt", "b.txt", None]


async def test_it_goes_on_where_it_was_and_asks_nothing_twice(open_environment: OpenRun) -> None:
    write = tool_call("write_file", file_name="a.txt", content="1")
    broken = scripted(tool_call("list_files"), write, RuntimeError("no capacity"))
    async with open_environment(models={"main": broken}) as environment:
        with pytest.raises(RunFailed, match="no capacity"):
            await run_agent(environment, act)
    seen: list[list[str]] = []

    def answer(messages: Any, *_: Any) -> ModelOutput:
        seen.append([message.role for message in messages])
        return DONE

    async with open_environment(models={"main": scripted_by(answer)}) as environment:
        await run_agent(environment, act)
        names = [step.action.name for step in environment.steps]
        assert names == ["List Files", "Write File", "Final Answer"]
        assert environment.outcome is not None and environment.outcome.kind == "submitted"
    assert seen == [["system", "user", "assistant", "tool", "assistant", "tool"]]


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = AGENTS["langchain"].model_copy(update={"package": "langchain_that_is_not_there"})
    with pytest.raises(UsageError, match=r"pip install 'mlagentbench\[langchain\]'"):
        missing.solver()
