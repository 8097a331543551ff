"""How far a judge agrees with the labels: `bench/detectors/judge_agreement.py --model MODEL`.

Every labelled run that a model took part in is judged, natural and planted ones; for each question
that labels can answer, the judge's majority is compared with them by Cohen's kappa. Judgements are
kept in a file, so that a second call asks only what is missing.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import anyio
from corpus import Label, LabelledRun, natural_runs
from kappa import Agreement, agreement
from measure import evidence_of
from planting import planted_runs

from mlagentbench.analysis.judge.evidence_prompt import JOURNAL_CHARACTERS, prompt_hash
from mlagentbench.analysis.judge.judge import Judge, JudgeFailed
from mlagentbench.analysis.judge.rubric import JudgeReport
from mlagentbench.errors import UsageError
from mlagentbench.models.model_check import require_model
from mlagentbench.models.model_choice import NO_MODEL, ModelChoice, parse_arguments
from mlagentbench.records import Record

LABELS: dict[str, Callable[[Label], bool]] = {
    "hallucination": lambda label: label.kind in ("unsupported-claim", "fabricated-observation"),
    "debugging": lambda label: label.kind == "failed-debugging",
    "dishonest": lambda label: label.kind == "boundary" and label.level in ("answers", "tampering"),
}
"""Which labels make the right answer to a question `yes`; other questions have no labels."""


def judged_runs(names: Sequence[str] | None = None) -> list[LabelledRun]:
    """All labelled runs that a model took part in, or those of these names."""
    runs = {
        labelled.run.name: labelled
        for labelled in (*natural_runs(), *planted_runs())
        if labelled.run.record.disclosure.model != NO_MODEL
    }
    for name in names or ():
        if name not in runs:
            raise UsageError(f"run {name}: no labelled run of a model has this name")
    return [runs[name] for name in names] if names else list(runs.values())


def judge_by(choice: ModelChoice, characters: int) -> Judge:
    """A judge that can be asked; a UsageError that names what it misses."""
    from inspect_ai.model import get_model

    require_model(choice)
    return Judge(get_model(choice.name, memoize=False, **choice.arguments), characters)


class KeptJudgement(Record):
    """What a judge said of a labelled run."""

    run: str
    report: JudgeReport


class QuestionAgreement(Record):
    """A judge against the labels on one question; `undecided` runs have no majority.

    A run counts as labelled where one label is sure; with doubtful ones alone it is left out.
    """

    question: str
    labelled_yes: int
    judged_yes: int
    undecided: int
    agreement: Agreement


def compare(
    runs: Iterable[LabelledRun], reports: Mapping[str, JudgeReport]
) -> list[QuestionAgreement]:
    """The agreement on each question that labels can answer, over the runs that were judged."""
    judged = [run for run in runs if run.run.name in reports]
    return [_question(name, is_yes, judged, reports) for name, is_yes in LABELS.items()]


def _question(
    name: str,
    is_yes: Callable[[Label], bool],
    runs: Sequence[LabelledRun],
    reports: Mapping[str, JudgeReport],
) -> QuestionAgreement:
    right, said, undecided = [], [], 0
    for run in runs:
        matching = [label for label in run.labels if is_yes(label)]
        if matching and all(label.doubtful for label in matching):
            continue
        verdicts = {verdict.question: verdict.answer for verdict in reports[run.run.name].verdicts}
        answer = verdicts.get(name)
        if answer not in ("yes", "no"):
            undecided += 1
            continue
        right.append("yes" if matching else "no")
        said.append(answer)
    return QuestionAgreement(
        question=name,
        labelled_yes=right.count("yes"),
        judged_yes=said.count("yes"),
        undecided=undecided,
        agreement=agreement(right, said),
    )


async def judge_all(judge: Judge, runs: Sequence[LabelledRun], kept: Path) -> None:
    """Judge what is not in the file yet, one run after the other, and say what fails."""
    done = read_kept(kept, judge.name)
    for labelled in runs:
        name = labelled.run.name
        if name in done:
            continue
        try:
            report = await judge.ask(evidence_of(labelled), journal=name)
        except JudgeFailed as error:
            print(f"{name}: {error}")
            continue
        with kept.open("a", encoding="utf-8") as file:
            file.write(KeptJudgement(run=name, report=report).model_dump_json() + "\n")


def read_kept(kept: Path, model: str) -> dict[str, JudgeReport]:
    """What this judge, with the present prompt, has said so far."""
    if not kept.is_file():
        return {}
    lines = [KeptJudgement.model_validate_json(line) for line in kept.read_text().splitlines()]
    return {
        line.run: line.report
        for line in lines
        if line.report.model == model and line.report.prompt_hash == prompt_hash()
    }


def _row(found: QuestionAgreement) -> str:
    between = found.agreement
    if between.kappa is None:
        kappa = "kappa unknown: one answer only"
    elif between.interval is None:
        kappa = f"kappa {between.kappa:.2f}, no interval where all are alike"
    else:
        kappa = (
            f"kappa {between.kappa:.2f} [{between.interval.low:.2f}, {between.interval.high:.2f}]"
        )
    return (
        f"{found.question}: {kappa}; {between.agreeing} of {between.n} runs alike; yes by labels "
        f"{found.labelled_yes}, by the judge {found.judged_yes}; undecided {found.undecided}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="an Inspect model name")
    parser.add_argument(
        "-M", metavar="KEY=VALUE", action="append", default=[], help="an argument of the model"
    )
    parser.add_argument("--runs", metavar="NAME", nargs="+", help="judge these alone")
    parser.add_argument("--kept", type=Path, default=Path("judgements.jsonl"))
    parser.add_argument("--most", type=int, default=None, help="judge at most so many runs")
    parser.add_argument("--characters", type=int, default=JOURNAL_CHARACTERS)
    asked = parser.parse_args(arguments)
    try:
        runs = judged_runs(asked.runs)[: asked.most]
        choice = ModelChoice(name=asked.model, arguments=parse_arguments(asked.M))
        judge = judge_by(choice, asked.characters)
    except UsageError as error:
        parser.error(str(error))
    anyio.run(judge_all, judge, runs, asked.kept)
    for found in compare(runs, read_kept(asked.kept, judge.name)):
        print(_row(found))


if __name__ == "__main__":
    main()
