"""The react agent: its conversation, budget and best submission, and going on after a break."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    Content,
    ContentText,
    ModelOutput,
)
from inspect_ai.tool import ToolCall
from scripted_model import Said, scripted, scripted_by, text_reply, tool_call, with_usage
from small_task import OpenRun

from mlagentbench.agents.react import CUT_OFF, NUDGE, ReactAgent
from mlagentbench.agents.runner import run_agent
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunFailed
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.question import prompt_text
from mlagentbench.records import Action
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.objects.snapshot_trees import entry_at

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SUBMIT = tool_call("final_answer", final_answer="done")
PREDICT = """
import sys
guess, score = sys.argv[1:3]
rows = [f"{row},{guess}" for row in (5, 6)]
open("submission.csv", "w").write("\\n".join(["id,y", *rows]) + "\\n")
if score != "-":
    print("validation MAE=" + score)
"""
WRITE = tool_call("write_file", file_name="predict.py", content=PREDICT)


def predict(guess: str, score: str) -> ModelOutput:
    return tool_call("execute_script", script_name="predict.py", arguments=[guess, score])


def calls(*made: ToolCall, text: str = "", stop: Any = "tool_calls") -> ModelOutput:
    message = ChatMessageAssistant(content=text, tool_calls=list(made))
    choice = ChatCompletionChoice(message=message, stop_reason=stop)
    return with_usage(ModelOutput(model="mockllm/model", choices=[choice]))


class Listener:
    """A model that says what was written down, and remembers what it was asked."""

    def __init__(self, *replies: Said) -> None:
        self.prompts: list[list[ChatMessage]] = []
        left = iter(replies)

        def answer(messages: Sequence[ChatMessage], *_: object) -> Said:
            self.prompts.append(list(messages))
            return next(left)

        self.model = scripted_by(answer)

    @property
    def last(self) -> str:
        """The text of the last message of the last prompt."""
        return self.prompts[-1][-1].text


async def act(environment: Environment, context_tokens: int = 100_000) -> str:
    """Let the agent run; returns how the run ended."""
    agent = ReactAgent(environment, context_tokens)
    await run_agent(environment, agent.act, agent.at_end)
    assert environment.outcome is not None
    return environment.outcome.kind


def submission(environment: Environment) -> str:
    """What is handed in."""
    snapshot = read_journal(environment.run.journal).snapshot
    assert snapshot is not None
    entry = entry_at(environment.store, snapshot, "submission.csv")
    return "" if entry is None else environment.store.read(entry.value).decode()


async def test_a_run_from_the_first_look_to_the_submission(open_environment: OpenRun) -> None:
    model = Listener(tool_call("list_files"), WRITE, predict("5", "0.5"), SUBMIT)
    async with open_environment(models={"main": model.model}) as environment:
        assert await act(environment) == "submitted"
        names = [step.action.name for step in environment.steps]
        assert names == ["List Files", "Write File", "Execute Script", "Final Answer"]
        assert submission(environment) == "id,y\n5,5\n6,5\n"
    system, problem = model.prompts[0]
    assert (system.role, problem.role) == ("system", "user")
    assert environment.problem.strip() in problem.text
    assert "train.py" in model.prompts[1][-1].text, "what the tool gave"


async def test_the_model_sees_the_runs_actions_as_tools(open_environment: OpenRun) -> None:
    offered: list[Any] = []

    def answer(_: object, tools: list[Any], *__: object) -> ModelOutput:
        offered.extend(tools)
        return SUBMIT

    async with open_environment(models={"main": scripted_by(answer)}) as environment:
        await act(environment)
        specs = environment.actions.specs.values()
        assert [tool.name for tool in offered] == [spec.tool_name for spec in specs]
        [write] = [tool for tool in offered if tool.name == "write_file"]
        assert write.parameters.required == ["file_name", "content"]
        assert "file" in write.parameters.properties["content"].description


async def test_what_is_left_and_the_best_stand_under_every_result(
    open_environment: OpenRun,
) -> None:
    limits = BudgetLimits(steps=9, time=7200.0, tokens=1000, cost=2.0)
    model = Listener(
        tool_call("list_files"), WRITE, predict("5", "0.5"), predict("6", "0.7"), SUBMIT
    )
    async with open_environment(limits, models={"main": model.model}) as environment:
        await act(environment)
    assert (
        "[Left: 9 of 9 steps, 2 h 0 min of 2 h 0 min, 1,000 of 1,000" in model.prompts[0][-1].text
    )
    first = model.prompts[1][-1].text
    assert (
        "[Left: 8 of 9 steps, 1 h 59 min of 2 h 0 min, 985 of 1,000 tokens, $2.00 of $2.00."
        in first
    )
    assert first.endswith("No valid submission yet.]")
    best = "Best submission so far: after step 3, validation MAE=0.5.]"
    assert model.prompts[3][-1].text.endswith(best)
    assert model.last.endswith(best), "0.7 is worse: the metric is one of which less is better"


async def test_every_prompt_begins_with_the_one_before(open_environment: OpenRun) -> None:
    model = Listener(tool_call("list_files"), "hm", WRITE, predict("5", "0.5"), SUBMIT)
    async with open_environment(models={"main": model.model}) as environment:
        await act(environment)
    texts = [prompt_text(messages) for messages in model.prompts]
    for before, after in pairwise(texts):
        assert after.startswith(before)
    assert len(texts) == 5


@pytest.mark.parametrize(
    ("attempts", "kept"),
    [
        pytest.param([("1", "0.9"), ("2", "0.2"), ("3", "0.4")], "2", id="the best score"),
        pytest.param([("1", "-"), ("2", "-"), ("3", "-")], "3", id="the latest without scores"),
        pytest.param([("1", "0.9"), ("2", "-"), ("3", "-")], "1", id="one with a score"),
        pytest.param([("1", "0.9"), ("oops", "0.1"), ("3", "1")], "1", id="a valid one"),
    ],
)
async def test_the_best_is_handed_in_when_the_steps_run_out(
    open_environment: OpenRun, attempts: list[tuple[str, str]], kept: str
) -> None:
    replies = [WRITE, *(predict(*attempt) for attempt in attempts)]
    async with open_environment(
        BudgetLimits(steps=len(replies)), models={"main": scripted(*replies)}
    ) as environment:
        assert await act(environment) == "steps", "and the model is not asked in vain"
        assert submission(environment) == f"id,y\n5,{kept}\n6,{kept}\n"


async def test_what_the_model_submits_itself_is_its_own_choice(open_environment: OpenRun) -> None:
    replies = [WRITE, predict("1", "0.1"), predict("2", "0.9"), SUBMIT]
    async with open_environment(models={"main": scripted(*replies)}) as environment:
        assert await act(environment) == "submitted"
        assert submission(environment) == "id,y\n5,2\n6,2\n"


async def test_several_calls_of_one_reply_are_carried_out_in_order(
    open_environment: OpenRun,
) -> None:
    content = {"file_name": "predict.py", "content": PREDICT}
    arguments = {"script_name": "predict.py", "arguments": "5 0.5"}
    both = calls(
        ToolCall(id="a", function="write_file", arguments=content),
        ToolCall(id="b", function="execute_script", arguments=arguments),
    )
    model = Listener(both, SUBMIT)
    async with open_environment(models={"main": model.model}) as environment:
        await act(environment)
        assert submission(environment) == "id,y\n5,5\n6,5\n"
    results = [one for one in model.prompts[-1] if one.role == "tool"]
    assert [one.tool_call_id for one in results] == ["a", "b"]
    assert "validation MAE=0.5" in results[1].text


async def test_replies_without_a_call_are_nudged_and_every_third_costs_a_step(
    open_environment: OpenRun,
) -> None:
    model = Listener("I will.", "", "Soon.", "Really.", SUBMIT)
    async with open_environment(BudgetLimits(steps=9), models={"main": model.model}) as environment:
        await act(environment)
        names = [step.action.name for step in environment.steps]
        assert names == ["Unusable Reply", "Final Answer"]
    assert [prompt[-1].text for prompt in model.prompts[1:3]] == [NUDGE, NUDGE]
    assert "cost a step" in model.prompts[3][-1].text
    assert "[Left: 8 of 9 steps" in model.prompts[3][-1].text
    assert model.last == NUDGE


async def test_calls_that_cannot_be_carried_out_are_answered(open_environment: OpenRun) -> None:
    broken = ToolCall(id="a", function="write_file", arguments={}, parse_error="no closing quote")
    model = Listener(
        calls(broken),
        calls(broken, stop="max_tokens"),
        tool_call("read_fil", file_name="train.py"),
        tool_call("read_file", name="train.py"),
        text_reply("I was about to", stop_reason="max_tokens"),
        SUBMIT,
    )
    async with open_environment(models={"main": model.model}) as environment:
        await act(environment)
        names = [step.action.name for step in environment.steps]
        assert names == ["read_fil", "Read File", "Final Answer"]
    answers = [prompt[-1].text for prompt in model.prompts[1:]]
    assert "cannot be read: no closing quote" in answers[0]
    assert CUT_OFF not in answers[0]
    assert "no closing quote" in answers[1]
    assert CUT_OFF in answers[1]
    assert "Did you mean Read File?" in answers[2]
    assert "file_name is missing" in answers[3]
    assert NUDGE in answers[4]
    assert CUT_OFF in answers[4]


def with_tokens(output: ModelOutput, tokens: int) -> ModelOutput:
    copy = output.model_copy(deep=True)
    assert copy.usage is not None
    copy.usage.input_tokens = tokens
    return copy


async def test_a_long_conversation_is_compacted(open_environment: OpenRun) -> None:
    look = tool_call("read_file", file_name="train.py")
    model = Listener(look, look, WRITE, with_tokens(look, 5_000), look, SUBMIT)
    fast = Listener("The notes.")
    models = {"main": model.model, "fast": fast.model}
    async with open_environment(models=models) as environment:
        assert await act(environment, context_tokens=2_000) == "submitted"
    before, after = model.prompts[3], model.prompts[4]
    assert [one.text for one in after[:2]] == [one.text for one in before[:2]]
    assert "The notes." in after[2].text
    kept = after[3:-2]
    assert kept[0].role == "assistant", "a result stays with its call"
    assert [one.id for one in kept] == [one.id for one in before[-len(kept) :]]
    assert len(kept) < len(before) - 2
    assert "import csv" in fast.last, "the result of an older call"
    assert prompt_text(model.prompts[5]).startswith(prompt_text(after))


async def test_a_prompt_that_is_too_long_is_compacted_and_asked_again(
    open_environment: OpenRun,
) -> None:
    too_long = text_reply("", stop_reason="model_length")
    look = tool_call("list_files")
    model = Listener(look, look, too_long, look, SUBMIT)
    fast = Listener(too_long, "Shorter notes.")
    models = {"main": model.model, "fast": fast.model}
    async with open_environment(models=models) as environment:
        assert await act(environment) == "submitted"
        assert len(environment.steps) == 4
    assert "Shorter notes." in model.prompts[3][2].text
    assert len(fast.prompts[1][0].text) <= len(fast.prompts[0][0].text)


async def test_an_overflow_that_nothing_helps_against_ends_the_run_with_the_best(
    open_environment: OpenRun,
) -> None:
    too_long = text_reply("", stop_reason="model_length")
    model = Listener(WRITE, predict("1", "0.1"), predict("2", "0.9"), *[too_long] * 3)
    models = {"main": model.model, "fast": scripted("notes", "notes")}
    async with open_environment(models=models) as environment:
        assert await act(environment) == "context"
        assert submission(environment) == "id,y\n5,1\n6,1\n"
    assert len(model.prompts) == 5, "once compacted to a single turn, it cannot become shorter"


def eventful() -> list[Said]:
    """A run with everything in it that an agent must remember."""
    refusal: list[Content] = [ContentText(text="I had rather not.", refusal=True)]
    no = with_usage(ModelOutput.from_message(ChatMessageAssistant(content=refusal)))
    idle = [no, text_reply("thinking"), text_reply("thinking"), text_reply("thinking")]
    two = calls(
        ToolCall(id="a", function="list_files", arguments={}),
        ToolCall(id="b", function="read_file", arguments={}, parse_error="torn"),
        ToolCall(id="c", function="read_file", arguments={"file_name": "train.py"}),
    )
    long = with_tokens(predict("2", "0.2"), 5_000)
    return [WRITE, predict("1", "0.9"), *idle, two, predict("oops", "0.1"), long, two, SUBMIT]


@pytest.mark.parametrize(
    ("answered", "notes"),
    [
        pytest.param(5, ["The notes."], id="among idle replies"),
        pytest.param(9, [RuntimeError("out of order"), "The notes."], id="in compacting"),
        pytest.param(10, ["The notes."], id="after compacting"),
    ],
)
async def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(
    open_environment: OpenRun, answered: int, notes: list[Said]
) -> None:
    replies, fast = eventful(), scripted(*notes)
    first = Listener(*replies[:answered], RuntimeError("out of order"))
    async with open_environment(models={"main": first.model, "fast": fast}) as environment:
        with pytest.raises(RunFailed, match="out of order"):
            await act(environment, context_tokens=2_000)
    second = Listener(*replies[answered:])
    async with open_environment(models={"main": second.model, "fast": fast}) as environment:
        assert await act(environment, context_tokens=2_000) == "submitted"
        assert len(environment.steps) == 10, "no step is done twice"
    if len(notes) == 1:
        assert prompt_text(second.prompts[0]) == prompt_text(first.prompts[-1])
    assert ("The notes." in prompt_text(second.prompts[0])) == (answered >= 9)


async def test_a_step_that_was_interrupted_is_told_and_the_rest_of_its_reply_carried_out(
    open_environment: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    three = calls(
        *(
            ToolCall(id=name, function="write_file", arguments={"file_name": name, "content": "x"})
            for name in ("a", "b", "c")
        )
    )

    def broken_at(step: int) -> Callable[..., Any]:
        real = Environment._observe

        async def observe(self: Environment, action: Any) -> Any:
            if len(self.steps) + 1 == step:
                raise RunFailed("sandbox", "gone")
            return await real(self, action)

        return observe

    with monkeypatch.context() as patch:
        patch.setattr(Environment, "_observe", broken_at(2))
        async with open_environment(models={"main": scripted(three)}) as environment:
            with pytest.raises(RunFailed, match="gone"):
                await act(environment)
    model = Listener(SUBMIT)
    async with open_environment(models={"main": model.model}) as environment:
        assert await act(environment) == "submitted"
        statuses = [step.observation.status for step in environment.steps]
        assert statuses == ["ok", "interrupted", "ok", "ok"]
    results = [one.text for one in model.prompts[0] if one.role == "tool"]
    assert "interrupted from outside" in results[1]
    assert "c was written" in results[2]


async def test_a_raised_budget_is_told_from_where_it_was_raised(open_environment: OpenRun) -> None:
    models = {"main": scripted(WRITE, predict("1", "0.9"))}
    async with open_environment(limits=BudgetLimits(steps=2), models=models) as environment:
        assert await act(environment) == "steps"
    model = Listener(SUBMIT)
    models = {"main": model.model}
    async with open_environment(limits=BudgetLimits(steps=9), models=models) as environment:
        assert await act(environment) == "submitted"
        assert len(environment.steps) == 3
    told = [one.text for one in model.prompts[0]]
    assert "2 of 2 steps" in told[1] and "1 of 2 steps" in told[3]
    assert "7 of 9 steps" in told[5]


async def test_it_is_told_what_another_agent_did_before(open_environment: OpenRun) -> None:
    written = Action(name="Write File", arguments={"file_name": "notes.txt", "content": "hello"})
    async with open_environment() as environment:
        await environment.execute(written)
    first = Listener(WRITE, RuntimeError("out of order"))
    async with open_environment(models={"main": first.model}) as environment:
        with pytest.raises(RunFailed, match="out of order"):
            await act(environment)
    second = Listener(SUBMIT)
    async with open_environment(models={"main": second.model}) as environment:
        assert await act(environment) == "submitted"
        assert len(environment.steps) == 3
    problem = first.prompts[0][1].text
    assert "1 steps were taken" in problem and "notes.txt was written" in problem
    assert second.prompts[0][1].text == problem
