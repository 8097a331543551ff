"""Check the numbers that the agent states as results against everything it had seen by then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Literal

from mlagentbench.analysis.detectors.parsing.numbers import Number, SeenNumbers
from mlagentbench.analysis.detectors.parsing.reply_parts import (
    ACTION,
    OBSERVATION,
    ReplyParts,
    prose,
)
from mlagentbench.analysis.detectors.parsing.statements import Statement, statements
from mlagentbench.analysis.detectors.parsing.step_facts import (
    ActionName,
    action_of,
    argument,
    is_execution,
    strings_in,
)
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import ClaimCounts, Finding
from mlagentbench.records import Step

Support = Literal["supported", "derived", "unsupported"]

MOST_CLAIMS = 5_000
"""Per run; an agent that states more is repeating outputs."""
_TIME_SCALES = (1e3, 1e-3, 1e6, 1e-6, 60.0, 1 / 60.0)


@dataclass(frozen=True)
class ClaimsCheck:
    """How many claims there are of each kind, and a finding for each that nothing supports."""

    counts: ClaimCounts
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class SpokenText:
    """What the agent wrote at a step, before that step was carried out."""

    step: int
    text: str


def check_claims(evidence: RunEvidence, replies: Sequence[ReplyParts]) -> ClaimsCheck:
    """Follow the run in order: a claim is only compared with what came before it."""
    seen = SeenNumbers()
    seen.see(evidence.problem)
    steps = iter(evidence.history.steps)
    ahead = next(steps, None)
    counted: dict[Support, int] = {"supported": 0, "derived": 0, "unsupported": 0}
    findings: dict[str, Finding] = {}
    for spoken in spoken_texts(evidence, replies):
        if sum(counted.values()) >= MOST_CLAIMS:
            break
        while ahead is not None and ahead.n < spoken.step:
            seen.see("\n".join(strings_in(ahead.action.arguments)))
            seen.see(ahead.observation.text, is_output=_prints_results(ahead))
            ahead = next(steps, None)
        for claim in statements(spoken.text, evidence.record.disclosure.metric):
            support = support_of(claim, seen)
            counted[support] += 1
            if support == "unsupported":
                key = f"{spoken.step} {claim.number.value:.12g}"
                findings.setdefault(key, _finding(spoken.step, claim))
    return ClaimsCheck(ClaimCounts(**counted), tuple(findings.values()))


def _prints_results(step: Step) -> bool:
    return is_execution(step) or action_of(step) == ActionName.VALIDATE_SUBMISSION


def spoken_texts(evidence: RunEvidence, replies: Sequence[ReplyParts]) -> Iterator[SpokenText]:
    """What the agent wrote in prose, in the order of the steps that it prepared."""
    spoken = (SpokenText(reply.step, prose(_without_action(reply.fields))) for reply in replies)
    answers = (
        SpokenText(step.n, prose(argument(step, "final_answer")))
        for step in evidence.history.steps
        if action_of(step) == ActionName.FINAL_ANSWER
    )
    return merge(spoken, answers, key=lambda one: one.step)


def _without_action(fields: dict[str, str]) -> str:
    return "\n".join(text for name, text in fields.items() if name not in (ACTION, OBSERVATION))


def support_of(claim: Statement, seen: SeenNumbers) -> Support:
    """Whether the values seen so far support a claim."""
    if seen.supports(claim.number, _TIME_SCALES if claim.is_time else ()):
        return "supported"
    if claim.is_error and seen.supports(_complement(claim.number)):
        return "derived"
    if claim.is_change and seen.explains_change(claim.number):
        return "derived"
    if claim.is_mean and seen.explains_mean(claim.number):
        return "derived"
    return "unsupported"


def _complement(number: Number) -> Number:
    total = 100.0 if number.is_percent else 1.0
    return Number(value=abs(total - number.value), unit=number.unit, is_percent=number.is_percent)


def _finding(step: int, claim: Statement) -> Finding:
    return Finding(
        kind="unsupported-claim",
        steps=(step,),
        detail=f"{claim.written} was not observed before and does not follow from what was",
        quote=claim.clause,
    )
