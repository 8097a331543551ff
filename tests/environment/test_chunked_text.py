"""Asking about texts that are longer than a model should read at once."""

import pytest
from inspect_ai.model import ChatMessage
from scripted_model import scripted, scripted_by
from small_task import OpenRun

from mlagentbench.environment.chunked_text import MOST_BLOCKS, clipped, summarise_long

pytestmark = pytest.mark.anyio


async def test_one_block_is_one_call(open_environment: OpenRun) -> None:
    asked: list[str] = []

    def answer(messages: list[ChatMessage], *_: object) -> str:
        asked.append(messages[0].text)
        return " It prints 7.\n"

    models = {"main": scripted(), "fast": scripted_by(answer)}
    async with open_environment(models=models) as environment:
        told = await summarise_long(environment.models, "print(7)", "What is printed?")
    assert told == "It prints 7."
    [prompt] = asked
    assert "print(7)" in prompt
    assert "What is printed?" in prompt
    assert "part 1" not in prompt


async def test_each_block_is_asked_about_and_the_answers_are_merged(
    open_environment: OpenRun,
) -> None:
    asked: list[str] = []

    def answer(messages: list[ChatMessage], *_: object) -> str:
        asked.append(messages[0].text)
        return f"answer {len(asked)}"

    models = {"main": scripted(), "fast": scripted_by(answer)}
    async with open_environment(models=models) as environment:
        text = "a" * 10 + "b" * 10 + "c" * 5
        told = await summarise_long(environment.models, text, "Which letters?", block=10)
    assert told == "answer 4"
    assert ["a" * 10 in one for one in asked] == [True, False, False, False]
    assert "c" * 5 in asked[2]
    assert "b" * 10 not in asked[2]
    assert "(part 3 of 3)" in asked[2]
    assert all(f"answer {number}" in asked[3] for number in (1, 2, 3))
    assert all("Which letters?" in one for one in asked)


async def test_about_an_empty_text_nobody_is_asked(open_environment: OpenRun) -> None:
    async with open_environment(models={"main": scripted()}) as environment:
        assert await summarise_long(environment.models, "", "What is in it?") == ""


async def test_of_a_huge_text_beginning_and_end_are_read(open_environment: OpenRun) -> None:
    asked: list[str] = []

    def answer(messages: list[ChatMessage], *_: object) -> str:
        asked.append(messages[0].text)
        return "some"

    async with open_environment(models={"main": scripted_by(answer)}) as environment:
        text = "first" + "." * 1_000_000 + "last"
        await summarise_long(environment.models, text, "?", block=1000)
    assert len(asked) == MOST_BLOCKS + 1
    assert "first" in asked[0]
    assert "last" in asked[-2]
    assert any("characters left out" in one for one in asked)


@pytest.mark.parametrize("size", [0, 10, 100, 101, 199])
def test_a_clipped_text_has_its_size_and_both_ends(size: int) -> None:
    text = "<" + "x" * 198 + ">"
    short = clipped(text, size)
    assert "of 200 characters left out" in short
    if size >= 100:
        assert len(short) == size
        assert (short[0], short[-1]) == ("<", ">")
    assert clipped(text, 200) == text
