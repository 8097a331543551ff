"""JSON as models write it: what is understood, what is not, and where."""

import json

import pytest
from hypothesis import given, settings
from replies import Written, check_object, written_objects

from mlagentbench.agents.paper.relaxed_json import MAX_DEPTH, JsonError, parse_object
from mlagentbench.errors import ActionError
from mlagentbench.records import Json

CLEAR: dict[str, tuple[str, Json]] = {
    "plain": ('{"a": [1, -2.5e3, true, null], "b": {}}', {"a": [1, -2500.0, True, None], "b": {}}),
    "trailing commas": ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
    "single quotes": ("{'a': 'say \"hi\"', 'b': 'it\\'s'}", {"a": 'say "hi"', "b": "it's"}),
    "python words": ('{"a": True, "b": False, "c": None}', {"a": True, "b": False, "c": None}),
    "words in capitals": ('{"a": TRUE, "b": Null}', {"a": True, "b": None}),
    "keys without quotes": ('{file_name: "a.py", a-b: 1}', {"file_name": "a.py", "a-b": 1}),
    "raw line ends": ('{"a": "one\n\ttwo\r\n"}', {"a": "one\n\ttwo\r\n"}),
    "triple quotes": ('{"a": """x = "y"\nz = \'\'"""}', {"a": "x = \"y\"\nz = ''"}),
    "triple quotes with escapes": (r'{"a": """a\n\"\\n"""}', {"a": 'a\n"\\n'}),
    "triple quotes behind a quote": ('{"a": """say "hi""""}', {"a": 'say "hi"'}),
    "triple apostrophes": ("{'a': '''it's'''}", {"a": "it's"}),
    "empty texts": ('{"a": "", \'b\': \'\', "c": """"""}', {"a": "", "b": "", "c": ""}),
    "a pattern": (r'{"a": "\d+\.\w{2}"}', {"a": r"\d+\.\w{2}"}),
    "an escape sequence": (r'{"a": "\033[1m\x1b"}', {"a": r"\033[1m\x1b"}),
    "a continued line": ('{"a": "x = \\\n 1"}', {"a": "x = \\\n 1"}),
    "JSON's escapes": (r'{"a": "\b\f\n\r\t\/\"\\é"}', {"a": '\b\f\n\r\t/"\\é'}),
    "a pair of surrogates": (r'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}),
    "half a pair of surrogates": (r'{"a": "\ud83d, \ude00"}', {"a": "\ufffd, \ufffd"}),
    "a raw surrogate": ('{"a": "\ud83d"}', {"a": "\ufffd"}),
    "numbers of other languages": ('{"a": [+1, .5, 5., 1E2]}', {"a": [1, 0.5, 5.0, 100.0]}),
    "comments": ('{ # one\n"a": 1, // two\n/* three */ "b": 2 }', {"a": 1, "b": 2}),
    "comment signs in texts": ('{"a": "# // /* x"}', {"a": "# // /* x"}),
    "no closing brace": ('{"a": "b"', {"a": "b"}),
    "no closing brackets": ('{"a": {"b": [1, 2\n\n', {"a": {"b": [1, 2]}}),
    "no closing brace before a fence": ('```json\n{"a": 1\n```\nbye', {"a": 1}),
    "prose around it": ('Here you are: {"a": 1} Good luck {you}!', {"a": 1}),
    "blanks of all kinds": ('\ufeff\u00a0{\u2003"a"\t:\r\n1}', {"a": 1}),
}

UNCLEAR = {
    "nothing": ("", 1, 1, "expected an object"),
    "no object": ("train.py", 1, 1, "expected an object"),
    "a list": ('[{"a": 1}]', 1, 1, "this is a list"),
    "quotes in quotes": ('{"a": "print("hi")"}', 1, 15, r'behind the value of "a" (a quote inside'),
    "an apostrophe in quotes": ("{'a': 'it's'}", 1, 11, "a quote inside of a text"),
    "a text without quotes": ('{"a": train.py}', 1, 7, "a text needs double quotes"),
    "a text without an end": ('{\n "a": "b}', 2, 7, 'never closed with "'),
    "triple quotes without an end": ('{"a": """b"}', 1, 7, 'never closed with """'),
    "a text that ends with a backslash": ('{"a": "b\\"', 1, 7, "never closed"),
    "no colon": ('{"a" 1}', 1, 6, 'expected ":" behind the key "a"'),
    "no comma": ('{"a": 1 "b": 2}', 1, 9, 'expected "," or "}" behind the value of "a"'),
    "two commas": ('{"a": 1,, "b": 2}', 1, 9, "expected a key"),
    "a list closed by a brace": ('{"a": [1}', 1, 9, 'expected "," or "]" behind an item'),
    "nothing behind a brace": ("{", 1, 1, 'never closed with "}"'),
    "nothing behind a comma": ('{"a": 1,', 1, 1, 'never closed with "}"'),
    "nothing behind a bracket": ('{"a": [', 1, 7, 'never closed with "]"'),
    "no value": ('{"a": }', 1, 7, "expected a value"),
    "nothing behind a colon": ('{"a":', 1, 6, "expected a value; the text ends with"),
    "the same key twice": ('{"a": 1, "a": 1}', 1, 10, 'the key "a" occurs twice'),
    "no number": ('{"a": NaN}', 1, 7, "NaN is not a number that JSON has"),
    "infinity": ('{"a": Infinity}', 1, 7, "Infinity is not a number"),
    "less than infinity": ('{"a": -Infinity}', 1, 7, "expected a value"),
    "a number beyond a double": ('{"a": 1e999}', 1, 7, "too large"),
    "a whole number beyond a double": (f'{{"a": {"9" * 350}}}', 1, 7, "too large"),
    "a number of many digits": (f'{{"a": 0.{"1" * 400}}}', 1, 7, "more than 400 digits"),
    "a null character": ('{"a": "b\0c"}', 1, 9, "a null character"),
    "an escaped null character": (r'{"a": "b\u0000"}', 1, 9, "a null character"),
    "a path of Windows": (r'{"a": "C:\users"}', 1, 10, "four hexadecimal digits"),
    "a comment without an end": ('{"a": 1, /* b }', 1, 10, "this comment is never closed"),
    "a number as key": ("{1: 2}", 1, 2, "expected a key in double quotes"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "meaning"), CLEAR.values(), ids=CLEAR)
def test_what_is_clear_is_understood(text: str, meaning: Json) -> None:
    found = parse_object(text).value
    assert found == meaning
    assert json.dumps(found) == json.dumps(meaning), "types differ"


@pytest.mark.parametrize(("text", "line", "column", "problem"), UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_not_clear_is_an_error_at_its_place(
    text: str, line: int, column: int, problem: str
) -> None:
    with pytest.raises(JsonError) as caught:
        parse_object(text)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")
    assert problem in str(caught.value)
    assert isinstance(caught.value, ActionError), "the agent gets it back"


def test_an_error_shows_the_place_in_one_line() -> None:
    with pytest.raises(JsonError) as caught:
        parse_object(f'{{"a": "{"x" * 100}",\n\t"b": oops, "c": "{"y" * 100}"}}')
    shown = 'xxxxxxx",\\n\\t"b": >>>oops, "c": "yyyy'
    assert shown in str(caught.value)
    assert len(str(caught.value)) < 200


def test_the_end_is_right_behind_the_object() -> None:
    text = 'first {"a": {"b": 1}} then {"c": 2} '
    first = parse_object(text)
    assert text[first.end :] == ' then {"c": 2} '
    second = parse_object(text, first.end)
    assert (second.value, text[second.end :]) == ({"c": 2}, " ")
    unclosed = '{"a": 1 # and so on\n'
    assert unclosed[parse_object(unclosed).end :] == " # and so on\n"


def test_depth_is_bounded() -> None:
    inner = MAX_DEPTH - 1
    value = parse_object('{"a": ' + "[" * inner + "]" * inner + "}").value
    assert json.dumps(value).count("[") == inner
    for floor in ("[", '{"a":'):
        with pytest.raises(JsonError, match="nested too deeply, more than 64 levels"):
            parse_object('{"a": ' + floor * 100_000)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_64_levels_are_read_and_65_are_not(opening: str, closing: str) -> None:
    """The outermost object is the first level."""
    for inner, is_read in ((63, True), (64, False)):
        text = '{"a":' + opening * inner + "1" + closing * inner + "}"
        if is_read:
            assert parse_object(text).end == len(text)
        else:
            with pytest.raises(JsonError, match="nested too deeply, more than 64 levels"):
                parse_object(text)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(written_objects())
def test_any_object_is_read_however_it_is_written(written: Written) -> None:
    check_object(written)
