"""Normalise prompts: remove what differs between machines and days, so that they can be compared.

| what                                     | becomes          |
|------------------------------------------|------------------|
| a number, with its sign, unit and spaces | ` #`             |
| a duration, as 4 h 10 min                | ` #`             |
| a date with a time                       | `#`              |
| an address in memory, as 0x7f3a          | `#`              |
| an absolute path                         | its last part    |

Where numbers matter, `without_times` keeps them and `numbers_in` returns them. Words, punctuation
and the order of lines are kept. Digits within a name, as in train2.py, are not a number.
Normalising twice gives the same text.
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
_BARE_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
"""What is left of a number without its unit and spaces."""
_NAMED_TIME = re.compile(
    r"""
    (?<![a-z]) ((?:milli)?seconds?|time|elapsed|duration|runtime|latency|took)
    ((?:[ _][a-z]+){0,3} [ \t]*[:=]) [ \t]* \d+ (?:\.\d+)? (?:[eE][-+]?\d+)? (?!\w)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BECOMES = {_TIMESTAMP: "#", _ADDRESS: "#", _PATH: "/", _DURATION: " #"}


def normalised(prompt: str) -> str:
    """The prompt without what differs from one machine to the next."""
    return _NUMBER.sub(" #", _without_units_of_time(prompt))


def without_times(text: str) -> str:
    """A text without times, addresses and directories, but with its other numbers.

    A number without a unit counts as a time if its name says so, as in `seconds per call: 0.2`.
    """
    return _NAMED_TIME.sub(r"\1\2 #", _without_units_of_time(text))


def _without_units_of_time(text: str) -> str:
    for pattern, placeholder in _BECOMES.items():
        text = pattern.sub(placeholder, text)
    return text


def numbers_in(text: str) -> list[float]:
    """The numbers that `normalised` removes from a text without times, in order.

    A comma separates two numbers, as in a table; in running text the two cases look the same.
    """
    found = (match[0] for match in _NUMBER.finditer(text))
    return [float(number) for one in found for number in _BARE_NUMBER.findall(one)]
