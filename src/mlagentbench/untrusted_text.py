"""Untrusted texts for people: invisible characters become visible, long texts are shortened.

Also paths and the running command, as a person would type them.
"""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.records import Json

PREVIEW = 160
"""Characters of a folded text in its preview."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters but for tab and line feed, changes of direction, and what has no width."""
_BREAKS = re.compile("[\t\n]")


def is_unicode(text: str) -> bool:
    """Whether it can be encoded; JSON and names of files can have lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def visible(text: str) -> str:
    """The text with invisible and direction-changing characters replaced by their code points."""
    return _INVISIBLE.sub(_code_point, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same where a text has one line: tabs and line feeds are replaced, too."""
    return _BREAKS.sub(_code_point, visible(text))


def visible_values(values: Json) -> Json:
    """A JSON value in which every text, also a key, is visible."""
    if isinstance(values, str):
        return visible(values)
    if isinstance(values, Mapping):
        return {visible_values(key): visible_values(value) for key, value in values.items()}
    if isinstance(values, Sequence):
        return [visible_values(value) for value in values]
    return values


def _code_point(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


@dataclass(frozen=True)
class Clipped:
    """The displayed parts of a text, with invisible characters made visible."""

    head: str
    left_out: int = 0
    """Characters between head and tail."""
    tail: str = ""
    where: str = ""
    """Where the full text is, if something is left out."""


def clip(text: str, most: int, where: str) -> Clipped:
    """At most about `most` characters of a text, cut at line ends where these are near."""
    if len(text) <= most:
        return Clipped(head=visible(text))
    head = _until_line(text[: most * 2 // 3])
    tail = _from_line(text[len(text) - most // 3 :])
    left_out = len(text) - len(head) - len(tail)
    return Clipped(head=visible(head), left_out=left_out, tail=visible(tail), where=where)


def _until_line(text: str) -> str:
    end = text.rfind("\n", len(text) * 3 // 4)
    return text if end < 0 else text[:end]


def _from_line(text: str) -> str:
    start = text.find("\n", 0, len(text) // 4)
    return text if start < 0 else text[start + 1 :]


def preview(text: str, most: int = PREVIEW) -> str:
    """The first words of a text, in one line; a cut one ends at a word, where one ends near."""
    words = " ".join(text[: 4 * most].split())
    if len(words) <= most:
        return visible(words)
    end = words.rfind(" ", most * 3 // 4, most)
    return visible(f"{words[: end if end > 0 else most - 1]}…")


def this_command() -> str:
    """The command that is running, to be run again."""
    return shlex.join(["mlagentbench", *sys.argv[1:]])


def shown_path(path: Path) -> str:
    """A path as short as it can be typed from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
