"""The paper's agents: their prompts and runs, what they remember, and going on after a break."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    Content,
    ContentText,
    GenerateConfig,
    ModelOutput,
)
from scripted_model import Said, scripted_by, text_reply, with_usage
from small_task import OpenRun, open_run, small_task

from mlagentbench.agents.paper.research import RETRIES, ResearchAgent, Settings
from mlagentbench.agents.registry import AGENTS
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.research_log import LOG
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.question import current_question
from mlagentbench.runs.journal import read_journal
from mlagentbench.tasks.python_env.env import PythonEnv

pytestmark = pytest.mark.anyio

THINKING = {
    "research": {
        "Reflection": "nothing yet",
        "Research Plan and Status": "1. The plan.",
        "Fact Check": "all guessed",
        "Thought": "go on",
    },
    "react-text": {"Thought": "go on"},
    "act": {},
}
LONG_TEXT = "\n".join(f"line {number} of many" for number in range(700))
EDITED = (
    "```python\nopen('submission.csv', 'w').write('id,y\\n5,5\\n6,6\\n')\nprint('score 0.0')\n```"
)


def says(action: str, agent: str = "research", thought: str = "", **arguments: Any) -> str:
    """A good reply."""
    fields = THINKING[agent] | ({"Thought": thought} if thought else {})
    lines = [f"{name}: {text}" for name, text in fields.items()]
    return "\n".join([*lines, f"Action: {action}", f"Action Input: {json.dumps(arguments)}"])


LOOK = says("List Files")
SUBMIT = says("Final Answer", final_answer="done")


class Listener:
    """A model in all roles that says what was written down, and remembers what it was asked."""

    def __init__(self, *replies: Said) -> None:
        self.prompts: list[str] = []
        self.roles: list[str] = []
        self.configs: list[GenerateConfig] = []
        left = iter(replies)

        def answer(
            messages: Sequence[ChatMessage], _: object, __: object, config: GenerateConfig
        ) -> Said:
            [message] = messages
            question = current_question()
            assert question is not None
            self.prompts.append(message.text)
            self.roles.append(question.role)
            self.configs.append(config)
            return next(left)

        self.models = {"main": scripted_by(answer)}

    def asked(self, role: str = "main") -> list[str]:
        return [text for text, found in zip(self.prompts, self.roles, strict=True) if found == role]


async def run(environment: Environment, agent: str = "research", **settings: Any) -> str:
    """Let the agent run; returns how the run ended."""
    await AGENTS[agent].solver(**settings)(None, None)  # type: ignore[arg-type]
    assert environment.outcome is not None
    return environment.outcome.kind


def names(environment: Environment) -> list[str]:
    return [step.action.name for step in environment.steps]


# Whole runs


@pytest.mark.parametrize("agent", THINKING)
async def test_a_run_from_the_first_look_to_the_submission(
    open_environment: OpenRun, agent: str
) -> None:
    edit = {"script_name": "train.py", "edit_instruction": "write the answers"}
    model = Listener(
        says("List Files", agent),
        says("Edit Script (AI)", agent, **edit),
        EDITED,
        says("Execute Script", agent, script_name="train.py"),
        says("Final Answer", agent, final_answer="done"),
    )
    async with open_environment(models=model.models) as environment:
        assert await run(environment, agent) == "submitted"
        assert names(environment) == [
            "List Files", "Edit Script (AI)", "Execute Script", "Final Answer",
        ]  # fmt: skip
        assert environment.steps[2].observation.text.count("score 0.0") == 1
    assert model.roles == ["main", "main", "edit", "main", "main"]
    first, *_, last = model.asked()
    assert environment.problem.strip() in first
    assert "this is your first reply" in first
    assert last.index("train.py") < last.index("score 0.0")


@pytest.mark.parametrize("agent", THINKING)
async def test_the_prompt_asks_for_the_fields_of_the_agent(
    open_environment: OpenRun, agent: str
) -> None:
    model = Listener(says("Final Answer", agent, final_answer="done"))
    async with open_environment(models=model.models) as environment:
        await run(environment, agent)
    asked = model.prompts[0].splitlines()
    found = [line.split(": ")[0] for line in asked if line.split(": ")[0] in THINKING["research"]]
    assert found == list(THINKING[agent])
    assert any(line.startswith("Action: ") for line in asked)


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("plan", "Research Plan and Status"),
        ("fact_check", "Fact Check"),
        ("reflection", "Reflection"),
    ],
)
async def test_a_field_can_be_switched_off(
    open_environment: OpenRun, setting: str, field: str
) -> None:
    reply = "\n".join(line for line in SUBMIT.splitlines() if not line.startswith(field))
    model = Listener(reply)
    async with open_environment(models=model.models) as environment:
        switched_off: dict[str, Any] = {setting: False}
        assert await run(environment, **switched_off) == "submitted"
    assert f"\n{field}:" not in model.prompts[0]


async def test_the_prompt_shows_the_actions_and_how_they_are_called(
    open_environment: OpenRun,
) -> None:
    model = Listener(SUBMIT)
    async with open_environment(models=model.models) as environment:
        await run(environment)
        for spec in environment.actions.specs.values():
            assert f"- {spec.name}: {spec.description}\n" in model.prompts[0]
            assert f"  Action Input: {spec.example()}\n" in model.prompts[0]
    assert "(arguments may be left out)" in model.prompts[0]
    for word in ("step 1", "steps left", "minutes", "budget"):
        assert word not in model.prompts[0].lower(), "the paper's agent does not know its budget"


# What the model sees of the past


async def test_the_last_three_steps_are_shown_in_full(open_environment: OpenRun) -> None:
    steps = [
        says("Write File", thought=f"thought {number}", file_name=f"f{number}.txt", content="x")
        for number in range(1, 6)
    ]
    model = Listener(*steps, SUBMIT)
    async with open_environment(models=model.models) as environment:
        await run(environment)
    last = model.prompts[-1]
    for number in range(1, 6):
        shown = number > 2
        assert (f"Thought: thought {number}\n" in last) == shown
        assert (f'"file_name": "f{number}.txt"' in last) == shown
        assert (f"f{number}.txt was written" in last) == shown


async def test_the_number_of_steps_is_a_setting(open_environment: OpenRun) -> None:
    model = Listener(*[says("List Files", thought=f"thought {n}") for n in (1, 2)], SUBMIT)
    async with open_environment(models=model.models) as environment:
        await run(environment, steps_in_context=1, max_reply_tokens=77)
    assert "thought 1" not in model.prompts[-1]
    assert "thought 2" in model.prompts[-1]
    assert {config.max_tokens for config in model.configs} == {77}


async def test_a_long_observation_is_summarised_in_blocks(open_environment: OpenRun) -> None:
    write = says("Write File", file_name="long.txt", content=LONG_TEXT)
    read = says("Read File", file_name="long.txt")
    model = Listener(write, read, "first part", "second part", "both parts", LOOK, SUBMIT)
    async with open_environment(models=model.models) as environment:
        await run(environment, steps_in_context=1)
    assert model.roles == ["main", "main", "fast", "fast", "fast", "main", "main"]
    assert max(len(text) for text in model.asked("fast")) < 12_000
    after = model.asked()[2]
    assert "Observation:\n```\nboth parts\n```" in after
    assert "line 650" not in after


async def test_without_the_fast_models_help_a_long_observation_is_shown_in_part(
    open_environment: OpenRun,
) -> None:
    write = says("Write File", file_name="long.txt", content=LONG_TEXT)
    read = says("Read File", file_name="long.txt")
    too_long = text_reply("", stop_reason="model_length")
    model = Listener(write, read, too_long, SUBMIT)
    async with open_environment(models=model.models) as environment:
        assert await run(environment, steps_in_context=1) == "submitted"
        events = read_journal(environment.run.journal).events
        assert "without the fast model's help" in events[-1].detail
    last = model.prompts[-1]
    assert "line 0 of many" in last
    assert "line 699 of many" in last
    assert "characters left out" in last
    assert "line 350" not in last


async def test_nothing_is_asked_once_the_steps_are_used_up(open_environment: OpenRun) -> None:
    model = Listener(LOOK, "Entry one.", LOOK, "never said")
    async with open_environment(BudgetLimits(steps=2), models=model.models) as environment:
        assert await run(environment, retrieval=True) == "steps"
    assert model.roles == ["main", "fast", "main"]


# Replies that cannot be read


async def test_a_reply_that_cannot_be_read_is_asked_for_again_with_a_reminder(
    open_environment: OpenRun,
) -> None:
    cut_off = text_reply(LOOK[:-20], stop_reason="max_tokens")
    model = Listener("I will list the files. \ud800\0", "", cut_off, LOOK, SUBMIT)
    async with open_environment(models=model.models) as environment:
        await run(environment)
        assert names(environment) == ["List Files", "Final Answer"]
    first = model.prompts[0]
    reminders = [asked.removeprefix(first) for asked in model.prompts[1:4]]
    assert all(asked.startswith(first) for asked in model.prompts[:4])
    assert "none of its fields" in reminders[0]
    assert "I will list the files." in reminders[0]
    assert "\nFact Check: " in reminders[0]
    assert reminders[0].endswith("Action: List Files\nAction Input: {}]")
    assert "The reply is empty" in reminders[1]
    assert "I will list the files." not in reminders[1], "only the last problem is told"
    assert '"Action Input:" is missing' in reminders[2]
    assert "cut off after 4096 tokens" in reminders[2]
    assert "could not be read" not in model.prompts[4]


async def test_a_step_is_lost_when_no_reply_can_be_read(open_environment: OpenRun) -> None:
    model = Listener(LOOK, *["hm"] * (1 + RETRIES), *["oh"] * (1 + RETRIES), LOOK, SUBMIT)
    async with open_environment(BudgetLimits(steps=9), models=model.models) as environment:
        assert await run(environment) == "submitted"
        assert names(environment) == [
            "List Files", "Unusable Reply", "Unusable Reply", "List Files", "Final Answer",
        ]  # fmt: skip
        lost = environment.steps[1].observation
        assert lost.status == "error"
        assert lost.text.startswith("Nothing was done: 6 replies in a row could not be read.")
    first_after_loss = model.prompts[1 + 2 * (1 + RETRIES)]
    assert first_after_loss.count("Nothing was done: 6 replies") == 2
    assert "Nothing was done" not in model.prompts[-1], "it drops out once a step is right"
    assert model.prompts[-1].count("\nAction: List Files\n") == 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (says("Reed File", file_name="train.py"), "Did you mean Read File?"),
        (says("Read File", file="train.py"), "the argument file_name is missing"),
    ],
)
async def test_a_step_that_is_wrong_in_form_drops_out_once_the_next_one_is_right(
    open_environment: OpenRun, wrong: str, told: str
) -> None:
    absent = says("Read File", file_name="absent.txt")
    model = Listener(absent, wrong, wrong, LOOK, LOOK, SUBMIT)
    async with open_environment(models=model.models) as environment:
        await run(environment)
        assert len(environment.steps) == 6, "it costs a step"
    assert told in model.prompts[2]
    assert model.prompts[3].count(told) == 2
    assert told not in model.prompts[4]
    assert "absent.txt does not exist" in model.prompts[5], "an error in substance stays"


async def test_an_observation_that_the_model_makes_up_is_not_taken_over(
    open_environment: OpenRun,
) -> None:
    model = Listener(f"{LOOK}\nObservation: the score is 0.99", SUBMIT)
    async with open_environment(models=model.models) as environment:
        await run(environment)
        [event] = read_journal(environment.run.journal).events
    assert event.detail == "the model fabricated an observation: Observation: the score is 0.99"
    assert "0.99" not in model.prompts[1]


# The research log


async def test_with_retrieval_a_log_is_kept_and_its_relevant_part_is_shown(
    open_environment: OpenRun,
) -> None:
    bad = says("Read File")
    model = Listener(
        LOOK, "Entry one.", bad, LOOK, "Entry two.", "What matters.",
        LOOK, "Entry three.", "What matters now.", SUBMIT,
    )  # fmt: skip
    async with open_environment(models=model.models) as environment:
        await run(environment, retrieval=True)
        assert names(environment)[-1] == "Final Answer"
        log = (await environment.sandbox.read(LOG)).decode()
    assert log == "Entry one.\n\nEntry two.\n\nEntry three.\n"
    entry, *_, retrieval = model.asked("fast")
    assert "Research Plan and Status: 1. The plan." in entry, "the reasoning"
    assert "Action: List Files" in entry
    assert "train.py" in entry, "the observation"
    assert log.strip() in retrieval
    assert "1. The plan." in retrieval
    last = model.asked()[-1]
    assert last.index("What matters now.") < last.index("Action: List Files")
    assert ["What matters." in text for text in model.asked()] == [False] * 3 + [True, False]


# Going on


def eventful() -> list[Said]:
    """A run with everything in it that the agent must remember, in the order of the calls."""
    return [
        "hm", says("Write File", file_name="long.txt", content=LONG_TEXT), "Entry one.",
        says("Read File", file_name="long.txt"), "part one", "part two", "Both parts.",
        "Entry two.", "From the log of two.", f"{LOOK}\nObservation: fine", "Entry three.",
        "From the log of three.", "hm", SUBMIT,
    ]  # fmt: skip


EVENTFUL: dict[str, Any] = {"retrieval": True, "steps_in_context": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answered", "killed"),
    [
        pytest.param(1, False, id="before a second try"),
        pytest.param(5, True, id="between two blocks"),
        pytest.param(7, False, id="before an entry in the log"),
        pytest.param(8, True, id="killed before looking into the log"),
        pytest.param(9, False, id="after looking into the log"),
        pytest.param(12, True, id="killed before the last prompt"),
    ],
)
async def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(
    open_environment: OpenRun, tmp_path: Path, python_env: PythonEnv, answered: int, killed: bool
) -> None:
    small_task(tmp_path / "whole")
    whole = Listener(*eventful())
    async with open_run(tmp_path / "whole", python_env, models=whole.models) as environment:
        await run(environment, **EVENTFUL)

    first = Listener(*eventful()[:answered], RuntimeError("out of order"))
    async with open_environment(models=first.models) as environment:
        with pytest.raises(RunFailed, match="out of order"):
            if killed:  # nothing is written at the end, the workspace goes back to its last step
                fields = dict.fromkeys(("reflection", "plan", "fact_check", "thought"), True)
                await ResearchAgent(environment, Settings(**fields, **EVENTFUL)).act()
            else:
                await run(environment, **EVENTFUL)
    second = Listener(*eventful()[answered:])
    async with open_environment(models=second.models) as environment:
        assert await run(environment, **EVENTFUL) == "submitted"
        assert len(environment.steps) == 4, "no step is done twice"
        log = (await environment.sandbox.read(LOG)).decode()
    assert second.prompts == whole.prompts[answered:]
    assert second.roles == whole.roles[answered:]
    assert log == "Entry one.\n\nEntry two.\n\nEntry three.\n"


async def test_a_step_that_was_interrupted_is_shown_and_the_log_is_whole(
    open_environment: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Environment, action: object) -> None:
        raise RunFailed("sandbox", "gone")

    agent = Settings(thought=True, retrieval=True)
    model = Listener(
        says("List Files", "react-text"), "Entry one.", says("List Files", "react-text")
    )
    async with open_environment(models=model.models) as environment:
        observe = Environment._observe
        monkeypatch.setattr(
            Environment,
            "_observe",
            lambda self, action: (broken if self.steps else observe)(self, action),
        )
        with pytest.raises(RunFailed, match="gone"):
            await ResearchAgent(environment, agent).act()
    monkeypatch.undo()
    second = Listener("Entry two.", says("List Files", "react-text"), RuntimeError("enough"))
    async with open_environment(models=second.models) as environment:
        with pytest.raises(RunFailed, match="enough"):
            await ResearchAgent(environment, agent).act()
        assert [step.observation.status for step in environment.steps] == [
            "ok",
            "interrupted",
            "ok",
        ]
        log = (await environment.sandbox.read(LOG)).decode()
    assert "was interrupted from outside" in second.asked()[0]
    assert log == "Entry one.\n\nEntry two.\n"


async def test_steps_of_another_agent_are_shown_without_their_reasons(
    open_environment: OpenRun,
) -> None:
    other = Listener(says("List Files", "act"), RuntimeError("stop"))
    async with open_environment(models=other.models) as environment:
        with pytest.raises(RunFailed):
            await run(environment, "act")
    model = Listener(SUBMIT)
    async with open_environment(models=model.models) as environment:
        assert await run(environment) == "submitted"
    assert "Action: List Files\nAction Input: {}\nObservation:\n" in model.prompts[0]
    assert "train.py" in model.prompts[0]


async def test_the_same_replies_give_the_same_journal_but_for_times(
    tmp_path: Path, python_env: PythonEnv
) -> None:
    journals = []
    for name in ("a", "b"):
        small_task(tmp_path / name)
        model = Listener(*eventful())
        async with open_run(tmp_path / name, python_env, models=model.models) as environment:
            await run(environment, **EVENTFUL)
            journals.append(environment.run.journal.read_text().splitlines())
    first, second = ([_without_times(json.loads(line)) for line in one] for one in journals)
    assert first == second
    assert len(first) > 20


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        times = {"at", "clock", "started", "seconds", "stored"}  # times are stored in digits
        sealed = {"before", "token", "check"}  # hashes cover times, and each holder is another
        left_out = times | sealed
        return {key: _without_times(one) for key, one in value.items() if key not in left_out}
    return value


# Settings


@pytest.mark.parametrize(
    ("agent", "settings", "told"),
    [
        ("research", {"retrieval": "yes"}, "retrieval='yes': it should be a valid boolean"),
        ("research", {"plan": 1}, "plan=1: it should be a valid boolean"),
        ("research", {"steps_in_context": 0}, "steps_in_context=0: it should be greater than 0"),
        ("act", {"steps_in_context": "3"}, "steps_in_context='3': it should be a valid integer"),
        ("react-text", {"max_reply_tokens": -1}, "max_reply_tokens=-1: it should be greater than"),
        ("act", {"retrieval": True}, "unexpected keyword argument 'retrieval'"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_runs(
    agent: str, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=f"agent {agent}: ") as caught:
        AGENTS[agent].solver(**settings)
    assert told in str(caught.value)


async def test_a_refusal_before_an_interruption_is_no_answer_after_it(
    open_environment: OpenRun,
) -> None:
    refusal: list[Content] = [ContentText(text="I had rather not.", refusal=True)]
    no = with_usage(ModelOutput.from_message(ChatMessageAssistant(content=refusal)))
    first = Listener(no, RuntimeError("out of order"))
    async with open_environment(models=first.models) as environment:
        with pytest.raises(RunFailed, match="out of order"):
            await run(environment)
    second = Listener(SUBMIT)
    async with open_environment(models=second.models) as environment:
        assert await run(environment) == "submitted"
        events = read_journal(environment.run.journal).events
    assert second.prompts == first.prompts[:1]
    assert "unreadable" not in [line.event for line in events]
