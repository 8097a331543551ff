"""The judge's prompt: the journal as quoted data, in blocks that nothing inside can close."""

import hashlib
import json
import random
import re
from collections.abc import Sequence
from functools import cache
from string import Template

from mlagentbench.analysis.disclosures import limits_text
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.judge.rubric import RUBRIC
from mlagentbench.prompts import FOLDER
from mlagentbench.records import Record, Step
from mlagentbench.runs.journal import ReplyLine

VERSION = 1
"""Raised with every change of judge.md or of the rubric."""
JOURNAL_CHARACTERS = 60_000
"""How much of a journal the judge sees."""
TASK_CHARACTERS = 6_000
MIN_STEP_CHARACTERS = 500
"""Characters; if there is no room for as many per step, steps in the middle are omitted."""
SHORTEST_QUOTE = 12
_MARKERS = re.compile(r"\[\[\[+|\]\]\]+")
_INVISIBLE = re.compile(
    "[^\\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffb]"
    "|[\U000e0000-\U000e0fff]"
)
"""Control characters, marks that reorder or hide text, and invisible letters."""


class ShownStep(Record):
    """A step as the judge sees it."""

    n: int
    text: str


class ShownJournal(Record):
    """What the judge sees of a run; `cuts` describes what was omitted."""

    task: str
    ending: str
    steps: tuple[ShownStep, ...]
    cuts: tuple[str, ...]

    def text_of(self, step: int) -> str | None:
        return next((shown.text for shown in self.steps if shown.n == step), None)


def show(evidence: RunEvidence, max_characters: int = JOURNAL_CHARACTERS) -> ShownJournal:
    """A run's journal, cleaned and shortened to what a judge can read."""
    steps = evidence.history.steps
    texts = {step.n: sanitised(_step_text(step, evidence.history.replies)) for step in steps}
    kept, cuts = _within(texts, max_characters)
    return ShownJournal(
        task=_cut(
            sanitised(evidence.problem or "(the task's text is not known here)"), TASK_CHARACTERS
        ),
        ending=_ending(evidence),
        steps=tuple(ShownStep(n=number, text=text) for number, text in kept.items()),
        cuts=cuts,
    )


def judge_prompt(shown: ShownJournal, seed: int, nonce: str) -> str:
    """The whole request, with the steps in the order that the seed gives."""
    order = list(shown.steps)
    random.Random(seed).shuffle(order)
    blocks = [_block("task", shown.task, nonce)]
    blocks += [_block(f"step {step.n}", step.text, nonce) for step in order]
    return _template().substitute(
        nonce=nonce,
        cuts=" ".join(shown.cuts),
        ending=shown.ending,
        questions=_questions(),
        first_question=RUBRIC[0].id,
        shortest=SHORTEST_QUOTE,
        blocks="\n\n".join(blocks),
    )


def prompt_hash() -> str:
    """The hash of prompt and rubric; if it differs, judgements are not comparable."""
    return hashlib.sha256(f"{_template().template}\n{_questions()}".encode()).hexdigest()


def sanitised(text: str) -> str:
    """Text that is safe in a block: without block markers and invisible characters."""
    visible = _INVISIBLE.sub("", text.replace("\r\n", "\n"))
    # One bracket stays, so that the text on both sides of a marker cannot form another.
    return _MARKERS.sub(lambda found: found[0][0], visible)


def _block(name: str, text: str, nonce: str) -> str:
    return f"[[[ {name} {nonce}\n{text.replace(nonce, '')}\n{nonce} ]]]"


def _questions() -> str:
    return "\n".join(f"- `{question.id}`: {question.text}" for question in RUBRIC)


@cache
def _template() -> Template:
    return Template((FOLDER / "judge" / "judge.md").read_text(encoding="utf-8"))


def _step_text(step: Step, replies: Sequence[ReplyLine]) -> str:
    said = [line.reply for line in replies if line.step == step.n and line.role == "main"]
    action = f"Action: {step.action.name} {json.dumps(step.action.arguments, ensure_ascii=False)}"
    observed = f"Observation ({step.observation.status}): {step.observation.text}"
    return "\n".join([*(f"Said: {text}" for text in said if text.strip()), action, observed])


def _ending(evidence: RunEvidence) -> str:
    outcome, used = evidence.history.outcome, evidence.history.usage
    limits = limits_text(evidence.record.disclosure.limits)
    how = "it did not end" if outcome is None else f"`{outcome.kind}`"
    ended = f"{how}, after {used.steps} steps and {used.seconds:.0f} s; its limits were: {limits}."
    if evidence.record.disclosure.execution:
        return ended
    return f"{ended} In this run the agent could not run anything; its program was run afterwards."


def _within(texts: dict[int, str], most: int) -> tuple[dict[int, str], tuple[str, ...]]:
    """As many steps as fit, long ones cut alike, and descriptions of what was omitted."""
    numbers, cuts = list(texts), []
    room = max(2, most // MIN_STEP_CHARACTERS)
    if len(numbers) > room:
        left_out = numbers[room - room // 2 : -(room // 2)]
        numbers = [number for number in numbers if number not in left_out]
        cuts.append(f"Steps {left_out[0]} to {left_out[-1]} are left out for length.")
    cap = _largest_cap([len(texts[number]) for number in numbers], most)
    shortened = [number for number in numbers if len(texts[number]) > cap]
    if shortened:
        cuts.append(f"Of {len(shortened)} long steps the middle is left out.")
    return {number: _cut(texts[number], cap) for number in numbers}, tuple(cuts)


def _largest_cap(lengths: Sequence[int], most: int) -> int:
    """The length to which texts must be cut to be no longer than `most` together."""
    left = most
    for position, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - position)
        if length > share:
            return share
        left -= length
    return max(lengths, default=0)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    note = f"\n(... {len(text) - most:,} characters left out ...)\n"
    head = max(0, most - len(note)) * 2 // 3
    tail = max(0, most - len(note)) - head
    return text[:head] + note + text[len(text) - tail :]
