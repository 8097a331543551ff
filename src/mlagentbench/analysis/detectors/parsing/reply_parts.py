"""The parts of an agent's reply: its prose, its plan, and what follows its action.

A text agent's reply has named fields at the starts of lines. The last is `Action Input:` with a
JSON object. The journal has the whole reply, also what the agent's parser cut off after that
object. A reply with tool calls is all prose: its calls are not in the text.
"""

import re
from dataclasses import dataclass, field

from mlagentbench.runs.journal import History, ReplyLine

MAIN = "main"
PLAN = "research plan and status"
ACTION_INPUT = "action input"
ACTION = "action"
OBSERVATION = "observation"

_FIELD = re.compile(
    r"^[ \t>#*_\-•~`0-9.)]{0,12}"
    r"(?P<name>reflection|research plan and status|fact check|thought|questions|action input|action"
    r"|observation)[ \t*_~`]{0,6}:[ \t*_`]{0,4}",
    re.IGNORECASE | re.MULTILINE,
)
_THINKING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_INLINE_CODE = re.compile(r"(`{1,2})[^`\n]+\1")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_DIFF = re.compile(r"^(?:---|\+\+\+) .*\n(?:^(?:[-+ ]|@@).*\n?)*", re.MULTILINE)
_LONGEST_OBJECT = 1_000_000


@dataclass(frozen=True)
class ReplyParts:
    """A parsed main reply. The text before the first named field is in the field ""."""

    step: int
    fields: dict[str, str] = field(default_factory=dict)
    has_action: bool = False
    """Whether it names an action in its text."""
    after_action: str = ""
    """The text after the action's input."""
    has_calls: bool = False
    """Whether it has tool calls beside its text."""

    @property
    def plan(self) -> str | None:
        return self.fields.get(PLAN)


def main_replies(history: History) -> list[ReplyParts]:
    """The parsed replies of the main role, in the order of the steps that they prepared."""
    replies = [parts_of(reply) for reply in history.replies if reply.role == MAIN]
    return sorted(replies, key=lambda reply: reply.step)


def parts_of(reply: ReplyLine) -> ReplyParts:
    """Parse a reply; never fails."""
    text = _THINKING.sub("", reply.reply, count=1)
    headers = list(_FIELD.finditer(text))
    last = next((one for one in headers if one["name"].lower() == ACTION_INPUT), None)
    after_action = ""
    end = len(text)
    if last is not None:
        end = last.start()
        after_action = text[_end_of_input(text, last.end(), headers) :]
        headers = [one for one in headers if one.start() < end]
    fields = {"": text[: headers[0].start()] if headers else text[:end]}
    for place, header in enumerate(headers):
        stop = headers[place + 1].start() if place + 1 < len(headers) else end
        name = header["name"].lower()
        fields[name] = f"{fields.get(name, '')}{text[header.end() : stop]}\n"
    return ReplyParts(
        step=reply.step,
        fields=fields,
        has_action=last is not None or ACTION in fields,
        after_action=after_action,
        has_calls=reply.message is not None,
    )


def _end_of_input(text: str, start: int, headers: list[re.Match[str]]) -> int:
    """Where the action's JSON object ends, or where the next field begins."""
    opening = text.find("{", start)
    following = next((one.start() for one in headers if one.start() >= start), len(text))
    if opening < 0 or opening > following:
        return following
    depth, place, stop = 0, opening, min(len(text), opening + _LONGEST_OBJECT)
    for found in _BRACKETS_AND_STRINGS.finditer(text, opening, stop):
        place = found.end()
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                return place
    return following


_BRACKETS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


def prose(text: str) -> str:
    """A text without code, diffs, quoted lines and JSON objects."""
    text = _FENCED.sub("\n", text)
    text = _DIFF.sub("\n", text)
    text = _QUOTED_LINE.sub("", text)
    text = _INLINE_CODE.sub(" ` ", text)
    return _without_objects(text)


def _without_objects(text: str) -> str:
    """Without anything in closed braces."""
    if "{" not in text:
        return text
    kept: list[str] = []
    depth = place = begin = 0
    for found in re.finditer(r"[{}]", text):
        if found[0] == "{":
            if depth == 0:
                kept.append(text[place : found.start()])
                begin = found.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                place = found.end()
    kept.append(text[begin:] if depth else text[place:])
    return "".join(kept)
