"""The research log: a file of the workspace that every snapshot has."""

import pytest
from inspect_ai.model import ChatMessage
from scripted_model import scripted, scripted_by
from small_task import OpenRun

from mlagentbench.environment.environment import Environment
from mlagentbench.environment.research_log import LOG, ResearchLog
from mlagentbench.records import Action
from mlagentbench.runs.objects.snapshot_trees import entry_at

pytestmark = pytest.mark.anyio


def log_of(environment: Environment) -> ResearchLog:
    return ResearchLog(environment.models, environment.sandbox)


async def test_an_empty_log_asks_nobody(open_environment: OpenRun) -> None:
    async with open_environment(models={"main": scripted()}) as environment:
        log = log_of(environment)
        assert await log.read() == ""
        assert await log.retrieve("what now?") == ""
        await log.append("  \n")
        assert not (environment.run.work / LOG).exists()


async def test_entries_are_condensed_appended_and_found_after_a_resume(
    open_environment: OpenRun,
) -> None:
    asked: list[str] = []

    def answer(messages: list[ChatMessage], *_: object) -> str:
        asked.append(messages[0].text)
        return f"entry {len(asked)} é\n"

    models = {"main": scripted(), "fast": scripted_by(answer)}
    async with open_environment(models=models) as environment:
        log = log_of(environment)
        for number, happened in enumerate(("ran train.py, MAE 0.5", "x" * 100_000), start=1):
            entry = await log.condense(happened)
            assert entry == f"entry {number} é"
            await log.append(entry)
        await environment.execute(Action(name="List Files"))
        assert entry_at(environment.store, environment.steps[-1].snapshot, LOG) is not None
    assert "ran train.py, MAE 0.5" in asked[0]
    assert len(asked[1]) < 22_000
    async with open_environment(models=models) as environment:
        log = log_of(environment)
        await log.append("mine")
        assert await log.read() == "entry 1 é\n\nentry 2 é\n\nmine\n"
        assert await log.retrieve("try a forest") == "entry 3 é"
    assert "try a forest" in asked[2]
    assert "entry 2 é\n\nmine" in asked[2]


async def test_what_the_agent_puts_in_the_logs_place_is_replaced(
    open_environment: OpenRun,
) -> None:
    async with open_environment(models={"main": scripted()}) as environment:
        log = log_of(environment)
        for trick in (f"mkdir {LOG}", f"rm -r {LOG}; ln -s train.csv {LOG}", f"chmod 0 {LOG}"):
            result = await environment.sandbox.run(["sh", "-c", trick])
            assert result.exit_code == 0, result.output
            await log.append(f"after {trick}")
            assert (await log.read()).endswith(f"after {trick}\n")
        assert "id,y" in (await environment.sandbox.read("train.csv")).decode()
