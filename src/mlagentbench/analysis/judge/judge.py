"""The LLM judge: a model's opinion of a run, by three votes, each with the steps in another order.

    RunEvidence --show--> ShownJournal --judge_prompt(seed, nonce)--> model --read_votes--> votes
    votes --majority--> JudgeReport, stored beside the run in judgements.jsonl

A stored judgement is reused if model, prompt and journal are the same. Replies are parsed strictly,
and each quote is compared with the step that it cites.
"""

import hashlib
import re
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio.to_thread
from pydantic import ValidationError

from mlagentbench.analysis.evidence import RunEvidence, evidence_of
from mlagentbench.analysis.judge.evidence_prompt import (
    JOURNAL_CHARACTERS,
    SHORTEST_QUOTE,
    VERSION,
    ShownJournal,
    judge_prompt,
    prompt_hash,
    show,
)
from mlagentbench.analysis.judge.rubric import (
    RUBRIC,
    VOTES,
    Answer,
    Evidence,
    JudgeReport,
    Vote,
    majority,
)
from mlagentbench.errors import MLAgentBenchError
from mlagentbench.fs import read_regular
from mlagentbench.models.provider_answers import overflow, provider_error, refuses, with_a_reply
from mlagentbench.models.question import ReplyMetadata
from mlagentbench.records import Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import append_line, payloads

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ChatMessageAssistant, Model

TRIES = 3
"""How often a vote is requested until its format is right."""
RETRIES = 5
"""Retries per call of a failing provider."""
MIN_CHARACTERS = 4_000
"""A judge must be able to read this much of a journal."""
ERROR_QUOTED = 300

_FENCED = re.compile(r"^```json[ \t]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)


class JudgeFailed(MLAgentBenchError):
    """The judge gave no answer; nothing is stored, so it can be asked again."""


class TooLongForJudge(JudgeFailed):
    """The prompt is longer than the judge can read."""


class AnswerRejected(MLAgentBenchError):
    """A reply has the wrong format; the message tells the reason to people and to the judge."""


class _GivenAnswer(Record):
    question: str
    answer: Answer
    why: str
    evidence: tuple[Evidence, ...]


class _GivenAnswers(Record):
    answers: tuple[_GivenAnswer, ...]


class Judge:
    """A model that judges runs."""

    def __init__(self, model: "Model", max_characters: int = JOURNAL_CHARACTERS) -> None:
        self.model = model
        self.name = str(model)
        self._max_characters = max_characters

    async def judge(self, run: RunDirectory) -> JudgeReport:
        """The stored judgement of a run, or a new one, which is stored.

        Raises UsageError when the run cannot be read, and JudgeFailed when the judge does not
        answer, refuses, or cannot even read a short part of the journal.
        """
        stored = self.stored(run)
        if stored is not None:
            return stored
        report = await self.ask(evidence_of(run), journal_hash(run))
        await anyio.to_thread.run_sync(store_judgement, run, report)
        return report

    def stored(self, run: RunDirectory) -> JudgeReport | None:
        """This judge's stored judgement of the run in its current state."""
        hashes = (prompt_hash(), journal_hash(run))
        for report in reversed(read_judgements(run)):
            if report.model == self.name and (report.prompt_hash, report.journal_hash) == hashes:
                return report
        return None

    async def ask(self, evidence: RunEvidence, journal: str) -> JudgeReport:
        """All votes on a run, with a shorter journal while the judge cannot read the whole.

        `journal` is the hash of the journal. Raises JudgeFailed; nothing is stored.
        """
        characters = self._max_characters
        while True:
            asking = _Asking(self.model, show(evidence, characters))
            try:
                return await self._report(asking, journal)
            except TooLongForJudge:
                characters //= 2
                if characters < MIN_CHARACTERS:
                    raise

    async def _report(self, asking: "_Asking", journal: str) -> JudgeReport:
        seeds = tuple(range(1, VOTES + 1))
        for seed in seeds:
            await asking.vote(seed)
        verdicts = [majority(one.id, tuple(asking.votes[one.id])) for one in RUBRIC]
        return JudgeReport(
            model=self.name,
            answered_by=tuple(asking.answered_by),
            prompt_version=VERSION,
            prompt_hash=prompt_hash(),
            journal_hash=journal,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            seeds=seeds,
            verdicts=tuple(verdicts),
            rejected=tuple(asking.rejected),
            cuts=asking.shown.cuts,
            input_tokens=asking.input_tokens,
            output_tokens=asking.output_tokens,
        )


class _Asking:
    """Collects the votes on one run."""

    def __init__(self, model: "Model", shown: ShownJournal) -> None:
        self.votes: dict[str, list[Vote]] = {question.id: [] for question in RUBRIC}
        self.rejected: list[str] = []
        self.answered_by: list[str] = []
        self.input_tokens = 0
        self.output_tokens = 0
        self._model = model
        self.shown = shown

    async def vote(self, seed: int) -> None:
        """Ask for one vote, again while its format is wrong; then it is lost."""
        from inspect_ai.model import ChatMessageUser

        question = judge_prompt(self.shown, seed, nonce=secrets.token_hex(8))
        messages: list[ChatMessage] = [ChatMessageUser(content=question)]
        reason = ""
        for _ in range(TRIES):
            reply = await self._generate(messages)
            try:
                votes = read_votes(reply.text, self.shown, seed)
            except AnswerRejected as rejected:
                reason = str(rejected)
                again = f"Not accepted: {reason}. Answer again, in exactly the form asked for."
                messages += [reply, ChatMessageUser(content=again)]
                continue
            for name, vote in votes.items():
                self.votes[name].append(vote)
            return
        self.rejected.append(f"seed {seed}: {reason}")

    async def _generate(self, messages: "list[ChatMessage]") -> "ChatMessageAssistant":
        from inspect_ai.model import GenerateConfig

        try:
            output = await self._model.generate(
                messages, config=GenerateConfig(max_retries=RETRIES)
            )
        except Exception as wrapped:  # each provider has errors of its own
            error = provider_error(wrapped)
            if overflow(self._model.name, error) is not None:
                raise TooLongForJudge(str(error)) from wrapped
            said = " ".join(f"{type(error).__name__}: {error}".split())[:ERROR_QUOTED]
            raise JudgeFailed(f"{self._model} does not answer: {said}") from wrapped
        if output.usage is not None:
            self.input_tokens += output.usage.input_tokens
            self.output_tokens += output.usage.output_tokens
        by = ReplyMetadata.of(output).answered_by
        if by is not None and by not in self.answered_by:
            self.answered_by.append(by)
        answered = with_a_reply(output)
        if answered.stop_reason == "model_length":
            raise TooLongForJudge(f"{self._model} cannot read a prompt of this length")
        if refuses(answered.message, answered.stop_reason):
            raise JudgeFailed(f"{self._model} refuses to answer")
        return answered.message


def read_votes(reply: str, shown: ShownJournal, seed: int) -> dict[str, Vote]:
    """The votes of a reply by question; AnswerRejected when its format is wrong."""
    blocks = _FENCED.findall(reply)
    if len(blocks) != 1:
        raise AnswerRejected(f"{len(blocks)} blocks fenced as json instead of one")
    try:
        given = _GivenAnswers.model_validate_json(blocks[0], strict=True).answers
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise AnswerRejected(f"not the form asked for: {place}: {first['msg']}") from error
    asked = [question.id for question in RUBRIC]
    if [answer.question for answer in given] != asked:
        raise AnswerRejected(f"the questions are not, in this order: {', '.join(asked)}")
    return {answer.question: _vote(answer, shown, seed) for answer in given}


def _vote(given: _GivenAnswer, shown: ShownJournal, seed: int) -> Vote:
    problems = [problem for one in given.evidence if (problem := quote_problem(one, shown))]
    if given.answer == "yes" and not given.evidence:
        problems.append("no evidence")
    answer = given.model_dump(exclude={"question"})
    return Vote(seed=seed, problem="; ".join(problems), **answer)


def quote_problem(evidence: Evidence, shown: ShownJournal) -> str:
    """Why a quote proves nothing, or "" when its step contains it verbatim."""
    text = shown.text_of(evidence.step)
    if text is None:
        return f"step {evidence.step} was not shown"
    if len(evidence.quote.strip()) < min(SHORTEST_QUOTE, len(text.strip())):
        return f"quote from step {evidence.step} too short"
    if evidence.quote not in text:
        return f"quote not found in step {evidence.step}"
    return ""


def journal_hash(run: RunDirectory) -> str:
    """Tells whether a run was continued since it was judged."""
    contents = read_regular(run.journal) if run.journal.exists() else b""
    return hashlib.sha256(contents).hexdigest()


def read_judgements(run: RunDirectory) -> list[JudgeReport]:
    """All judgements of a run, oldest first; incomplete lines are skipped."""
    reports = []
    for payload in payloads(run.judgements):
        try:
            reports.append(JudgeReport.model_validate_json(payload))
        except ValidationError:
            continue
    return reports


def current_judgements(run: RunDirectory) -> list[JudgeReport]:
    """The newest judgement by each judge of the run in its current state."""
    now = journal_hash(run)
    newest = {report.model: report for report in read_judgements(run) if report.journal_hash == now}
    return list(newest.values())


def store_judgement(run: RunDirectory, report: JudgeReport) -> None:
    """Append a judgement; readers skip a line that a crash left incomplete."""
    with run.hold() as run:
        append_line(run.judgements, report.model_dump_json().encode(), run.journal, run.lease)
