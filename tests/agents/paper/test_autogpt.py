"""The autogpt agent: JSON in, command out, with a memory."""

import json
from typing import Any

import pytest
from inspect_ai.model import ChatMessage, ChatMessageAssistant, Model
from scripted_model import Said, scripted, scripted_by, text_reply
from small_task import OpenRun

from mlagentbench.agents.paper.autogpt import AutoGptAgent, Memory, Turn, autogpt, read_reply
from mlagentbench.agents.runner import run_agent
from mlagentbench.environment.actions.action_sets import PAPER_ACTIONS
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ActionError, RunFailed, UsageError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.prompt_matching import normalised
from mlagentbench.records import Action, Observation, Step

pytestmark = pytest.mark.anyio


def reply(name: str, thought: str = "go on", /, **arguments: Any) -> str:
    thoughts = {"text": thought, "reasoning": "r", "plan": "- p", "criticism": "c", "speak": "s"}
    return json.dumps({"thoughts": thoughts, "command": {"name": name, "args": arguments}})


RUN_IT = reply("Execute Script", "run the starter", script_name="train.py")
LIST = reply("List Files", dir_path=".")
DONE = reply("Final Answer", "enough", final_answer="the mean")


class Asked:
    """A model that keeps what it was asked."""

    def __init__(self, *replies: Said) -> None:
        self.prompts: list[list[ChatMessage]] = []
        self._left = iter(replies)

    def model(self) -> Model:
        return scripted_by(self._answer)

    def _answer(self, messages: list[ChatMessage], *_: object) -> Said:
        self.prompts.append(messages)
        return next(self._left)


async def run(environment: Environment, memory_tokens: int = 8_000, relevant: int = 3) -> None:
    async def loop(_: Environment) -> None:
        agent = AutoGptAgent(environment, Memory(memory_tokens), relevant, retries=5)
        while True:
            await agent.turn()

    await run_agent(environment, loop)


async def test_a_whole_run(open_environment: OpenRun) -> None:
    main = Asked(RUN_IT, f"Sure!\n```json\n{LIST}\n```", reply("Dance"), DONE)
    models = {"main": main.model(), "fast": scripted()}
    async with open_environment(models=models, actions=PAPER_ACTIONS) as environment:
        await run(environment)
        assert environment.outcome is not None
        assert (environment.outcome.kind, environment.outcome.detail) == ("submitted", "the mean")
        statuses = [step.observation.status for step in environment.steps]
        assert statuses == ["ok", "ok", "error", "ok"]
    first, second, third, last = main.prompts
    assert [message.role for message in first] == ["system", "user"]
    assert "Predict y." in first[0].text
    assert "Edit Script (AI): " in first[0].text
    assert "Left of the budget: 40 of 40 steps" in first[-1].text
    assert [message.role for message in second] == ["system", "assistant", "user", "user"]
    assert second[1].text == RUN_IT
    assert second[2].text.startswith("Result of Execute Script:\nmean 2.5")
    assert "Left of the budget: 39 of 40 steps" in second[-1].text
    assert len(third) == len(second) + 2
    assert "Result of Dance (error):\nThere is no action 'Dance'" in last[-2].text


async def test_unreadable_replies_are_sent_back_and_then_cost_a_step(
    open_environment: OpenRun,
) -> None:
    bad = ["", "I will list the files.", "[1]", '{"thoughts": {}}', '{"command": {"name": 3}}',
           '{"command": {"name": "List Files", "args": "."}}']  # fmt: skip
    main = Asked(*bad, "x" * 100_000, LIST, DONE)
    async with open_environment(models={"main": main.model()}) as environment:
        await run(environment)
        noted, listed, _ = environment.steps
    assert (noted.action.name, noted.observation.status) == ("Unusable Reply", "error")
    assert "(tries: 6)" in noted.observation.text
    assert "not an object" in noted.observation.text
    assert listed.action.name == "List Files"
    faults = [messages[-1].text for messages in main.prompts[1:6]]
    for fault, expected in zip(
        faults, ["the text is empty", "expected an object", "this is a list", "no \"command\"",
                 "no \"name\""], strict=True
    ):  # fmt: skip
        assert expected in fault
    assert main.prompts[1][-2].text == "(an empty reply)"
    assert main.prompts[2][-2].text == "I will list the files."
    assert "Result of Unusable Reply (error)" in main.prompts[6][-2].text
    assert len(main.prompts[7][-2].text) < 3_000


async def test_what_is_old_is_summarised_and_called_back(open_environment: OpenRun) -> None:
    writes = [
        reply("Write File", f"note {name}", file_name=f"{name}.txt", content=name * 200)
        for name in ("alpha", "beta", "gamma", "delta")
    ]
    about_alpha = reply("List Files", "what was in alpha.txt, the alpha file?", dir_path=".")
    main = Asked(*writes, about_alpha, LIST, DONE)
    fast = Asked("SUMMARY ONE", "SUMMARY TWO", *["SUMMARY"] * 5)
    models = {"main": main.model(), "fast": fast.model()}
    async with open_environment(models=models) as environment:
        await run(environment, memory_tokens=500, relevant=1)
    assert "alpha.txt" in fast.prompts[0][0].text
    assert "gamma.txt" not in fast.prompts[0][0].text
    assert "SUMMARY ONE" in fast.prompts[1][0].text
    shortened = main.prompts[2]
    assert "SUMMARY ONE" in shortened[1].text
    assert not any("alphaalpha" in message.text for message in shortened[:-1])
    recalled = main.prompts[5][-1].text
    assert "Step 1: Write File" in recalled
    assert "Step 2: Write File" not in recalled
    assert all(len(str(messages)) < 20_000 for messages in main.prompts)


async def test_a_prompt_that_is_too_long_is_made_shorter(open_environment: OpenRun) -> None:
    too_long = text_reply("", stop_reason="model_length")
    main = Asked(LIST, LIST, LIST, too_long, DONE)
    models = {"main": main.model(), "fast": scripted("listed files")}
    async with open_environment(models=models) as environment:
        await run(environment)
        assert environment.outcome is not None
        assert environment.outcome.kind == "submitted"
    assert "listed files" in main.prompts[-1][1].text
    assert len(main.prompts[-1]) < len(main.prompts[-2])
    async with open_environment() as environment:
        assert len(environment.steps) == 4


async def test_a_prompt_that_cannot_be_made_shorter_ends_the_run(
    open_environment: OpenRun,
) -> None:
    model = scripted(text_reply("", stop_reason="model_length"))
    async with open_environment(models={"main": model}) as environment:
        await run(environment)
        assert environment.outcome is not None
        assert environment.outcome.kind == "context"


@pytest.mark.slow
async def test_an_interrupted_run_goes_on_where_it_was(open_environment: OpenRun) -> None:
    whole = [RUN_IT, LIST, "no json", LIST, LIST]
    summaries = ["FIRST", "SECOND", "THIRD"]
    never = Asked(*whole, DONE)
    models = {"main": never.model(), "fast": scripted(*summaries)}
    async with open_environment(models=models) as environment:
        await run(environment, memory_tokens=150)
        expected = [step.action for step in environment.steps]
        replies = [(line.role, line.step, line.reply) for line in environment.models.replies]
        environment.run.journal.rename(environment.run.journal.with_suffix(".whole"))
    first = {"main": scripted(*whole, RuntimeError("gone")), "fast": scripted(*summaries)}
    async with open_environment(models=first) as environment:
        with pytest.raises(RunFailed, match="gone"):
            await run(environment, memory_tokens=150)
        assert len(environment.steps) == 4
    again = Asked(DONE)
    done = len([one for one in replies if one[0] == "fast"])
    second = {"main": again.model(), "fast": scripted(*summaries[done:])}
    async with open_environment(models=second) as environment:
        await run(environment, memory_tokens=150)
        assert [step.action for step in environment.steps] == expected
        kept = [(line.role, line.step, line.reply) for line in environment.models.replies]
        assert kept == replies
    texts = [
        [normalised(message.text) for message in prompts[-1]]
        for prompts in (never.prompts, again.prompts)
    ]
    assert texts[0] == texts[1]
    assert any(isinstance(message, ChatMessageAssistant) for message in again.prompts[0])


def turn(number: int, text: str) -> Turn:
    action = Action(name="Execute Script", arguments={"script_name": f"run{number}.py"})
    step = Step(
        n=number, action=action, observation=Observation(text=text), snapshot="", started=0,
        seconds=0,
    )  # fmt: skip
    return Turn(reply="{}", step=step)


def test_memory_calls_back_what_shares_rare_words() -> None:
    memory = Memory(tokens=10)
    texts = ["gradient boosting gave accuracy 0.81", "the ridge model gave accuracy 0.75",
             "boosting ran out of memory", "accuracy 0.7 with a constant"]  # fmt: skip
    turns = [turn(number, text) for number, text in enumerate(texts, start=1)]
    assert memory.relevant("boosting", 3) == []
    for one in turns:
        memory.add(one)
    assert memory.is_full
    oldest = memory.oldest_half()
    assert turns[0] in oldest
    assert turns[-1] not in oldest
    memory.condense(turns[:3], "three experiments")
    assert memory.recent == turns[3:]
    assert [step.n for step in memory.relevant("Try boosting again", 5)] == [1, 3]
    assert [step.n for step in memory.relevant("was ridge boosting better?", 1)] == [2]
    assert memory.relevant("constant", 5) == []
    assert memory.relevant("boosting", 0) == []


def test_a_single_long_turn_stays() -> None:
    memory = Memory(tokens=10)
    memory.add(turn(1, "x" * 1000))
    assert not memory.is_full
    assert memory.oldest_half() == []


def test_what_a_reply_says() -> None:
    decision = read_reply(
        '{"thoughts": "short", "command": {"name": " List Files ", "args": null}}'
    )
    assert decision.action == Action(name="List Files")
    assert decision.thoughts == '"short"'
    with pytest.raises(ActionError, match='no "name"'):
        read_reply('{"command": {"name": " "}}')


@pytest.mark.parametrize("wrong", [{"memory_tokens": 0}, {"relevant": -1}, {"retries": -1}])
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="agent autogpt"):
        autogpt(**wrong)


async def test_the_steps_are_limited(open_environment: OpenRun) -> None:
    models = {"main": scripted(LIST, LIST)}
    async with open_environment(BudgetLimits(steps=2), models=models) as environment:
        await run(environment)
        assert environment.outcome is not None
        assert environment.outcome.kind == "steps"
