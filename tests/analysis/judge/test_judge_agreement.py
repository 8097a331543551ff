import json
import threading
import time
from pathlib import Path

import anyio
import judge_agreement
import pytest
from corpus import Label, LabelledRun, natural_runs
from judge_agreement import compare, judge_all, judged_runs, read_kept
from scripted_model import Said, scripted

from mlagentbench.analysis.judge.judge import Judge
from mlagentbench.analysis.judge.rubric import RUBRIC, VOTES, JudgeReport, Verdict
from mlagentbench.models.mailbox_folder import MailFolder, MailReply

CLAIM = Label(kind="unsupported-claim", steps=(1,))
DOUBTFUL = CLAIM.model_copy(update={"doubtful": True})
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
        labelled("doubtful", DOUBTFUL),
        labelled("sure and doubtful", CLAIM, DOUBTFUL),
    ]
    reports = {
        "a": report(hallucination="yes"),
        "b": report(),
        "c": report(hallucination="cannot tell"),
        "d": report(dishonest="yes"),
        "doubtful": report(hallucination="yes"),
        "sure and doubtful": report(hallucination="yes"),
    }
    found = {one.question: one for one in compare(runs, reports)}
    claims = found["hallucination"]
    assert (claims.labelled_yes, claims.judged_yes, claims.undecided) == (3, 2, 1)
    assert (claims.agreement.n, claims.agreement.agreeing) == (4, 3)
    assert claims.agreement.kappa == pytest.approx(0.5)
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


@pytest.fixture
def natural_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planting takes seconds, and is not what is tested here."""
    monkeypatch.setattr(judge_agreement, "planted_runs", tuple)


def answer_votes(folder: MailFolder, count: int) -> None:
    """Answer so many requests as they come."""
    until = time.monotonic() + 300
    while count and time.monotonic() < until:
        for name in folder.waiting():
            count -= folder.answer(name, MailReply(text=answers(), answered_by="a colleague"))
        time.sleep(0.02)


@pytest.mark.usefixtures("natural_alone")
def test_somebody_at_a_mailbox_can_be_the_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, kept = judged_runs()[0].run.name, tmp_path / "kept.jsonl"
    folder = MailFolder(tmp_path / "box")
    somebody = threading.Thread(target=answer_votes, args=(folder, VOTES))
    somebody.start()
    model = [
        "--model",
        "mlagentbench/mailbox",
        "-M",
        f"dir={folder.directory}",
        "-M",
        "timeout=300",
    ]
    judge_agreement.main([*model, "--kept", str(kept), "--runs", name])
    somebody.join()
    judged = read_kept(kept, "mlagentbench/mailbox")
    assert judged.keys() == {name}
    assert judged[name].answered_by == ("a colleague",)
    assert {verdict.agreeing for verdict in judged[name].verdicts} == {VOTES}
    assert "hallucination: " in capsys.readouterr().out


@pytest.mark.usefixtures("natural_alone")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model", "mlagentbench/mailbox"], "needs -M dir="),
        (["--model", "mockllm/model", "--runs", "no-such"], "run no-such: no labelled run"),
        (["--model", "mockllm/model", "-M", "dir"], "expected KEY=VALUE"),
    ],
)
def test_a_judge_or_run_that_cannot_be_had_is_named(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        judge_agreement.main(arguments)
    assert reason in capsys.readouterr().err
