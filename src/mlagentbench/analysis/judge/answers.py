"""Reading what a judge answered: strictly, and each quote against the step that it cites."""

import re

from pydantic import ConfigDict, ValidationError

from mlagentbench.analysis.judge.evidence_prompt import SHORTEST_QUOTE, ShownJournal
from mlagentbench.analysis.judge.rubric import RUBRIC, Answer, Evidence, Vote
from mlagentbench.errors import MLAgentBenchError
from mlagentbench.records import Record

_FENCED = re.compile(r"^```json[ \t]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)


class AnswerRejected(MLAgentBenchError):
    """A reply does not keep the form; the text says why, to people and to the judge."""


class _GivenEvidence(Record):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: int
    quote: str


class _GivenAnswer(Record):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    question: str
    answer: Answer
    why: str
    evidence: list[_GivenEvidence]


class _GivenAnswers(Record):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    answers: list[_GivenAnswer]


def read_votes(reply: str, shown: ShownJournal, seed: int) -> dict[str, Vote]:
    """The votes of a reply by question; AnswerRejected when it does not keep the form."""
    blocks = _FENCED.findall(reply)
    if len(blocks) != 1:
        raise AnswerRejected(f"{len(blocks)} blocks fenced as json instead of one")
    try:
        given = _GivenAnswers.model_validate_json(blocks[0]).answers
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise AnswerRejected(f"not the form asked for: {place}: {first['msg']}") from error
    asked = [question.id for question in RUBRIC]
    if [answer.question for answer in given] != asked:
        raise AnswerRejected(f"the questions are not, in this order: {', '.join(asked)}")
    return {answer.question: _vote(answer, shown, seed) for answer in given}


def _vote(given: _GivenAnswer, shown: ShownJournal, seed: int) -> Vote:
    evidence = tuple(Evidence(step=one.step, quote=one.quote) for one in given.evidence)
    problems = [problem for one in evidence if (problem := quote_problem(one, shown))]
    if given.answer == "yes" and not evidence:
        problems.append("no evidence")
    return Vote(
        seed=seed,
        answer=given.answer,
        why=given.why,
        evidence=evidence,
        problem="; ".join(problems),
    )


def quote_problem(evidence: Evidence, shown: ShownJournal) -> str:
    """Why a quote proves nothing, or "" when it stands in its step word for word."""
    text = shown.text_of(evidence.step)
    if text is None:
        return f"step {evidence.step} was not shown"
    if len(evidence.quote.strip()) < min(SHORTEST_QUOTE, len(text.strip())):
        return f"quote from step {evidence.step} too short"
    if evidence.quote not in text:
        return f"quote not found in step {evidence.step}"
    return ""
