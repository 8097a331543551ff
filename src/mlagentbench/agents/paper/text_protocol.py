r"""The format of a text agent's reply, and its parser.

    reply   = prose, field ..., object field, rest
    field   = header, text up to the next field's header
    header  = at the start of a line: decoration, the field's name, decoration, ":"
            | a line with nothing but the field's name and decoration
    object  = the first JSON object after its header, read by relaxed_json

A name may be in any case, with blanks, "_" or "-" between its words, and with a remark in brackets
after it: `**action_input (JSON):**` is `Action Input:`. Decoration is what Markdown puts around a
word: bullets, numbers, quotes, headings, emphasis, code.

- The fields are in order. The last one has the object, the one before it the action's name on a
  line of its own. The others may be empty, but not missing.
- The reply ends with the object of the first header of the last field. Every other field is the
  nearest of its name before its successor; a header out of place is text.
- What follows the object is cut off: an observation there is fabricated by the model.
- Code fences may surround the reply, the action's name and the object; a leading `<think>` block is
  not part of the reply. If a header follows a complete member, the object may lack its closing
  brackets.
- Null characters and halves of surrogate pairs become U+FFFD in the fields; in the object a null
  character is an error.

Everything else is a ReplyError. Parsing takes linear time.
"""

import json
import re
from collections.abc import Sequence
from functools import cache

from mlagentbench.agents.paper.relaxed_json import (
    REPLACEMENT,
    JsonError,
    ParsedObject,
    parse_object,
)
from mlagentbench.errors import ActionError
from mlagentbench.records import Action, Record
from mlagentbench.runs.journal import ReplyFault

ACTION, ACTION_INPUT = "Action", "Action Input"
MAX_NAME = 100
SHOWN = 80
OBSERVATION = "Observation"

_SURROGATE = re.compile("[\ud800-\udfff]")
_BEFORE_NAME = r"^[ \t\ufeff>#*_+\-•~`\[(0-9.)]{0,24}"
_BETWEEN_WORDS = r"[ \t_-]{0,3}"
_BEHIND_NAME = (
    r"[ \t*_~`\])]{0,8}(?:\([^()\n]{0,40}\)[ \t*_~`]{0,8})?(?:[:：][*_`]{0,3}|(?=[ \t\r]*$))"
)
_AROUND_ACTION = " \t\r*_`\"'[]<>.:"
_BEHIND_OBJECT = " \t\r\n`}]"
_THINKING, _THOUGHT = "<think>", "</think>"


class ReplyError(ActionError):
    """A reply cannot be parsed; the text says what is missing or wrong, and where."""

    def __init__(self, text: str = "", form: ReplyFault = "fields") -> None:
        super().__init__(text)
        self.form = form


class ParsedReply(Record):
    """A parsed reply."""

    texts: dict[str, str]
    """The fields before the action, in order."""
    action: Action
    cut_off: str = ""
    """The text after the action's input."""
    fabricated: bool = False
    """Whether the text that was cut off contains an observation."""

    def as_text(self) -> str:
        """The reply in canonical form."""
        lines = [f"{name}: {text}" for name, text in self.texts.items()]
        arguments = json.dumps(self.action.arguments, ensure_ascii=False)
        return "\n".join([*lines, f"{ACTION}: {self.action.name}", f"{ACTION_INPUT}: {arguments}"])


class _Header(Record):
    """The position of a field's name: from the start of its line to the start of its text."""

    name: str
    start: int
    end: int


def parse_reply(text: str, fields: Sequence[str]) -> ParsedReply:
    """Parse a reply with these fields before its action.

    Raises ReplyError, and nothing else.
    """
    text = _cleaned(text)
    if not text.strip():
        raise ReplyError("The reply is empty, or holds nothing but thinking.", "empty")
    names = (*fields, ACTION, ACTION_INPUT)
    headers = _headers(text, names)
    *before, action, last = _in_order(text, headers, names)
    ends = [header.start for header in (*before[1:], action)]
    parsed = _object(text, last, headers)
    cut_off = text[parsed.end :].lstrip(_BEHIND_OBJECT).rstrip()
    return ParsedReply(
        texts={
            header.name: text[header.end : end].replace("\0", REPLACEMENT).strip()
            for header, end in zip(before, ends, strict=False)
        },
        action=Action(name=_action_name(text, action, last.start), arguments=parsed.value),
        cut_off=cut_off,
        fabricated=any(header.name == OBSERVATION for header in _headers(cut_off, names)),
    )


def _cleaned(text: str) -> str:
    """The reply without its thinking and with repaired surrogate pairs."""
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if text.lstrip().startswith(_THINKING):
        _, _, text = text.partition(_THOUGHT)
    return text


def _headers(text: str, names: tuple[str, ...]) -> list[_Header]:
    """Every header in the text, also those of observations."""
    known = (*names, OBSERVATION)
    return [
        _Header(name=known[(found.lastindex or 1) - 1], start=found.start(), end=found.end())
        for found in _pattern(known).finditer(text)
    ]


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """A header of any of the names, with one group for each."""
    words = (_BETWEEN_WORDS.join(map(re.escape, name.split())) for name in names)
    one_of = "|".join(f"({name})" for name in words)
    return re.compile(f"{_BEFORE_NAME}(?:{one_of}){_BEHIND_NAME}", re.IGNORECASE | re.MULTILINE)


def _in_order(text: str, headers: list[_Header], names: tuple[str, ...]) -> list[_Header]:
    """The header of each field."""
    last = next((place for place, one in enumerate(headers) if one.name == names[-1]), None)
    chosen = [] if last is None else [headers[last]]
    missing = [names[-1]] if last is None else []
    left = headers[:last]
    for name in reversed(names[:-1]):
        places = [place for place, header in enumerate(left) if header.name == name]
        if places:
            chosen.insert(0, left[places[-1]])
            left = left[: places[-1]]
        else:
            missing.insert(0, name)
    if missing:
        raise ReplyError(_what_is_missing(text, headers, missing))
    return chosen


def _what_is_missing(text: str, headers: list[_Header], missing: list[str]) -> str:
    absent = ", ".join(f'"{name}:"' for name in missing)
    if not headers:
        return f"The reply has none of its fields ({absent}). It begins with: {_short(text)}"
    found = ", ".join(f'"{one.name}:" (line {_line(text, one.start)})' for one in headers[:20])
    verb = "is" if len(missing) == 1 else "are"
    return f"{absent} {verb} missing or not in order. Found: {found}."


def _action_name(text: str, header: _Header, end: int) -> str:
    """The first line with text."""
    lines = (
        line.strip(_AROUND_ACTION)
        for line in text[header.end : end].splitlines()
        if "```" not in line
    )
    name = next(filter(None, lines), "")
    where = f'"{header.name}:" (line {_line(text, header.start)})'
    if not name:
        raise ReplyError(f"{where} is empty; it needs the name of an action.", "action")
    if len(name) > MAX_NAME or "\0" in name:
        said = f"{where} needs the name of an action and nothing else: {_short(name)}"
        raise ReplyError(said, "action")
    return name


def _object(text: str, header: _Header, headers: list[_Header]) -> ParsedObject:
    """The object after a header; the next header may end it."""
    following = next((one.start for one in headers if one.start > header.start), len(text))
    where = f'"{header.name}:" (line {_line(text, header.start)})'
    if text.find("{", header.end, following) < 0:
        said = _short(text[header.end : following])
        raise ReplyError(
            f'{where} needs a JSON object in "{{" and "}}", found: {said or "nothing"}', "json"
        )
    try:
        return parse_object(text, header.end)
    except JsonError as error:
        ended = max((one.start for one in headers if one.start <= error.position), default=0)
        try:
            return parse_object(text[:ended], header.end)
        except JsonError:
            raise ReplyError(f"{where} is not a JSON object: {error}", "json") from error


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _short(text: str) -> str:
    line = " ".join(text[: 4 * SHOWN].replace("\0", REPLACEMENT).split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]} ..."
