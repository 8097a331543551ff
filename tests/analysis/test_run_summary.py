"""A run's summary: its score curve, its validation scores, and the interval of its test set."""

from pathlib import Path
from typing import Any

from generated_runs import write_run
from made_journals import MadeStep, made_lines
from made_records import made_record

from mlagentbench.analysis.analyse import summarise
from mlagentbench.analysis.findings import ProcessReport
from mlagentbench.records import GradeRecord, Usage
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import append_line
from mlagentbench.runs.journal import EndLine, OutcomeLine, ReplyLine
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import store_directory


def executed(printed: str) -> MadeStep:
    arguments = {"script_name": "train.py"}
    return MadeStep(said="-", action="Execute Script", arguments=arguments, observed=printed)


def written(tmp_path: Path, *, with_usage: bool = True) -> RunDirectory:
    """Three steps; each reply takes 100 and 10 tokens and 0.5 dollars."""
    steps = [
        executed("validation MAE=3.5\nmore"),
        MadeStep(said="-", action="Read File", observed="validation MAE=1.0"),
        executed("validation MAE=2.5e1"),
    ]
    lines = []
    for line in made_lines(*steps):
        if isinstance(line, ReplyLine):
            tokens = {"input_tokens": 100, "output_tokens": 10, "cost": 0.5}
            line = line.model_copy(update=tokens)
        if isinstance(line, EndLine):
            n = line.step
            used = Usage(
                steps=n, seconds=2.0 * n, input_tokens=100 * n, output_tokens=10 * n, cost=0.5 * n
            )
            line = line.model_copy(update={"usage": used if with_usage else None, "clock": 2.0 * n})
        lines.append(line)
    return write_run(tmp_path, made_record(), lines, None)


def grade(run: RunDirectory, step: int, score: float, **more: Any) -> None:
    given = GradeRecord.model_validate(
        {"step": step, "valid": True, "score": score, "normalised": score / 10} | more
    )
    append_line(run.grades, given.model_dump_json().encode(), run.journal)


def test_the_curve_has_the_newest_grade_of_each_step_and_what_was_used_by_then(
    tmp_path: Path,
) -> None:
    run = written(tmp_path)
    grade(run, 3, 5.0)
    grade(run, 1, 1.0)
    grade(run, 0, 0.5)
    grade(run, 3, 7.0, extra={"test_set_interval": [6, 8.5]})
    grade(run, 9, 9.0)
    summary = summarise(run, "out")
    assert [(one.step, one.score) for one in summary.points] == [(0, 0.5), (1, 1.0), (3, 7.0)]
    assert [(one.seconds, one.tokens, one.cost) for one in summary.points] == [
        (0.0, 0, None), (2.0, 110, 0.5), (6.0, 330, 1.5),
    ]  # fmt: skip
    assert summary.result.grade is not None and summary.result.grade.score == 7.0
    assert summary.test_set_interval == (6.0, 8.5)


def test_older_journals_say_it_reply_by_reply(tmp_path: Path) -> None:
    old, new = (written(tmp_path / name, with_usage=name == "new") for name in ("old", "new"))
    for run in (old, new):
        grade(run, 2, 1.0)
    assert summarise(old, "out").points == summarise(new, "out").points


def test_validation_scores_count_only_where_something_ran(tmp_path: Path) -> None:
    run = written(tmp_path)
    points = summarise(run, "out").validations
    assert [(one.step, one.metric, one.value) for one in points] == [
        (1, "MAE", 3.5), (3, "MAE", 25.0),
    ]  # fmt: skip


def test_an_interval_that_is_none_is_left_out(tmp_path: Path) -> None:
    run = written(tmp_path)
    grade(run, 3, 5.0, extra={"test_set_interval": "wide"})
    assert summarise(run, "out").test_set_interval is None


def test_the_validation_score_is_that_of_what_was_submitted(tmp_path: Path) -> None:
    """Step 2 made the submission; step 3 only tried something, and step 4 made a worse one."""
    store = ObjectStore(tmp_path / "objects")
    store.directory.mkdir()
    snapshots = []
    for number, submission in enumerate(("first", "best", "best", "worse")):
        work = tmp_path / f"work-{number}"
        work.mkdir()
        (work / "submission.csv").write_text(submission)
        (work / "log.txt").write_text(str(number))
        snapshots.append(store_directory(store, work))
    store.commit()
    printed = (
        "validation MAE=9",
        "epoch 3 validation MAE: 2",
        "validation MAE=5",
        "validation MAE=7",
    )

    def report_of(name: str, submitted: int) -> ProcessReport:
        lines = []
        for line in made_lines(*map(executed, printed)):
            if isinstance(line, EndLine):
                line = line.model_copy(update={"snapshot": snapshots[line.step - 1]})
            if isinstance(line, OutcomeLine):
                line = line.model_copy(update={"snapshot": snapshots[submitted - 1]})
            lines.append(line)
        run = write_run(tmp_path / name, made_record(), lines, None)
        run.objects.symlink_to(store.directory)
        grade(run, 4, 3.0)
        return summarise(run, "out").process

    assert report_of("an-earlier-one", 2).validation_score == 2.0
    assert report_of("after-a-trial", 3).validation_score == 2.0
    assert report_of("an-earlier-one-again", 2).validation_gap == 1.0
    assert report_of("the-last", 4).validation_score == 7.0
