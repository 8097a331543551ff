"""Replies of text agents: many thousands of them for `make soak`, long ones for `make bench`."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from mlagentbench.agents.paper.text_protocol import ReplyError, parse_reply
from mlagentbench.records import Record

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import replies  # the tests' own strategies and properties

KILOBYTES = 10_000


class GeneratedReplies(Record):
    """The outcome of parsing replies that hypothesis generated; a broken property ends the soak."""

    replies: int
    of_a_megabyte: int
    read: int
    refused: int
    slowest_seconds_for_a_megabyte: float


def generated_replies(count: int) -> GeneratedReplies:
    """Parse so many replies of all kinds, each checked for what must hold for its kind."""
    long = [replies.long_reply(text, start) for text, start in hostile_kinds()]
    drawn = count - len(long)
    outcomes = [
        *_checked(replies.written_replies(), replies.check_reply, drawn * 4 // 10),
        *_checked(replies.damaged_replies(), replies.check_outcome, drawn * 3 // 10),
        *_checked(replies.fragment_texts, replies.check_outcome, drawn // 10),
        *_checked(replies.random_texts, replies.check_outcome, drawn // 10),
    ]
    rest = drawn - len(outcomes)
    outcomes += _checked(replies.nested_replies(), replies.check_outcome, rest)
    slowest = 0.0
    for text in long:
        started = time.perf_counter()
        outcomes.append(is_read(text))
        slowest = max(slowest, time.perf_counter() - started)
        replies.check_outcome(text)
    return GeneratedReplies(
        replies=len(outcomes),
        of_a_megabyte=len(long),
        read=sum(outcomes),
        refused=len(outcomes) - sum(outcomes),
        slowest_seconds_for_a_megabyte=round(slowest, 2),
    )


def hostile_kinds() -> list[tuple[str, str]]:
    """What long replies consist of, and how they begin."""
    return [(text, start) for text in replies.REPEATED.values() for start in replies.WRAPPED]


def is_read(text: str) -> bool:
    try:
        parse_reply(text, replies.FIELDS)
    except ReplyError:
        return False
    return True


def _checked(strategy: SearchStrategy[Any], check: Callable[[Any], None], count: int) -> list[bool]:
    """Draw so many replies and check each; whether each was read."""
    outcomes: list[bool] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(drawn: Any) -> None:
        check(drawn)
        outcomes.append(is_read(drawn if isinstance(drawn, str) else drawn.text))

    draw()
    return outcomes


def parse_long() -> None:
    """One reply of a megabyte."""
    is_read(replies.sound_reply(replies.MEGABYTE))


def parse_short() -> None:
    """As many characters in short replies."""
    for _ in range(replies.MEGABYTE // KILOBYTES):
        is_read(replies.sound_reply(KILOBYTES))


def parse_long_hostile() -> None:
    """A megabyte of each kind of hostile reply."""
    for text in replies.REPEATED.values():
        is_read(replies.long_reply(text, replies.WRAPPED[2]))


def parse_short_hostile() -> None:
    """As many characters in short ones."""
    for text in replies.REPEATED.values():
        short = replies.long_reply(text, replies.WRAPPED[2], KILOBYTES)
        for _ in range(replies.MEGABYTE // KILOBYTES):
            is_read(short)
