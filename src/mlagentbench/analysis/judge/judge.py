"""A model's opinion of how a run was done: three votes, each on the steps in another order.

    RunEvidence --show--> ShownJournal --judge_prompt(seed, nonce)--> model --read_votes--> votes
    votes --majority--> JudgeReport, stored beside the run in judgements.jsonl

A judgement is asked for once: a stored one by the same model, with the same prompt, of the same
journal is used again.
"""

import hashlib
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from mlagentbench.analysis.evidence import RunEvidence, evidence_of
from mlagentbench.analysis.judge.answers import AnswerRejected, read_votes
from mlagentbench.analysis.judge.evidence_prompt import (
    JOURNAL_CHARACTERS,
    VERSION,
    ShownJournal,
    judge_prompt,
    prompt_hash,
    show,
)
from mlagentbench.analysis.judge.rubric import RUBRIC, VOTES, JudgeReport, Vote, majority
from mlagentbench.errors import MLAgentBenchError
from mlagentbench.models.provider_answers import (
    overflow,
    provider_error,
    refuses,
    with_a_reply,
)
from mlagentbench.models.question import ReplyMetadata
from mlagentbench.runs.chain import append_line, payloads
from mlagentbench.runs.directory import RunDirectory

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ChatMessageAssistant, Model

TRIES = 3
"""How often a vote that does not keep the form is asked for."""
RETRIES = 5
"""How often a failing provider is asked again for one reply."""


LEAST_CHARACTERS = 4_000
"""A judge that cannot read so much of a journal is none."""
SHOWN_ERROR = 300


class JudgeFailed(MLAgentBenchError):
    """The judge could not be brought to an answer; nothing is stored, so it can be asked again."""


class TooLongForJudge(JudgeFailed):
    """What the judge is shown is longer than it can read."""


class Judge:
    """One model that judges runs."""

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
        store_judgement(run, report)
        return report

    def stored(self, run: RunDirectory) -> JudgeReport | None:
        """What this judge said of the run as it is now."""
        hashes = (prompt_hash(), journal_hash(run))
        for report in reversed(read_judgements(run)):
            if report.model == self.name and (report.prompt_hash, report.journal_hash) == hashes:
                return report
        return None

    async def ask(self, evidence: RunEvidence, journal: str) -> JudgeReport:
        """All votes on a run, with less of it as long as the judge cannot read so much.

        `journal` names what was judged. Raises JudgeFailed; nothing is stored.
        """
        characters = self._max_characters
        while True:
            asking = _Asking(self.model, show(evidence, characters))
            try:
                return await self._report(asking, journal)
            except TooLongForJudge:
                characters //= 2
                if characters < LEAST_CHARACTERS:
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
    """The votes on one run as they come in."""

    def __init__(self, model: "Model", shown: ShownJournal) -> None:
        self.votes: dict[str, list[Vote]] = {question.id: [] for question in RUBRIC}
        self.rejected: list[str] = []
        self.answered_by: list[str] = []
        self.input_tokens = 0
        self.output_tokens = 0
        self._model = model
        self.shown = shown

    async def vote(self, seed: int) -> None:
        """Ask for one vote, again while its form is wrong; then it is lost."""
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
            said = " ".join(f"{type(error).__name__}: {error}".split())[:SHOWN_ERROR]
            raise JudgeFailed(f"{self._model} does not answer: {said}") from wrapped
        if output.usage is not None:
            self.input_tokens += output.usage.input_tokens
            self.output_tokens += output.usage.output_tokens
        by = ReplyMetadata.of(output).answered_by
        if by is not None and by not in self.answered_by:
            self.answered_by.append(by)
        answered = with_a_reply(output)
        if answered.stop_reason == "model_length":
            raise TooLongForJudge(f"{self._model} cannot read so much")
        if refuses(answered.message, answered.stop_reason):
            raise JudgeFailed(f"{self._model} refuses to answer")
        return answered.message


def journal_hash(run: RunDirectory) -> str:
    """What tells whether a run went on since it was judged."""
    contents = run.journal.read_bytes() if run.journal.is_file() else b""
    return hashlib.sha256(contents).hexdigest()


def read_judgements(run: RunDirectory) -> list[JudgeReport]:
    """All judgements of a run, oldest first; damaged lines are left out."""
    reports = []
    for payload in payloads(run.judgements):
        try:
            reports.append(JudgeReport.model_validate_json(payload))
        except ValidationError:
            continue
    return reports


def current_judgements(run: RunDirectory) -> list[JudgeReport]:
    """The newest judgement of each judge on the run as it is now, for reports."""
    now = journal_hash(run)
    newest = {report.model: report for report in read_judgements(run) if report.journal_hash == now}
    return list(newest.values())


def store_judgement(run: RunDirectory, report: JudgeReport) -> None:
    """Add a judgement to those of the run."""
    append_line(run.judgements, report.model_dump_json().encode(), run.journal)
