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
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NAMED_TIME = re.compile(
    r"""
    (?<![a-z]) ((?:milli)?seconds?|time|elapsed|duration|runtime|latency|took)
    ((?:[ _][a-z]+){0,3} [ \t]*[:=]) [ \t]* \d+ (?:\.\d+)? (?:[eE][-+]?\d+)? (?!\w)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BECOMES = {_TIMESTAMP: "#", _ADDRESS: "#", _PATH: "/", _DURATION: " #"}


def normalised(prompt: str) -> str:
    """The prompt without what may change from one machine to the next."""
    return _NUMBER.sub(" #", _without_units_of_time(prompt))


def without_times(text: str) -> str:
    """A text without times, addresses and the places of files, but with its other numbers.

    Of a number without a unit, as in `seconds per call: 0.2`, its name says that it is a time.
    """
    return _NAMED_TIME.sub(r"\1\2 #", _without_units_of_time(text))


def _without_units_of_time(text: str) -> str:
    for pattern, placeholder in _BECOMES.items():
        text = pattern.sub(placeholder, text)
    return text


def numbers_in(text: str) -> list[float]:
    """The numbers that `normalised` takes out of a text without times, in their order.

    A comma parts two numbers: in a table it does, and nobody can tell in a text.
    """
    found = (match[0] for match in _NUMBER.finditer(text))
    return [float(figure) for one in found for figure in _NUMBER.findall(one)]
