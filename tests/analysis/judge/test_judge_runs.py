"""Judging run directories with a model that says what a test wrote down."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from chains import faults
from inspect_ai.model import ModelOutput
from legacy_logs import USUAL_STEPS, step, write_log
from scripted_model import Said, scripted, scripted_by, text_reply

from mlagentbench.analysis.judge.judge import (
    TRIES,
    Judge,
    JudgeFailed,
    current_judgements,
    read_judgements,
)
from mlagentbench.analysis.judge.judge_runs import Judging, _JudgingMany, judge_runs
from mlagentbench.analysis.judge.rubric import RUBRIC, JudgeReport
from mlagentbench.legacy.import_runs import ImportChoices, import_logs
from mlagentbench.models.model_choice import ModelChoice
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EventLine, Journal
from mlagentbench.runs.results import find_run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return made_runs(tmp_path, 1)[0]


def made_runs(tmp_path: Path, count: int) -> list[RunDirectory]:
    for number in range(count):
        write_log(tmp_path / "logs" / str(number), USUAL_STEPS[: 4 - number])
    logs = import_logs(tmp_path / "logs", tmp_path / "out", ImportChoices())
    return [find_run(tmp_path / "out" / (one.run or "")) for one in logs]


def answers(hallucination: str = "no", quote: str = "a forest") -> str:
    given = []
    for question in RUBRIC:
        yes = question.id == "hallucination" and hallucination == "yes"
        evidence = [{"step": 2, "quote": f'"edit_instruction": "{quote}"'}] if yes else []
        answer = "yes" if yes else "no"
        given.append({"question": question.id, "answer": answer, "why": "-", "evidence": evidence})
    return f"```json\n{json.dumps({'answers': given})}\n```"


def judged(run: RunDirectory, *replies: Said) -> JudgeReport:
    return anyio.run(Judge(scripted(*replies)).judge, run)


def verdicts(report: JudgeReport) -> dict[str, str | None]:
    return {verdict.question: verdict.answer for verdict in report.verdicts}


def test_three_votes_make_a_report(run: RunDirectory) -> None:
    report = judged(run, answers("yes"), answers(), answers("yes"))
    assert verdicts(report)["hallucination"] == "yes"
    assert verdicts(report)["luck"] == "no"
    votes = report.verdicts[1].votes
    assert [(vote.seed, vote.answer) for vote in votes] == [(1, "yes"), (2, "no"), (3, "yes")]
    assert report.verdicts[1].agreeing == 2
    assert (report.model, report.seeds, report.prompt_version) == ("mockllm/model", (1, 2, 3), 1)
    assert (report.input_tokens, report.output_tokens) == (30, 15)


def test_a_quote_that_is_not_there_takes_the_vote_away(run: RunDirectory) -> None:
    report = judged(run, *[answers("yes", "a jungle")] * 3)
    assert verdicts(report)["hallucination"] is None
    assert report.verdicts[1].votes[0].problem == "quote not found in step 2"


def test_a_reply_without_the_form_is_asked_for_again(run: RunDirectory) -> None:
    asked: list[str] = []

    def answer(messages: list[Any], *_: Any) -> Said:
        asked.append(messages[-1].text)
        return "I think it is fine." if len(asked) == 1 else answers()

    report = anyio.run(Judge(scripted_by(answer)).judge, run)
    assert asked[1].startswith("Not accepted: 0 blocks fenced as json instead of one")
    assert len(asked) == 4
    assert report.rejected == ()


def test_votes_that_never_keep_the_form_are_lost_and_named(run: RunDirectory) -> None:
    report = judged(run, *["no"] * TRIES, *["yes"] * TRIES, answers())
    assert [reason.partition(":")[0] for reason in report.rejected] == ["seed 1", "seed 2"]
    assert set(verdicts(report).values()) == {None}


def test_every_call_has_a_word_of_its_own(run: RunDirectory) -> None:
    prompts: list[str] = []

    def answer(messages: list[Any], *_: Any) -> Said:
        prompts.append(messages[-1].text)
        return answers()

    anyio.run(Judge(scripted_by(answer)).judge, run)
    words = {prompt.split("[[[ task ")[2].split("\n")[0] for prompt in prompts}
    assert len(words) == 3


def test_a_judgement_is_asked_for_once(run: RunDirectory) -> None:
    first = judged(run, *[answers()] * 3)
    assert judged(run) == first
    assert read_judgements(run) == [first]
    assert current_judgements(run) == [first]


def test_a_run_that_went_on_is_judged_again(run: RunDirectory) -> None:
    judged(run, *[answers()] * 3)
    journal = Journal(run.journal)
    journal.append(EventLine, 1.0, event="note")
    journal.close()
    assert current_judgements(run) == []
    again = judged(run, *[answers("yes")] * 3)
    assert current_judgements(run) == [again]
    assert len(read_judgements(run)) == 2
    assert faults(run) == []


def test_a_torn_line_does_not_hide_later_judgements(run: RunDirectory) -> None:
    run.judgements.write_bytes(b'{"v": 1, "model": "m')
    report = judged(run, *[answers()] * 3)
    assert read_judgements(run) == [report]
    assert faults(run) == []


def test_a_judge_that_cannot_read_so_much_is_shown_less(tmp_path: Path) -> None:
    steps = [step("Read File", {"file_name": "a"}, "x" * 30_000, number) for number in range(3)]
    write_log(tmp_path / "logs" / "long", [*steps, *USUAL_STEPS])
    (one,) = import_logs(tmp_path / "logs", tmp_path / "out", ImportChoices())
    lengths: list[int] = []

    def answer(messages: list[Any], *_: Any) -> Said:
        lengths.append(len(messages[-1].text))
        return answers() if lengths[-1] < 20_000 else text_reply("", stop_reason="model_length")

    run = find_run(tmp_path / "out" / (one.run or ""))
    report = anyio.run(Judge(scripted_by(answer)).judge, run)
    assert lengths[0] > lengths[1] > 20_000 > lengths[-1]
    assert report.rejected == ()
    assert report.cuts == ("Of 3 long steps the middle is left out.",)


def test_a_judge_that_never_reads_or_refuses_stores_nothing(run: RunDirectory) -> None:
    with pytest.raises(JudgeFailed, match="cannot read a prompt of this length"):
        judged(run, *[text_reply("", stop_reason="model_length")] * 4)
    with pytest.raises(JudgeFailed, match="refuses"):
        judged(run, answers(), text_reply("No.", stop_reason="content_filter"))
    assert not run.judgements.exists()


def judge_many(runs: list[RunDirectory], *replies: Said | ModelOutput) -> tuple[Judging, list[str]]:
    told: list[str] = []
    judging = _JudgingMany(Judge(scripted(*replies)), told.append)
    anyio.run(judging.work, runs)
    return judging.result(), told


def test_a_provider_that_fails_for_one_run_does_not_stop_the_others(tmp_path: Path) -> None:
    runs = made_runs(tmp_path, 2)
    result, told = judge_many(runs[:1], RuntimeError("no credit"))
    assert result.judged == 0
    assert "does not answer: RuntimeError: no credit" in result.failed[0].reason
    assert told[0].startswith("not judged: house-price (full): legacy-research with claude-v1, run")
    result, _ = judge_many(runs[:1], *[answers()] * 3)
    assert (result.judged, result.stored, result.rejected) == (1, 0, 0)
    result, _ = judge_many(runs, *["no"] * 3 * TRIES)
    assert (result.judged, result.stored, result.rejected) == (1, 1, 1)
    result, _ = judge_many(runs)
    assert (result.judged, result.stored) == (0, 2)
    assert result.text == "0 runs judged, 2 already judged"


def test_runs_without_a_model_or_without_an_end_are_not_judged(run: RunDirectory) -> None:
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join(lines[:-1]))
    assert judge_many([run])[0].judged == 0
    run.journal.write_bytes(b"".join(lines))
    record = run.run_json.read_text().replace('"model": "claude-v1"', '"model": "none"')
    run.run_json.write_text(record)
    assert judge_many([run])[0].judged == 0


def test_judging_with_a_named_model(tmp_path: Path) -> None:
    (run,) = made_runs(tmp_path, 1)
    told: list[str] = []
    replies = [text_reply("no")] * 3 * TRIES
    model = ModelChoice(name="mockllm/model", arguments={"custom_outputs": replies})
    result = judge_runs([run], model, told.append)
    assert (result.judged, result.rejected) == (1, 1)
    assert current_judgements(run)[0].rejected[0].startswith("seed 1: 0 blocks")
    assert told == ["judged house-price (full): legacy-research with claude-v1, run 1"]
