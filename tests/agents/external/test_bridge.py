"""The model calls of a foreign agent, as the bridge hands them over; the agent is this test."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelOutput
from scripted_model import Said, scripted, text_reply
from small_task import OpenRun

from mlagentbench.agents.external.bridge import ModelCalls, agent_variables
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunEnded, RunFailed
from mlagentbench.limit_table import BudgetLimits

pytestmark = pytest.mark.anyio

Ask = Callable[[str], Awaitable[ModelOutput]]


def asking(environment: Environment, calls: ModelCalls) -> Ask:
    async def ask(text: str) -> ModelOutput:
        messages = [ChatMessageUser(content=text)]
        model = environment.models.find()
        return await calls.answer(model, list(messages), [], None, GenerateConfig())

    return ask


@pytest.mark.slow
async def test_a_step_is_a_reply_with_what_came_of_it(open_environment: OpenRun) -> None:
    async with open_environment(models={"main": scripted("one", "two")}) as environment:
        calls = ModelCalls(environment)
        ask = asking(environment, calls)
        assert (await ask("?")).completion == "one"
        assert environment.steps == [], "nothing came of it yet"
        calls.take_output(b"did as I was told\n")
        (environment.run.work / "made.txt").write_text("by the agent")
        assert (await ask("??")).completion == "two"
        await calls.end_step()
        first, second = environment.steps
        assert first.observation.text == "did as I was told\n"
        assert second.observation.text == "The agent printed nothing."
        replies = environment.models.replies
        assert first.action.arguments == {"reply": replies[0].n}
        environment.snapshots.restore(first.snapshot)
        assert (environment.run.work / "made.txt").read_text() == "by the agent"
        assert b"did as I was told" in environment.run.output_log.read_bytes()


async def test_calls_at_the_same_time_are_answered_one_after_the_other(
    open_environment: OpenRun,
) -> None:
    async with open_environment(models={"main": scripted("one", "two", "three")}) as environment:
        calls = ModelCalls(environment)
        ask = asking(environment, calls)
        said: list[str] = []

        async def one_of_them() -> None:
            said.append((await ask("?")).completion)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(one_of_them)
        assert said == ["one", "two", "three"] and len(environment.steps) == 2
        assert [line.step for line in environment.models.replies] == [1, 2, 3]


@pytest.mark.parametrize(("stop_reason", "replies"), [("model_length", 1), ("content_filter", 3)])
async def test_overflow_and_refusal_are_for_the_agent_to_handle(
    open_environment: OpenRun, stop_reason: str, replies: int
) -> None:
    said = [text_reply("no", stop_reason=stop_reason)] * replies  # type: ignore[arg-type]
    async with open_environment(models={"main": scripted(*said, "yes")}) as environment:
        ask = asking(environment, ModelCalls(environment))
        assert (await ask("long")).stop_reason == stop_reason
        assert (await ask("short")).completion == "yes"
        assert len(environment.steps) == 1


@pytest.mark.parametrize(
    ("limits", "reply", "error"),
    [
        (BudgetLimits(steps=1), "one", "all 1 steps are used"),
        (BudgetLimits(tokens=15), "one", "all 15 tokens are used"),
        (BudgetLimits(), RuntimeError("no capacity"), "no capacity"),
    ],
)
async def test_a_call_that_can_have_no_answer_ends_the_agent(
    open_environment: OpenRun, limits: BudgetLimits, reply: Said, error: str
) -> None:
    async with open_environment(limits, models={"main": scripted(reply)}) as environment:
        calls = ModelCalls(environment)
        ask = asking(environment, calls)
        async with anyio.create_task_group() as bridge:

            async def agent() -> None:
                while True:
                    await ask("?")

            with calls.command:
                bridge.start_soon(agent)
                await anyio.sleep(60)
            bridge.cancel_scope.cancel()
        assert calls.command.cancelled_caught
        assert isinstance(calls.error, RunEnded | RunFailed) and error in str(calls.error)


async def test_the_agent_is_told_what_it_may_use(open_environment: OpenRun) -> None:
    async with open_environment(BudgetLimits(steps=2, tokens=2_000_000)) as environment:
        told = agent_variables(environment)
    assert told["MLAGENTBENCH_STEPS_LEFT"] == "2" and told["MLAGENTBENCH_TOKENS_LEFT"] == "2000000"
    assert told["MLAGENTBENCH_SUBMISSION"] == "submission.csv"
    assert "MLAGENTBENCH_SECONDS_LEFT" not in told, "not limited"
