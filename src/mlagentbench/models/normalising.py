"""Making prompts comparable: what another machine or another day changes is taken out.

| what                                     | becomes          |
|------------------------------------------|------------------|
| a number, with its sign, unit and spaces | ` #`             |
| a duration, as 4 h 10 min                | ` #`             |
| a date with a time                       | `#`              |
| an address in memory, as 0x7f3a          | `#`              |
| an absolute path                         | its last part    |

Where figures matter, `without_times` leaves numbers as they are, and `numbers_in` gives them.
Words, punctuation and the order of lines stay. Digits that are a part of a name, as in
train2.py, are no number. Normalising twice changes nothing more.
"""

import re

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_PATH = re.compile(r"(?<![\w./:~-])/(?:[\w.+@-]+/)+(?=[\w.+@-])")
_DURATION = re.compile(
    r"""
    (?<![ \t]) [ \t]* (?<![\w.])
    (?: (?:\d+(?:\.\d+)?|\#) [ ]? (?:h|min|s|ms|hours?|minutes?|seconds?)\b (?:[ ](?=[\d\#]))? )+
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(
    r"""
    (?<![ \t]) [ \t]*                          # tables pad their numbers
    (?<![\w.]) [-+]? (?<![\w.])                # not within a name or a version
    \d+ (?:[,_]\d{3})* (?:\.\d+)? (?:[eE][-+]?\d+)?
    (?:ns|us|µs|ms|s|sec|min|m|h|d|[kKMGT]i?B|B|k|K|M|G|%)?
    (?!\w)
    """,
    re.VERBOSE,
)
_FIGURE = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TIMES = {_TIMESTAMP: "#", _ADDRESS: "#", _PATH: "/", _DURATION: " #"}


def normalised(prompt: str) -> str:
    """The prompt without what may change from one machine to the next."""
    return _NUMBER.sub(" #", without_times(prompt))


def without_times(text: str) -> str:
    """A text without times, addresses and the places of files, but with its other numbers."""
    for pattern, placeholder in _TIMES.items():
        text = pattern.sub(placeholder, text)
    return text


def numbers_in(text: str) -> list[float]:
    """The numbers that `normalised` takes out of a text without times, in their order.

    A comma parts two numbers: in a table it does, and nobody can tell in a text.
    """
    return [
        float(figure) for found in _NUMBER.finditer(text) for figure in _FIGURE.findall(found[0])
    ]
