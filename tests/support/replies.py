"""Replies of models as hypothesis makes them up, and what must hold for each kind of them.

Tests draw a few hundred of each kind, `make soak` many thousands.
"""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from mlagentbench.agents.paper.relaxed_json import JsonError, parse_object
from mlagentbench.agents.paper.text_protocol import ParsedReply, ReplyError, parse_reply
from mlagentbench.records import Action, Json, Record

FIELDS = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")
HEADERS = (*FIELDS, "Action", "Action Input")
ACTIONS = ("List Files", "Edit Script (AI)", "Execute Script", "Final Answer", "no such action")
CODE = 'import os\n\nprint("a\\tb", \'c\')\nAction: none\n"""Doc."""\n```\nObservation: 1\n```\n'
SPECIAL_TEXTS = ["", CODE, "it's", '"', '\\d+\\"', "'''", '"""', "a\\", "\U0001f600"]
MEGABYTE = 1_000_000

Draw = Callable[[st.SearchStrategy[Any]], Any]
_chances = st.integers(0, 2**32).map(Random)
"""How something is written; what it means is hypothesis's own, which can make it simpler."""


class Written(Record):
    """A text, and what it means."""

    text: str
    meaning: Json


# What replies mean

_characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
_texts = st.text(_characters, max_size=30) | st.sampled_from(SPECIAL_TEXTS)
_keys = st.sampled_from(["file_name", "a-b", "x1"]) | _texts
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | _texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_objects = st.dictionaries(_keys, _values, max_size=4)
_words = st.text("abcdefgh ABC019.,;!?()*-`#\n", max_size=60).map(str.strip)


@st.composite
def _meanings(draw: Draw) -> ParsedReply:
    texts = {name: draw(_words) for name in FIELDS}
    name, arguments = draw(st.sampled_from(ACTIONS)), draw(_objects)
    return ParsedReply(texts=texts, action=Action(name=name, arguments=arguments))


# How an object is written


def _double(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _careless(text: str) -> str:
    """With backslashes left alone where that changes nothing, as in patterns."""
    return '"' + re.sub(r"\\(?=[\"'\\/bfnrtu]|\Z)|\"", lambda one: "\\" + one[0], text) + '"'


def _single(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _triple(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + '"""'


_TEXT_WAYS: list[Callable[[str], str]] = [json.dumps, _double, _careless, _single, _triple]
_GAPS = ["", " ", "\n    ", "\t", " // it's so\n", " # {\n", " /* } */ ", "\r\n"]


def _written_text(chance: Random, text: str) -> str:
    return chance.choice(_TEXT_WAYS)(text)


def _written_key(chance: Random, key: str) -> str:
    if re.fullmatch(r"[a-z_][a-z0-9_-]*", key) and chance.random() < 0.5:
        return key
    return _written_text(chance, key)


def _written(chance: Random, value: Json, open_end: bool = False) -> str:
    """A value as a model may write it; with `open_end`, the last bracket is not there."""
    gap = chance.choice(_GAPS)
    if isinstance(value, str):
        return _written_text(chance, value)
    if not isinstance(value, list | dict):
        return chance.choice([json.dumps(value), repr(value)])
    if isinstance(value, dict):
        parts = [
            f"{_written_key(chance, key)}:{gap}{_written(chance, one)}"
            for key, one in value.items()
        ]
        opening, closing = "{}"
    else:
        parts = [_written(chance, item) for item in value]
        opening, closing = "[]"
    if open_end and parts:
        return opening + f"{gap},{gap}".join(parts)
    comma = chance.choice(["", ","]) if parts else ""
    return opening + gap + f"{gap},{gap}".join(parts) + gap + comma + gap + closing


@st.composite
def written_objects(draw: Draw) -> Written:
    """Objects whose meaning is clear, between other things."""
    meaning, chance = draw(_objects), draw(_chances)
    before = chance.choice(["", " \n", "Here it is: ", "```json\n"])
    if chance.random() < 0.5:
        after = chance.choice(["", "\n", "\n```\nThat was {all}."])
        return Written(
            text=before + _written(chance, meaning, open_end=True) + after, meaning=meaning
        )
    after = chance.choice(["", "\n", "\n```\n", "}", " is what I want. {"])
    return Written(text=before + _written(chance, meaning) + after, meaning=meaning)


# How a reply is written

_HEADER_WAYS = [
    "{}: ", "{}:\n", "**{}:** ", "**{}**: ", "## {}\n", "### {}:\n", "- {}: ", "* **{}:** ",
    "> {}: ", "1. {}: ", "2) **{}**\n", "`{}`: ", "__{}__:\n\n", "{} : ", "[{}]: ",
    "{} (as told): ", "  {}: ", "{}： ",
]  # fmt: skip
_NAME_WAYS: list[Callable[[str], str]] = [
    str, str.upper, str.lower,
    lambda name: name.replace(" ", "_"), lambda name: name.replace(" ", "  "),
]  # fmt: skip
_ACTION_WAYS = [
    "{}", "**{}**", "`{}`", '"{}"', "[{}]", "```\n{}\n```", "{}.", "{}\n\nThis is best.",
]  # fmt: skip
_BEFORE = ["", "\n\n", "Here is my next step:\n", "```\n", "<think>\nAction Input: {\n</think>\n"]
_INPUT_BEFORE = ["", "\n", "```json\n", "```\n", "the JSON: "]
_AFTER = [
    "",
    "\n",
    "\n```\n",
    "\n\nObservation: it works {\n",
    "\n## Observation\nAction Input: {}",
]
_AFTER_WHOLE = [*_AFTER, "}", " I am sure.", "\nThought: more?", "<|im_end|>", "\n```\n\nDone."]


@st.composite
def written_replies(draw: Draw) -> Written:
    """Replies whose meaning is clear."""
    meaning, chance = draw(_meanings()), draw(_chances)
    name_way, header_way = (chance.choice(ways) for ways in (_NAME_WAYS, _HEADER_WAYS))
    headers = [header_way.format(name_way(name)) for name in HEADERS]
    arguments = meaning.action.arguments
    whole = chance.random() < 0.5
    values = [
        *meaning.texts.values(),
        chance.choice(_ACTION_WAYS).format(meaning.action.name),
        chance.choice(_INPUT_BEFORE) + _written(chance, arguments, open_end=not whole),
    ]
    between = chance.choice(["\n", "\n\n", "\r\n"])
    fields = between.join(header + value for header, value in zip(headers, values, strict=True))
    before = chance.choice(_BEFORE)
    after = chance.choice(_AFTER_WHOLE if whole or not arguments else _AFTER)
    return Written(text=before + fields + after, meaning=meaning)


# What nobody would call a reply

_FRAGMENTS = [
    *HEADERS, "Observation:", "\n", ": ", "{", "}", "[", "]", ",", '"', "'", '"""', "'''", "\\",
    "\\u", "\\ud800", "\\u0000", "```", "```json\n", "#", "//", "/*", "*/", "**", "true", "NaN",
    "-Infinity", "1e999", "9" * 500, "\0", "\ud800", "\udc00", "<think>", "</think>", "\ufeff",
    "\u2028", "é",
]  # fmt: skip
fragment_texts = st.lists(st.sampled_from(_FRAGMENTS) | _texts, max_size=30).map("".join)
random_texts = st.builds(
    bytes.decode,
    st.binary(max_size=300),
    st.just("utf-8"),
    st.sampled_from(["replace", "surrogateescape", "backslashreplace"]),
)
START = "Reflection:\nResearch Plan and Status:\nFact Check:\nThought: t\nAction: a\nAction Input: "


@st.composite
def damaged_replies(draw: Draw) -> str:
    """Replies with a part of them lost, doubled, reversed or replaced."""
    text, chance = draw(written_replies()).text, draw(_chances)
    for _ in range(chance.randint(1, 4)):
        begin, end = sorted(chance.choices(range(len(text) + 1), k=2))
        part = text[begin:end]
        instead = chance.choice(["", part * 2, part[::-1], *_FRAGMENTS])
        text = text[:begin] + instead + text[end:]
    return str(text)


@st.composite
def nested_replies(draw: Draw) -> str:
    """Replies whose input is a tower of brackets, sound or not."""
    floor: str = draw(st.sampled_from(['{"a":', "[", '{"a":[', "{a:{b:", "[[{'a':", "{"]))
    floors: int = draw(st.integers(1, 70) | st.integers(1, 3_000))
    closings: int = draw(st.sampled_from([floors, floors + 1, floors - 1, 0]))
    inmost: str = draw(st.sampled_from(["", "1", "]", '"']))
    closing = "".join("}" if one == "{" else "]" for one in reversed(floor) if one in "{[")
    return START + '{"top": ' + floor * floors + inmost + closing * closings


REPEATED = {
    "text": "word ", "lines": "\n", "headers": "Thought: x\n", "inputs": "Action Input:\n",
    "names": "Action Input", "decoration": "**", "blanks": " ", "objects": "{",
    "members": '"a": 1, ', "quotes": '"', "apostrophes": "'", "backslashes": "\\",
    "escapes": "\\n",
    "halves": "\\ud800",
    "digits": "9", "comments": "/*", "slashes": "//\n", "fences": "```\n", "brackets": "[",
    "surrogates": "\ud83d", "nulls": "\0", "code": CODE, "observations": "Observation: {}\n",
}  # fmt: skip
"""What a long reply may consist of."""
WRAPPED = ("", START, START + '{"content": "', START + '{"content": """', START + '{"a": [')


def long_reply(repeated: str, start: str, size: int = MEGABYTE) -> str:
    """A reply of so many characters."""
    room = size - len(start)
    return start + (repeated * (room // len(repeated) + 1))[:room]


def sound_reply(size: int) -> str:
    """A good reply that writes a file of about so many characters."""
    content = (CODE * (size // len(CODE) + 1))[:size]
    return f"{START}{json.dumps({'file_name': 'a.py', 'content': content})}\n"


long_replies = st.builds(
    long_reply, st.sampled_from(list(REPEATED.values())), st.sampled_from(WRAPPED)
)


# What must hold


def check_object(written: Written) -> None:
    assert same(parse_object(written.text).value, written.meaning), written.text


def check_reply(written: Written) -> None:
    """A reply whose meaning is clear is read as that, and so is what we make of it."""
    found, meant = parse_reply(written.text, FIELDS), written.meaning
    assert found.texts == meant.texts
    assert found.action.name == meant.action.name
    assert same(found.action.arguments, meant.action.arguments)
    assert parse_reply(found.as_text(), FIELDS) == found.model_copy(
        update={"cut_off": "", "fabricated": False}
    )


def check_outcome(text: str) -> None:
    """Whatever a text is, it is read, or there is one of our errors with something to say."""
    try:
        parsed = parse_reply(text, FIELDS)
    except ReplyError as error:
        assert 10 < len(str(error)) < 2_000
        str(error).encode()
    else:
        assert list(parsed.texts) == list(FIELDS)
        parsed.model_dump_json()
    try:
        assert parse_object(text).end <= len(text)
    except JsonError as error:
        assert 0 <= error.position <= len(text)
        str(error).encode()


def same(one: Json, other: Json) -> bool:
    """Equal in value and in type, so that 1, 1.0 and true differ."""
    return json.dumps(one) == json.dumps(other)
