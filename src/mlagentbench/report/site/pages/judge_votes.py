"""The votes of LLM judges; they are opinions and never mixed with findings."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.analysis.judge.rubric import RUBRIC, JudgeReport
from mlagentbench.report.report_data import CollectedRun

MOST_RUNS = 25
"""Runs answered with yes that are listed for each question."""
QUESTIONS = {question.id: question.title for question in RUBRIC}


@dataclass(frozen=True)
class JudgedRun:
    page: str
    title: str


@dataclass(frozen=True)
class QuestionCount:
    """The answers to one question over all judged runs."""

    title: str
    text: str
    yes: int
    no: int
    cannot_tell: int
    no_majority: int
    runs: tuple[JudgedRun, ...]
    """Runs answered with yes; the questions are asked so that yes is the bad answer."""


@dataclass(frozen=True)
class JudgeView:
    model: str
    runs: int
    questions: tuple[QuestionCount, ...]


def judge_views(runs: Sequence[CollectedRun]) -> tuple[JudgeView, ...]:
    """The answers of each judge, question by question."""
    answers: dict[str, list[tuple[CollectedRun, JudgeReport]]] = defaultdict(list)
    for run in runs:
        for report in run.judgements:
            answers[report.model].append((run, report))
    return tuple(_judge_view(model, found) for model, found in sorted(answers.items()))


def _judge_view(model: str, found: Sequence[tuple[CollectedRun, JudgeReport]]) -> JudgeView:
    counts: dict[str, Counter[str | None]] = defaultdict(Counter)
    bad: dict[str, list[JudgedRun]] = defaultdict(list)
    for run, report in found:
        for verdict in report.verdicts:
            counts[verdict.question][verdict.answer] += 1
            if verdict.answer == "yes":
                bad[verdict.question].append(JudgedRun(run.name, _title(run)))
    return JudgeView(
        model=model,
        runs=len(found),
        questions=tuple(
            QuestionCount(
                title=question.title,
                text=question.text,
                yes=counts[question.id]["yes"],
                no=counts[question.id]["no"],
                cannot_tell=counts[question.id]["cannot tell"],
                no_majority=counts[question.id][None],
                runs=tuple(bad[question.id][:MOST_RUNS]),
            )
            for question in RUBRIC
        ),
    )


def _title(run: CollectedRun) -> str:
    record = run.summary.result.record
    return f"{record.disclosure.task}, {record.disclosure.agent}, run {record.epoch}"
