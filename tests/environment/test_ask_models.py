"""Asking models in their roles, and what becomes of everything that can go wrong with it."""

import anyio
import pytest
from inspect_ai.model import ChatMessageUser, Model
from scripted_model import scripted, scripted_by, text_reply, tool_call
from small_task import OpenRun

from mlagentbench.agents.runner import run_agent
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ContextOverflow, ModelRefused, RunFailed
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.question import Question, current_question
from mlagentbench.runs.journal import read_journal

pytestmark = pytest.mark.anyio

HELLO = [ChatMessageUser(content="hello")]


async def test_every_reply_is_in_the_journal_with_its_role_and_step(
    open_environment: OpenRun,
) -> None:
    models = {"main": scripted("one", tool_call("list_files", dir_path=".")), "fast": scripted("f")}
    async with open_environment(models=models) as environment:
        assert (await environment.models.ask(HELLO, state={"at": 1})).completion == "one"
        assert await environment.models.ask_text("short?", role="fast") == "f"
        await environment.models.ask(HELLO)
        assert environment.models.state == {"at": 1}
        assert environment.usage.input_tokens == 30
        kept = read_journal(environment.run.journal).replies
        assert [(line.step, line.role, line.reply) for line in kept] == [
            (1, "main", "one"), (1, "fast", "f"), (1, "main", kept[2].reply),
        ]  # fmt: skip
        assert kept[2].message["tool_calls"][0]["function"] == "list_files"
        assert environment.store.read(kept[1].prompt_hash) == b"[user]\nshort?"
    async with open_environment(models=models) as environment:
        assert [line.reply for line in environment.models.replies] == [line.reply for line in kept]
        assert environment.models.state == {"at": 1}


async def test_a_role_that_nobody_bound_is_the_main_models(open_environment: OpenRun) -> None:
    async with open_environment(models={"main": scripted("from main")}) as environment:
        assert await environment.models.ask_text("?", role="edit") == "from main"


async def test_the_model_can_know_what_it_is_asked_for(open_environment: OpenRun) -> None:
    seen: list[Question | None] = []

    def remember(*_: object) -> str:
        seen.append(current_question())
        return "ok"

    async with open_environment(models={"main": scripted_by(remember)}) as environment:
        await environment.models.ask(HELLO)
        await environment.models.ask_text("?", role="fast")
    assert current_question() is None
    assert [(one.step, one.role) for one in seen if one] == [(1, "main"), (1, "fast")]


async def test_a_prompt_that_is_too_long(open_environment: OpenRun) -> None:
    model = scripted(text_reply("", stop_reason="model_length"))
    async with open_environment(models={"main": model}) as environment:
        with pytest.raises(ContextOverflow, match="longer than"):
            await environment.models.ask(HELLO)


async def test_who_refuses_is_asked_again_and_then_the_run_is_over(
    open_environment: OpenRun,
) -> None:
    no = text_reply("I cannot help with that.", stop_reason="content_filter")
    async with open_environment(models={"main": scripted(no, no, "well then")}) as environment:
        assert (await environment.models.ask(HELLO)).completion == "well then"
    async with open_environment(models={"main": scripted(no, no, no)}) as environment:
        with pytest.raises(ModelRefused, match="I cannot help"):
            await environment.models.ask(HELLO)
        assert len(environment.models.replies) == 6


async def test_a_provider_that_fails_fails_the_run_which_can_go_on(
    open_environment: OpenRun,
) -> None:
    async def loop(environment: Environment) -> None:
        await environment.models.ask(HELLO)

    model: Model = scripted(RuntimeError("no capacity\nat all"))
    async with open_environment(models={"main": model}) as environment:
        with pytest.raises(RunFailed, match=r"does not answer: .*no capacity at all") as failure:
            await run_agent(environment, loop)
        assert failure.value.cause == "model"
        assert environment.outcome is not None
        assert (environment.outcome.kind, environment.outcome.cause) == ("failed", "model")
    async with open_environment(models={"main": scripted("fine")}) as environment:
        await run_agent(environment, loop)
        assert environment.outcome is not None
        assert environment.outcome.kind == "submitted"


@pytest.mark.parametrize(
    ("reply", "kind"), [("model_length", "context"), ("content_filter", "refusal")]
)
async def test_overflow_and_refusal_end_the_run(
    open_environment: OpenRun, reply: str, kind: str
) -> None:
    async def loop(environment: Environment) -> None:
        await environment.models.ask(HELLO)

    model = scripted_by(lambda *_: text_reply("no", stop_reason=reply))  # type: ignore[arg-type]
    async with open_environment(models={"main": model}) as environment:
        await run_agent(environment, loop)
        assert environment.outcome is not None
        assert environment.outcome.kind == kind


async def test_time_that_is_used_up_cuts_the_agent_off_and_the_best_is_handed_in(
    open_environment: OpenRun,
) -> None:
    from mlagentbench.records import Action

    async def loop(environment: Environment) -> None:
        for content in ("good", "bad"):
            arguments = {"file_name": "a.txt", "content": content}
            await environment.execute(Action(name="Write File", arguments=arguments))
        await anyio.sleep(60)

    async with open_environment(BudgetLimits(time=1.5)) as environment:
        await run_agent(environment, loop, lambda at: at.submit_step(at.steps[0]))
        assert environment.outcome is not None
        assert environment.outcome.kind == "time"
        first = environment.steps[0].snapshot
        assert read_journal(environment.run.journal).snapshot == first
