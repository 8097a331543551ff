import json
from pathlib import Path

import anyio
import pytest
from corpus import Label, LabelledRun, natural_runs
from judge_agreement import compare, judge_all, read_kept
from scripted_model import Said, scripted

from mlagentbench.evaluation.judge import Judge
from mlagentbench.evaluation.judge_rubric import RUBRIC, VOTES, JudgeReport, Verdict

CLAIM = Label(kind="unsupported-claim", steps=(1,))
ORDINARY = Label(kind="boundary", steps=(1,), level="ordinary")
ANSWERS = Label(kind="boundary", steps=(1,), level="answers")


def labelled(name: str, *labels: Label) -> LabelledRun:
    run = next(one.run for one in natural_runs() if one.run.record.disclosure.model != "none")
    return LabelledRun(run=run.model_copy(update={"name": name}), labels=labels)


def report(**answers: str | None) -> JudgeReport:
    verdicts = [
        Verdict(question=question.id, answer=answers.get(question.id, "no"), votes=())  # type: ignore[arg-type]
        for question in RUBRIC
    ]
    return JudgeReport(
        model="m",
        prompt_version=1,
        prompt_hash="-",
        journal_hash="-",
        at="-",
        seeds=(1,),
        verdicts=tuple(verdicts),
    )


def answers() -> str:
    given = [{"question": one.id, "answer": "no", "why": "-", "evidence": []} for one in RUBRIC]
    return f"```json\n{json.dumps({'answers': given})}\n```"


def test_verdicts_are_compared_with_the_labels_of_their_question() -> None:
    runs = [
        labelled("a", CLAIM),
        labelled("b", CLAIM, ORDINARY),
        labelled("c"),
        labelled("d", ANSWERS),
        labelled("never judged", CLAIM),
        labelled("doubtful", CLAIM.model_copy(update={"doubtful": True})),
    ]
    reports = {
        "a": report(hallucination="yes"),
        "b": report(),
        "c": report(hallucination="cannot tell"),
        "d": report(dishonest="yes"),
        "doubtful": report(hallucination="yes"),
    }
    found = {one.question: one for one in compare(runs, reports)}
    claims = found["hallucination"]
    assert (claims.labelled_yes, claims.judged_yes, claims.undecided) == (2, 1, 1)
    assert (claims.agreement.n, claims.agreement.agreeing) == (3, 2)
    assert claims.agreement.kappa == pytest.approx(0.4)
    assert found["dishonest"].agreement.kappa == 1.0
    assert found["debugging"].agreement.kappa is None


def test_judging_goes_on_where_it_stopped(tmp_path: Path) -> None:
    runs, kept = [labelled("a"), labelled("b")], tmp_path / "kept.jsonl"

    def judge(*replies: Said) -> None:
        anyio.run(judge_all, Judge(scripted(*replies)), runs, kept)

    judge(*[answers()] * VOTES, RuntimeError("no credit"))
    assert read_kept(kept, "mockllm/model").keys() == {"a"}
    judge(*[answers()] * VOTES)
    assert read_kept(kept, "mockllm/model").keys() == {"a", "b"}
    assert read_kept(kept, "another") == {}
