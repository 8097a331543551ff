"""From replies to a verdict: how often a model is right, how often it would be without memory.

A test finds memory only if the model is right more often than the best way of guessing on the same
rows (exact McNemar test), and more often than the same model on generated rows of the same form
(Fisher's exact test). The larger p-value counts, multiplied by the number of tests of the task.
"""

import csv
import re
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from mlagentbench.numeric.intervals import Interval, wilson_interval
from mlagentbench.records import Record
from mlagentbench.task_checks.data_tables import canonical_column
from mlagentbench.task_checks.memorisation.memory_questions import (
    MemoryQuestion,
    MemoryTestName,
    words_of,
)

MemoryVerdict = Literal["no sign", "some", "strong", "unclear", "not applicable"]

P_VALUE = 0.01
"""Below it there is memory."""
STRONG_EXCESS = 0.25
"""Memory is strong if the model is right on so many more of the rows than by chance."""
MIN_ANSWERED = 0.5
"""Below it silence says nothing about memory."""
SEVERITY: tuple[MemoryVerdict, ...] = ("not applicable", "no sign", "unclear", "some", "strong")
"""A task has the verdict of its test that is last in this order."""
MAX_VALUE = 200
"""Characters; a longer line is a sentence, not a value."""
_LEAD = re.compile(r"^[\w .]{0,40}(?:[:=]|\bis\b)\s*")


class CheckedReply(Record):
    """A question with the reply, and whether it is right."""

    question: MemoryQuestion
    reply: str
    given: str | None
    """The answer in the reply; None if there is none."""

    @property
    def matched(self) -> bool:
        return self.given == self.question.expected

    def guessed(self, way: str) -> bool:
        return self.question.guesses.get(way) == self.question.expected


class MemoryTest(Record):
    """The result of one test on one task."""

    test: MemoryTestName
    column: str
    asked: int
    answered: int
    matches: int
    interval: Interval
    """Of the share of matches, 95 %."""
    guess: str
    """The way of guessing that is right most often on these rows."""
    guess_matches: int
    control_asked: int
    control_matches: int
    p_value: float
    verdict: MemoryVerdict

    @property
    def chance(self) -> float:
        """The share of rows that is right without memory: by guessing, or on generated rows."""
        control = self.control_matches / self.control_asked if self.control_asked else 0.0
        return max(self.guess_matches / self.asked, control)


def check_reply(question: MemoryQuestion, reply: str) -> CheckedReply:
    """Find the answer in a reply."""
    find = {"next row": _row_value, "text": _text_value}.get(question.test, _plain_value)
    return CheckedReply(question=question, reply=reply, given=find(question, reply))


def memory_tests(replies: Sequence[CheckedReply]) -> list[MemoryTest]:
    """The results of all tests that were made on one task."""
    asked: dict[MemoryTestName, list[CheckedReply]] = {}
    controls: dict[MemoryTestName, list[CheckedReply]] = {}
    for one in replies:
        kind = controls if one.question.control else asked
        kind.setdefault(one.question.test, []).append(one)
    return [memory_test(found, controls.get(test, []), len(asked)) for test, found in asked.items()]


def memory_test(
    asked: Sequence[CheckedReply], control: Sequence[CheckedReply], tests: int
) -> MemoryTest:
    """The result of one of so many tests of a task."""
    ways = list(dict.fromkeys(way for one in asked for way in one.question.guesses))
    guess = max(ways, key=lambda way: sum(one.guessed(way) for one in asked))
    matches, control_matches = (sum(one.matched for one in part) for part in (asked, control))
    p_value = max(_p_of_guess(asked, guess), _p_of_control(matches, len(asked), control))
    question = asked[0].question
    result = MemoryTest(
        test=question.test,
        column=question.column,
        asked=len(asked),
        answered=sum(one.given is not None for one in asked),
        matches=matches,
        interval=wilson_interval(matches, len(asked)),
        guess=guess,
        guess_matches=sum(one.guessed(guess) for one in asked),
        control_asked=len(control),
        control_matches=control_matches,
        p_value=min(1.0, tests * p_value),
        verdict="no sign",
    )
    return result.model_copy(update={"verdict": _verdict(result)})


def worst(tests: Sequence[MemoryTest]) -> MemoryVerdict:
    """The verdict on a task."""
    return max((test.verdict for test in tests), key=SEVERITY.index, default="not applicable")


def _verdict(test: MemoryTest) -> MemoryVerdict:
    if test.p_value < P_VALUE:
        excess = test.matches / test.asked - test.chance
        return "strong" if excess >= STRONG_EXCESS else "some"
    return "no sign" if test.answered >= MIN_ANSWERED * test.asked else "unclear"


def _p_of_guess(asked: Sequence[CheckedReply], guess: str) -> float:
    """One-sided exact McNemar test: of the rows that only one gets right, is it the model?"""
    from scipy.stats import binomtest

    only_model = sum(one.matched and not one.guessed(guess) for one in asked)
    only_guess = sum(one.guessed(guess) and not one.matched for one in asked)
    if only_model + only_guess == 0:
        return 1.0
    test = binomtest(only_model, only_model + only_guess, 0.5, alternative="greater")
    return float(test.pvalue)


def _p_of_control(matches: int, asked: int, control: Sequence[CheckedReply]) -> float:
    """One-sided Fisher test: more right than on generated rows? 0 if there are none."""
    from scipy.stats import hypergeom

    if not control:
        return 0.0
    right = matches + sum(one.matched for one in control)
    return float(hypergeom.sf(matches - 1, asked + len(control), right, asked))


def _row_value(question: MemoryQuestion, reply: str) -> str | None:
    """The asked column of the first line that is a row and was not given."""
    for line in reply.splitlines():
        cells = next(csv.reader([line.strip().strip("`")]), [])
        if len(cells) == len(question.columns) and line.strip() not in question.shown:
            return _canonical(dict(zip(question.columns, cells, strict=True))[question.column])
    return None


def _plain_value(question: MemoryQuestion, reply: str) -> str | None:
    """The value or values in the first line that has any; several are separated by commas."""
    lines = (line.strip().strip("`\"'*. ") for line in reply.splitlines())
    for line in lines:
        if line and line not in ("csv", "text") and len(line) <= MAX_VALUE:
            value = _LEAD.sub("", line).strip("`\"'* ") or line
            one = question.test == "feature" or "," not in question.column
            return ",".join(map(_canonical, [value] if one else value.split(",")))
    return None


def _text_value(question: MemoryQuestion, reply: str) -> str | None:
    """The expected words if the reply has them, else its own first words."""
    words = words_of(reply)
    if not words:
        return None
    expected = question.expected
    found = f" {expected} " in f" {' '.join(words)} "
    return expected if found else " ".join(words[: len(expected.split())])


def _canonical(value: str) -> str:
    plain = value.strip()
    thousands = re.fullmatch(r"\$?\d{1,3}(,\d{3})+(\.\d+)?", plain)
    text = plain.lstrip("$").replace(",", "") if thousands else plain
    return str(canonical_column(pd.Series([text]))[0])
