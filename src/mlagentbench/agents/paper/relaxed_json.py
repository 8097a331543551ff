r"""Read JSON as language models write it, wherever its meaning is clear.

    object  = "{" [ member { "," member } [ "," ] ] "}"
    member  = ( string | name ) ":" value
    array   = "[" [ value { "," value } [ "," ] ] "]"
    value   = object | array | string | number | word
    string  = a text between two of the same quotes: ", ', three " or three '
    number  = as in JSON; also "+1", ".5" and "5."
    word    = true | false | null | none, in any case
    name    = a letter or "_", then letters, digits, "_" and "-"

Blanks and comments (`# ...`, `// ...` up to the end of the line, `/* ... */`) may separate any of
these. Beyond JSON:

- A string may contain line breaks and tabs. JSON's escapes and `\'` have their usual meaning; any
  other backslash is literal, so that `\d` in a pattern is kept. A string between three quotes may
  contain one or two of them, and end with more.
- Half a surrogate pair becomes U+FFFD.
- Where the text ends, or a code fence closes, right after a complete value, open brackets count as
  closed.

Ambiguous text is an error with its position: a key that occurs twice, NaN and infinity, a null
character, more than 64 levels, numbers beyond a double or 400 digits, quotes that do not match.

A text is read once from left to right, in linear time.
"""

import math
import re

from mlagentbench.errors import ActionError
from mlagentbench.records import Json, Record

MAX_DEPTH = 64
MAX_DIGITS = 400
REPLACEMENT = "\ufffd"
SHOWN = 40
"""Characters that an error shows on each side of its position."""

_BLANK = re.compile(r"[\s\ufeff]+")
_LINE_REST = re.compile(r"[^\n]*")
_PLAIN = {quote: re.compile(rf"[^{quote}\\\0]+") for quote in "\"'"}
_QUOTES = {quote: re.compile(f"{quote}+") for quote in "\"'"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAME = re.compile(r"[^\W\d][\w-]*")
_SURROGATES = re.compile("[\ud800-\udfff]")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_ESCAPES = dict(zip("\"'\\/bfnrt", "\"'\\/\b\f\n\r\t", strict=True))
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None, "none": None}
_NO_NUMBERS = ("nan", "infinity", "inf")


class JsonError(ActionError):
    """A text is not a JSON object or ambiguous; `position` is where."""

    def __init__(self, problem: str, text: str, position: int) -> None:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        super().__init__(f"line {line}, column {column}: {problem}; {_shown(text, position)}")
        self.position = position


class ParsedObject(Record):
    """An object, and the position right after it."""

    value: dict[str, Json]
    end: int


def parse_object(text: str, start: int = 0) -> ParsedObject:
    """The first object at or after `start`; other text before and after it is ignored.

    Raises JsonError, and nothing else.
    """
    scanner = _Scanner(text, start)
    scanner.match(_BLANK)
    if scanner.peek() == "[":
        raise scanner.error('expected an object, which begins with "{", but this is a list')
    opening = text.find("{", scanner.position)
    if opening < 0:
        raise scanner.error('expected an object, which begins with "{"')
    scanner.position = opening
    value = scanner.object(1)
    return ParsedObject(value=value, end=scanner.position)


class _Scanner:
    """A recursive-descent parser; `position` is the next character."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def error(self, problem: str, position: int | None = None) -> JsonError:
        return JsonError(problem, self.text, self.position if position is None else position)

    def peek(self) -> str:
        """The next character, or an empty string at the end."""
        return self.text[self.position : self.position + 1]

    def take(self, expected: str) -> bool:
        """Consume these characters if they are next."""
        found = self.text.startswith(expected, self.position)
        if found:
            self.position += len(expected)
        return found

    def match(self, pattern: re.Pattern[str]) -> str:
        """Consume what matches here, and return it."""
        found = pattern.match(self.text, self.position)
        if found is None:
            return ""
        self.position = found.end()
        return found.group()

    def skip(self) -> None:
        """Consume blanks and comments."""
        while True:
            self.match(_BLANK)
            begin = self.position
            if self.take("#") or self.take("//"):
                self.match(_LINE_REST)
            elif self.take("/*"):
                closing = self.text.find("*/", self.position)
                if closing < 0:
                    raise self.error("this comment is never closed", begin)
                self.position = closing + 2
            else:
                return

    def value(self, depth: int) -> Json:
        character = self.peek()
        if character == "{":
            return self.object(depth)
        if character == "[":
            return self.array(depth)
        if character and character in "\"'":
            return self.string()
        if number := _NUMBER.match(self.text, self.position):
            return self.number(number.group())
        return self.word()

    def object(self, depth: int) -> dict[str, Json]:
        begin = self.position
        members: dict[str, Json] = {}
        self.open(depth)
        while not self.take("}"):
            place = self.position
            key = self.key(begin)
            if key in members:
                raise self.error(f"the key {_quoted(key)} occurs twice", place)
            self.skip()
            if not self.take(":"):
                raise self.error(f'expected ":" behind the key {_quoted(key)}')
            self.skip()
            members[key] = self.value(depth + 1)
            if self.ends_after(f"the value of {_quoted(key)}", "}"):
                break
        return members

    def array(self, depth: int) -> list[Json]:
        begin = self.position
        items: list[Json] = []
        self.open(depth)
        while not self.take("]"):
            if not self.peek():
                raise self.error('this list is never closed with "]"', begin)
            items.append(self.value(depth + 1))
            if self.ends_after("an item of a list", "]"):
                break
        return items

    def open(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self.error(f"nested too deeply, more than {MAX_DEPTH} levels")
        self.position += 1
        self.skip()

    def ends_after(self, what: str, closing: str) -> bool:
        """Consume a comma and return False; return True when the text ends after this value."""
        behind = self.position
        self.skip()
        if self.take(","):
            self.skip()
            return False
        if self.peek() == closing:
            return False
        if not self.peek() or self.text.startswith("```", self.position):
            self.position = behind
            return True
        after_text = self.text[: self.position].rstrip().endswith(('"', "'"))
        hint = ' (a quote inside of a text is written \\")' if after_text else ""
        raise self.error(f'expected "," or "{closing}" behind {what}{hint}')

    def key(self, begin: int) -> str:
        character = self.peek()
        if not character:
            raise self.error('this object is never closed with "}"', begin)
        if character in "\"'":
            return self.string()
        if name := self.match(_NAME):
            return name
        raise self.error("expected a key in double quotes")

    def string(self) -> str:
        begin, quote = self.position, self.peek()
        closing = quote * 3 if self.text.startswith(quote * 3, begin) else quote
        self.position += len(closing)
        parts: list[str] = []
        while True:
            parts.append(self.match(_PLAIN[quote]))
            character = self.peek()
            if character == quote and self.text.startswith(closing, self.position):
                more = len(self.match(_QUOTES[quote])) - 3 if len(closing) == 3 else 0
                self.position += len(closing) == 1
                return _SURROGATES.sub(REPLACEMENT, "".join(parts)) + quote * more
            if not character:
                raise self.error(f"the text that begins here is never closed with {closing}", begin)
            if character == "\0":
                raise self.error("a null character cannot stand in a text")
            self.position += 1
            parts.append(self.special(character))

    def special(self, character: str) -> str:
        """The meaning of an escape or a single character that has just been consumed."""
        if character != "\\":
            return character
        escaped = self.peek()
        if escaped == "u":
            self.position += 1
            return self.unicode_escape()
        if escaped in _ESCAPES:
            self.position += 1
            return _ESCAPES[escaped]
        return "\\"

    def unicode_escape(self) -> str:
        begin = self.position - 2
        code = int(self.match(_HEX) or "-1", 16)
        if code < 0:
            raise self.error(
                "\\u needs four hexadecimal digits; a backslash is written \\\\", begin
            )
        if code == 0:
            raise self.error("a null character cannot stand in a text", begin)
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        low = _LOW_HALF.match(self.text, self.position)
        if code >= 0xDC00 or low is None:
            return REPLACEMENT
        self.position = low.end()
        return chr(0x10000 + ((code - 0xD800) << 10) + (int(low.group(1), 16) - 0xDC00))

    def number(self, digits: str) -> int | float:
        if len(digits) > MAX_DIGITS:
            raise self.error(f"a number of more than {MAX_DIGITS} digits")
        number = float(digits)
        if not math.isfinite(number):
            raise self.error("this number is too large")
        self.position += len(digits)
        return int(digits) if digits.lstrip("+-").isdigit() else number

    def word(self) -> Json:
        begin = self.position
        word = self.match(_NAME)
        if word.lower() in _WORDS:
            return _WORDS[word.lower()]
        if word.lower() in _NO_NUMBERS:
            raise self.error(f"{word} is not a number that JSON has", begin)
        if word:
            raise self.error("a text needs double quotes", begin)
        raise self.error("expected a value")


def _quoted(key: str) -> str:
    return f'"{_one_line(key)}"' if len(key) <= SHOWN else f'"{_one_line(key[:SHOWN])}..."'


def _shown(text: str, position: int) -> str:
    """The position of an error with a little of its surroundings."""
    if position >= len(text):
        return f"the text ends with: {_one_line(text[-SHOWN:])}" if text else "the text is empty"
    before, after = text[max(0, position - SHOWN) : position], text[position : position + SHOWN]
    return f"at >>> in: {_one_line(before)}>>>{_one_line(after)}"


def _one_line(text: str) -> str:
    shown = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\0", "\\0")
    return shown.encode("utf-8", "replace").decode("utf-8")
