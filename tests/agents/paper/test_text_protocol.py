"""Replies of text agents: habits of models that are understood, and what errors say."""

import pytest
from hypothesis import given, settings
from replies import (
    FIELDS,
    Written,
    check_outcome,
    check_reply,
    damaged_replies,
    fragment_texts,
    nested_replies,
    random_texts,
    sound_reply,
    written_replies,
)

from mlagentbench.agents.paper.text_protocol import ReplyError, parse_reply
from mlagentbench.errors import ActionError
from mlagentbench.records import Action

REACT = ("Thought",)
RUN = Action(name="Run", arguments={"a": 1})

WHOLE = """\
Reflection: The script has run.
It took long.
Research Plan and Status:
1. Baseline: done, 0.7.
- Action: try more trees
Fact Check: 0.7 is confirmed by the observation.
Thought: Now I run it.
Action: Run
Action Input: {"a": 1}
"""

HABITS = {
    "plain": 'Thought: go\nAction: Run\nAction Input: {"a": 1}',
    "bold": '**Thought:** go\n\n**Action:** Run\n\n**Action Input:** {"a": 1}',
    "bold before the colon": '**Thought**: go\n**Action**: `Run`\n**Action Input**:\n{"a": 1}',
    "headings": '## Thought\ngo\n\n## Action\nRun\n\n## Action Input\n```json\n{"a": 1}\n```',
    "bullets": '- Thought: go\n- Action: Run\n- Action Input: {"a": 1}',
    "numbers": '1. Thought: go\n2. Action: Run\n3. Action Input: {"a": 1}',
    "quoted": '> Thought: go\n> Action: Run\n> Action Input: {"a": 1}',
    "any case": 'THOUGHT: go\naction: Run\nAction input: {"a": 1}',
    "underscores": 'thought: go\naction: Run\naction_input: {"a": 1}',
    "a remark": 'Thought: go\nAction: Run\nAction Input (JSON): {"a": 1}',
    "Chinese colons": 'Thought：go\nAction：Run\nAction Input：{"a": 1}',
    "prose before": (
        'Sure, here is my next step.\n\nThought: go\n'
        'Action: Run\nAction Input: {"a": 1}'
    ),
    "prose behind": 'Thought: go\nAction: Run\nAction Input: {"a": 1}\n\nLet me know!',
    "a fence around all": '```\nThought: go\nAction: Run\nAction Input: {"a": 1}\n```',
    "a fence around the name": (
        'Thought: go\nAction:\n```\nRun\n```\n'
        'Action Input:\n```json\n{"a": 1}\n```'
    ),
    "quotes around the name": 'Thought: go\nAction: "Run".\nAction Input: {"a": 1}',
    "words behind the name": (
        'Thought: go\n'
        'Action: Run\n(to see the baseline)\nAction Input: {"a": 1}'
    ),
    "python": "Thought: go\nAction: Run\nAction Input: {'a': 1,}",
    "no brace": 'Thought: go\nAction: Run\nAction Input: {"a": 1',
    "a brace too much": 'Thought: go\nAction: Run\nAction Input: {"a": 1}}',
    "no brace before an observation": (
        'Thought: go\n'
        'Action: Run\nAction Input: {"a": 1\nObservation: fine'
    ),
    "no brace before a heading": (
        'Thought: go\n'
        'Action: Run\nAction Input: {"a": 1\n## Observation\nfine'
    ),
    "words before the object": 'Thought: go\nAction: Run\nAction Input: the JSON is {"a": 1}',
    "another round": (
        'Thought: go\nAction: Run\nAction Input: {"a": 1}\n\n'
        "Thought: next\nAction: Final Answer\nAction Input: {}"
    ),
    "an action in a thought": 'Thought: go\nAction: think\nAction: Run\nAction Input: {"a": 1}',
    "thinking": (
        '<think>\nThought: no\nAction: Wait\nAction Input: {}\n</think>\nThought: go\n'
        'Action: Run\nAction Input: {"a": 1}'
    ),
    "the end of a turn": 'Thought: go\nAction: Run\nAction Input: {"a": 1}<|im_end|>',
    "a mark of byte order": '\ufeffThought: go\nAction: Run\nAction Input: {"a": 1}',
    "line ends of Windows": 'Thought: go\r\nAction: Run\r\nAction Input: {"a": 1}\r\n',
}  # fmt: skip

WRONG = {
    "nothing": ("", "The reply is empty"),
    "blanks": (" \n\t\n", "The reply is empty"),
    "only thinking": ("<think>What now? Action: x", "empty, or holds nothing but thinking"),
    "prose": (
        "I would run it.",
        'none of its fields ("Thought:", "Action:", "Action Input:"). It begins with: I would run',
    ),
    "no thought": (
        "Action: a\nAction Input: {}",
        '"Thought:" is missing or not in order. Found: "Action:" (line 1), "Action Input:" (li',
    ),
    "no action": ("Thought: a\nAction Input: {}", '"Action:" is missing'),
    "no input": ('Thought: a\nAction: b\n{"c": 1}', '"Action Input:" is missing'),
    "another order": (
        "Action: a\nThought: b\nAction Input: {}",
        '"Thought:" is missing or not in order. Found: "Action:" (line 1)',
    ),
    "one line": ("Thought: a Action: b Action Input: {}", '"Action:", "Action Input:" are missing'),
    "an empty action": ("Thought: a\nAction:\nAction Input: {}", '"Action:" (line 2) is empty'),
    "a long action": (
        f"Thought: a\nAction: {'b' * 101}\nAction Input: {{}}",
        '"Action:" (line 2) needs the name of an action and nothing else: bbb',
    ),
    "a null character in the action": (
        "Thought: a\nAction: b\0\nAction Input: {}",
        "needs the name of an action",
    ),
    "an empty input": (
        "Thought: a\nAction: b\nAction Input:",
        '"Action Input:" (line 3) needs a JSON object in "{" and "}", found: nothing',
    ),
    "words as input": ("Thought: a\nAction: b\nAction Input: a.py", "found: a.py"),
    "an observation as input": (
        "Thought: a\nAction: b\nAction Input: none\nObservation: {}",
        "found: none",
    ),
    "bad JSON": (
        'Thought: a\nAction: b\nAction Input: {\n"c": "d"e"}',
        '"Action Input:" (line 3) is not a JSON object: line 4, column 9: expected',
    ),
    "a reply that was cut off": ('Thought: a\nAction: b\nAction Input: {"c": "d', "never closed"),
}


def test_a_whole_reply() -> None:
    parsed = parse_reply(WHOLE, FIELDS)
    assert parsed.texts == {
        "Reflection": "The script has run.\nIt took long.",
        "Research Plan and Status": "1. Baseline: done, 0.7.\n- Action: try more trees",
        "Fact Check": "0.7 is confirmed by the observation.",
        "Thought": "Now I run it.",
    }
    assert parsed.action == RUN
    assert not parsed.cut_off
    assert parse_reply(parsed.as_text(), FIELDS) == parsed


@pytest.mark.parametrize("text", HABITS.values(), ids=HABITS)
def test_habits_of_models_are_understood(text: str) -> None:
    parsed = parse_reply(text, REACT)
    assert parsed.action == RUN
    assert parsed.texts["Thought"].startswith("go")


@pytest.mark.parametrize(("text", "error"), WRONG.values(), ids=WRONG)
def test_an_error_names_what_is_wrong_and_where(text: str, error: str) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_reply(text, REACT)
    assert error in str(caught.value)
    assert isinstance(caught.value, ActionError)


def test_an_action_is_enough_where_no_other_field_is_asked_for() -> None:
    parsed = parse_reply("Thought: x\nAction: List Files\nAction Input: {}", ())
    assert (parsed.texts, parsed.action) == ({}, Action(name="List Files"))


@pytest.mark.parametrize("label", ["Observation: ", "**Observation:** ", "## Observation\n"])
def test_an_observation_that_the_model_made_up_is_cut_off_and_noted(label: str) -> None:
    parsed = parse_reply(f"{HABITS['plain']}\n\n{label}the score is 0.99\n", REACT)
    assert parsed.fabricated
    assert parsed.cut_off == f"{label}the score is 0.99"
    other = parse_reply(HABITS["prose behind"], REACT)
    assert (other.cut_off, other.fabricated) == ("Let me know!", False)


def test_what_stands_in_a_text_of_the_input_is_no_field() -> None:
    content = "Action: no\nObservation: no\nAction Input: {no}\n"
    text = f'Thought: go\nAction: Write File\nAction Input: {{"content": "{content}"}}'
    parsed = parse_reply(text, REACT)
    assert parsed.action.arguments == {"content": content}
    assert not parsed.fabricated


def test_characters_that_are_none() -> None:
    parsed = parse_reply("Thought: \ud83d\ude00 \ud800 \0\nAction: x\nAction Input: {}", REACT)
    assert parsed.texts["Thought"] == "\U0001f600 \ufffd \ufffd"
    with pytest.raises(ReplyError, match="a null character cannot stand in a text"):
        parse_reply('Thought: a\nAction: x\nAction Input: {"a": "\0"}', REACT)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(written_replies())
def test_a_clear_reply_means_the_same_however_it_is_written(written: Written) -> None:
    check_reply(written)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(damaged_replies())
def test_a_damaged_reply_has_a_defined_outcome(text: str) -> None:
    check_outcome(text)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(fragment_texts | random_texts)
def test_any_text_has_a_defined_outcome(text: str) -> None:
    check_outcome(text)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(nested_replies())
def test_any_tower_of_brackets_has_a_defined_outcome(text: str) -> None:
    check_outcome(text)


def test_a_reply_of_a_megabyte_is_read() -> None:
    parsed = parse_reply(sound_reply(1_000_000), FIELDS)
    assert len(parsed.action.arguments["content"]) == 1_000_000
