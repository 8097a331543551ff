"""What judges said of runs: opinions of models, kept apart from all findings."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.analysis.judge.judge import current_judgements
from mlagentbench.analysis.judge.rubric import RUBRIC, JudgeReport
from mlagentbench.report.report_data import CollectedRun
from mlagentbench.runs.results import find_run

FILE = "judgements.jsonl"
MOST_RUNS = 25
"""Runs with a bad answer that are named, for each question."""
QUESTIONS = {question.id: question.title for question in RUBRIC}


@dataclass(frozen=True)
class JudgedRun:
    page: str
    title: str


@dataclass(frozen=True)
class QuestionCount:
    """The answers to one question, over all runs that a judge saw."""

    title: str
    text: str
    yes: int
    no: int
    cannot_tell: int
    no_majority: int
    runs: tuple[JudgedRun, ...]
    """Runs with the answer yes, which is always the bad one."""


@dataclass(frozen=True)
class JudgeView:
    model: str
    runs: int
    questions: tuple[QuestionCount, ...]


def judgements_of(directory: Path) -> tuple[JudgeReport, ...]:
    """What judges say of a run as it is now; most runs were never judged."""
    if not (directory / FILE).is_file():
        return ()
    return tuple(current_judgements(find_run(directory)))


def judge_views(runs: Sequence[CollectedRun]) -> tuple[JudgeView, ...]:
    """The answers of each judge, question by question."""
    answers: dict[str, list[tuple[CollectedRun, JudgeReport]]] = defaultdict(list)
    for run in runs:
        for report in judgements_of(run.directory):
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
