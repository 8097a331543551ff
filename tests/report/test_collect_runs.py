"""Collecting runs: what is read, what is kept, and how each kind of damage is reported."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from chains import rechain
from generated_runs import generate_runs
from made_records import made_record

from mlagentbench.analysis.judge.judge import journal_hash, store_judgement
from mlagentbench.analysis.judge.rubric import JudgeReport
from mlagentbench.errors import UsageError
from mlagentbench.home import report_cache_dir
from mlagentbench.records import BranchPoint
from mlagentbench.report import collect_runs as collecting
from mlagentbench.report import read_runs
from mlagentbench.report.collect_runs import collect
from mlagentbench.report.report_data import Collection
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import run_directories
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.integrity import integrity_lines, table_disclosure


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    generate_runs(tmp_path / "out", epochs=2, tasks=2, agents=2)
    return tmp_path / "out"


def runs_of(out: Path) -> list[RunDirectory]:
    return list(run_directories(out))


def reason_of(collection: Collection) -> str:
    [unreadable] = collection.unreadable
    return unreadable.reason


def test_a_second_time_only_what_changed_is_read(out: Path) -> None:
    first = collect([out])
    assert (len(first.runs), first.read) == (8, 8)
    again = collect([out])
    assert again.read == 0
    assert again.runs == first.runs

    changed = runs_of(out)[3]
    grade = changed.grades.read_text()
    changed.grades.write_text(grade + grade.replace('"valid":true', '"valid":false'))
    third = collect([out])
    assert third.read == 1
    differing = [new.name for old, new in zip(first.runs, third.runs, strict=True) if old != new]
    assert len(differing) == 1
    assert third.runs[3].fingerprint != first.runs[3].fingerprint


def test_a_judgement_makes_its_run_be_read_again(out: Path) -> None:
    assert not any(run.judgements for run in collect([out]).runs)
    judged = runs_of(out)[2]
    judgement = JudgeReport(
        model="openai/judge",
        prompt_version=1,
        prompt_hash="0",
        journal_hash=journal_hash(judged),
        at="2026-11-16",
        seeds=(1,),
        verdicts=(),
        answered_by=("model",),
    )
    store_judgement(judged, judgement)
    again = collect([out])
    assert again.read == 1
    assert [run.judgements for run in again.runs if run.judgements] == [(judgement,)]


def test_a_changed_analysis_makes_everything_be_read_again(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect([out])
    monkeypatch.setattr(collecting, "package_hash", lambda: "another")
    assert collect([out]).read == 8


def test_a_task_that_becomes_known_makes_its_runs_be_read_again(out: Path) -> None:
    run = runs_of(out)[0]
    record = json.loads(run.run_json.read_text())
    folder = out.parent / "own-task"
    run.run_json.write_text(json.dumps(record | {"task_path": str(folder)}))
    rechain(run)
    [marked] = [one for one in collect([out]).runs if one.summary.marks]
    assert "house-price, version 1, is not installed" in marked.summary.marks[0]
    assert collect([out]).read == 0
    read_runs.words_hash.cache_clear()
    vars(read_runs)["task_texts"].cache_clear()
    shutil.copytree(Path(read_runs.__file__).parents[1] / "tasks" / "suite" / "house-price", folder)
    (folder / "task.toml").write_text(
        (folder / "task.toml").read_text().replace('id = "house-price"', 'id = "own-task"')
    )
    known = collect([out])
    assert known.read == 1
    assert not any(one.summary.marks for one in known.runs)


def test_a_run_that_is_gone_is_forgotten(out: Path) -> None:
    collect([out])
    shutil.rmtree(runs_of(out)[0].path)
    assert (len(collect([out]).runs), collect([out]).read) == (7, 0)


def test_a_damaged_cache_is_rebuilt(out: Path) -> None:
    collect([out])
    [file] = report_cache_dir().iterdir()
    file.write_bytes(b"no database at all" * 1000)
    assert collect([out]).read == 8
    assert collect([out]).read == 0
    with sqlite3.connect(file) as database:
        database.execute("UPDATE entries SET entry = ?", (b"no entry",))
    assert collect([out]).read == 8


def test_without_a_place_for_the_cache_it_works_all_the_same(
    out: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write_text("a file where the home should be")
    assert [collect([out]).read for _ in range(2)] == [8, 8]
    assert len(collect([out]).runs) == 8


@pytest.mark.slow
def test_reports_at_the_same_time_do_not_disturb_each_other(out: Path) -> None:
    program = (
        "import sys; from pathlib import Path; "
        "from mlagentbench.report.collect_runs import collect; "
        "sys.exit(0 if len(collect([Path(sys.argv[1])]).runs) == 8 else 1)"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(out)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert collect([out]).read == 0


def test_several_processes_read_the_same(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = collect([out])
    shutil.rmtree(report_cache_dir())
    monkeypatch.setattr(read_runs, "WORTH_A_POOL", 1)
    assert collect([out]).runs == alone.runs


def test_a_damaged_journal_is_named_and_the_rest_is_there(out: Path) -> None:
    run = runs_of(out)[2]
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join([*lines[:3], b"{not json\n", *lines[3:]]))
    collection = collect([out])
    assert len(collection.runs) == 7
    assert "line 4: the journal is damaged" in reason_of(collection)
    assert collection.unreadable[0].path == run.relative.as_posix()


def test_a_half_written_journal_is_a_run_that_did_not_end(out: Path) -> None:
    run = runs_of(out)[2]
    run.journal.write_bytes(run.journal.read_bytes()[:-40])
    [torn] = [one for one in collect([out]).runs if one.summary.marks]
    assert torn.directory == run.path
    assert "incomplete" in torn.summary.marks[0]
    assert torn.summary.result.outcome is None


def test_records_that_cannot_be_read_are_told_apart(out: Path) -> None:
    runs = runs_of(out)
    record = json.loads(runs[0].run_json.read_text())
    runs[0].run_json.write_text(json.dumps(record | {"v": 1}))
    runs[1].run_json.write_text(json.dumps(record)[:100])
    runs[2].run_json.write_text(json.dumps(record | {"colour": "red"}))
    runs[3].run_json.unlink()
    collection = collect([out])
    assert len(collection.runs) == 4
    reasons = [unreadable.reason for unreadable in collection.unreadable]
    assert reasons[0] == (
        f"{runs[0].path}: run.json has format 1, and mlagentbench 0.2.0 reads format 2; read this "
        "run with mlagentbench 0.1.0"
    )
    assert "cut off or damaged" in reasons[1]
    assert "colour: Extra inputs" in reasons[2]
    assert "run.json is missing" in reasons[3]


def test_a_run_of_another_version_or_task_is_marked(out: Path) -> None:
    runs = runs_of(out)
    for run, facts in ((runs[0], {"task_version": 99}), (runs[1], {"task": "unheard-of"})):
        record = json.loads(run.run_json.read_text())
        record["disclosure"] |= facts
        record["task_path"] = record["disclosure"]["task"]
        run.run_json.write_text(json.dumps(record))
        rechain(run)
    marks = [one.summary.marks for one in collect([out]).runs]
    assert "house-price, version 99, is not installed" in marks[0][0]
    assert "unheard-of, version 1, is not installed" in marks[1][0]
    assert marks[2:] == [()] * 6


def test_a_run_from_another_machine_without_its_objects_is_marked(out: Path) -> None:
    run = runs_of(out)[0]
    lines = run.journal.read_text().splitlines()
    end = next(number for number, line in enumerate(lines) if '"kind":"end"' in line)
    lines[end] = json.dumps(json.loads(lines[end]) | {"text": "ab" * 32})
    run.journal.write_text("\n".join(lines) + "\n")
    rechain(run)
    shutil.rmtree(out / "objects")
    [marked] = [one for one in collect([out]).runs if one.summary.marks]
    assert "objects/ is not beside the run" in marked.summary.marks[0]


def test_runs_whose_chain_does_not_hold_are_marked(out: Path) -> None:
    """An edited score, a removed line, another run.json: the runs stay in the report."""
    collect([out])
    scored, shortened, renamed, *sound = runs_of(out)
    edited = re.sub(rb'"score":[0-9.]+', b'"score":0.99', scored.grades.read_bytes())
    scored.grades.write_bytes(edited)
    lines = shortened.journal.read_bytes().splitlines(keepends=True)
    shortened.journal.write_bytes(b"".join([*lines[:1], *lines[2:]]))
    record = renamed.run_json.read_text()
    renamed.run_json.write_text(record.replace('"seed": 1,', '"seed": 2,'))
    collection = collect([out])
    assert collection.read == 3 and not collection.unreadable
    altered = {one.directory: one.summary.altered for one in collection.runs}
    assert altered[scored.path] == ("grades.jsonl was altered: line 1 does not match its own hash",)
    [said] = altered[shortened.path]
    assert said.startswith("journal.jsonl was altered: line 2 does not follow from line 1 (")
    assert [one.split(" (")[0] for one in altered[renamed.path]] == [
        f"{name} was altered: line 1 does not follow from run.json"
        for name in ("journal.jsonl", "grades.jsonl")
    ]
    for one in collection.runs:
        assert set(one.summary.altered) <= set(one.summary.marks)
        block = {line.label: line for line in integrity_lines(one.summary)}
        assert block["hash chain"].doubt == bool(one.summary.altered)
    assert all(altered[run.path] == () for run in sound)
    summaries = [one.summary for one in collection.runs]
    [line] = [one for one in table_disclosure(summaries).shared if "altered" in one.label]
    assert (line.label, line.value, line.doubt) == ("runs with altered files", "3 of 8", True)
    marks = [mark for cell in cell_statistics(summaries) for mark in cell.marks]
    assert sum("was altered" in mark for mark in marks) == 4


def test_what_breaks_the_analysis_does_not_break_the_report(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = runs_of(out)[0].path
    sound = vars(read_runs)["summarise"]

    def summarise(run: RunDirectory, shown: str) -> object:
        if run.path == broken:
            raise KeyError("surprise")
        return sound(run, shown)

    monkeypatch.setattr(read_runs, "summarise", summarise)
    collection = collect([out])
    assert len(collection.runs) == 7
    assert "(a bug in mlagentbench): KeyError('surprise')" in reason_of(collection)


def test_one_directory_given_in_several_ways_is_read_once(out: Path) -> None:
    collection = collect([out, out / "runs", out / "." / "runs" / ".."])
    assert (len(collection.runs), collection.outs) == (8, (out,))
    assert len({one.name for one in collection.runs}) == 8


def test_a_part_of_the_runs_can_be_asked_for(out: Path) -> None:
    run = runs_of(out)[0]
    assert [one.directory for one in collect([run.path]).runs] == [run.path]
    task = collect([out / "runs" / "house-price"])
    assert (len(task.runs), task.outs) == (4, (out,))
    both = collect([run.path, out / "runs" / "spaceship-titanic"])
    assert len(both.runs) == 5
    assert collect([out]).read == 0


def test_a_copied_run_counts_once_and_the_one_that_came_further_counts(out: Path) -> None:
    copy = out.parent / "copy"
    shutil.copytree(out, copy)
    earlier = runs_of(out)[0]
    lines = earlier.journal.read_bytes().splitlines(keepends=True)
    earlier.journal.write_bytes(b"".join(lines[:-3]))
    collection = collect([out, copy])
    assert len(collection.runs) == 8
    assert len(collection.copies) == 8
    kept = next(one for one in collection.runs if one.summary.result.path == str(earlier.relative))
    assert kept.directory == copy / earlier.relative
    [said] = [one for one in collection.copies if one.path == str(earlier.relative)]
    assert said.same_as == str(copy / earlier.relative)


def test_an_altered_copy_does_not_replace_the_run(out: Path) -> None:
    run = runs_of(out)[0]
    copy = run.path.parent / "7"
    shutil.copytree(run.path, copy)
    grade = (copy / "grades.jsonl").read_text()
    (copy / "grades.jsonl").write_text(grade + grade.replace('"valid":true', '"valid":false'))
    collection = collect([out])
    assert [one.path.rpartition("/")[2] for one in collection.copies] == ["7"]
    assert not any(one.summary.altered for one in collection.runs)


def test_other_runs_in_the_same_place_of_another_directory_count(out: Path) -> None:
    other = out.parent / "other"
    generate_runs(other, epochs=2, tasks=2, agents=2, seed=1)
    collection = collect([out, other])
    assert (len(collection.runs), collection.copies) == (16, ())
    assert len({one.name for one in collection.runs}) == 16
    assert len({one.summary.cluster for one in collection.runs}) == 16


def test_branches_of_branches_belong_to_the_first_history(out: Path) -> None:
    first, second, third = runs_of(out)[:3]
    for run, parent in ((second, first), (third, second)):
        record = made_record().model_copy(
            update={"branched_from": BranchPoint(run=str(parent.relative), step=1)}
        )
        run.run_json.write_text(record.model_dump_json())
    clusters = {one.directory: one.summary.cluster for one in collect([out]).runs}
    assert clusters[first.path] == clusters[second.path] == clusters[third.path]
    assert len(set(clusters.values())) == 6


def test_logs_that_cannot_be_opened_are_listed(out: Path) -> None:
    (out / "logs").mkdir()
    (out / "logs" / "cut.eval").write_bytes(b"PK\x03\x04 and no end")
    shutil.make_archive(str(out / "whole"), "zip", out / "runs" / "house-price" / "mini")
    (out / "whole.zip").rename(out / "whole.eval")
    collection = collect([out])
    assert [Path(log.path).name for log in collection.unreadable_logs] == ["cut.eval"]
    assert len(collection.runs) == 8


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, "does not exist"),
        ("empty", "contains no runs; start some with"),
        ("deeper/results/runs", "contains no runs itself, but"),
    ],
)
def test_a_directory_without_runs_is_the_persons_mistake(
    tmp_path: Path, made: str | None, said: str
) -> None:
    if made is not None:
        (tmp_path / "given" / made).mkdir(parents=True)
    with pytest.raises(UsageError, match=said):
        collect([tmp_path / "given"])


def test_numbers_that_are_none_do_not_break_the_report(out: Path) -> None:
    """A clock that is no number damages its journal, a score that is none is no grade."""
    clock, score = runs_of(out)[0], runs_of(out)[1]
    lines = clock.journal.read_text()
    clock.journal.write_text(re.sub(r'"seconds": ?[0-9.e-]+', '"seconds":NaN', lines))
    score.grades.write_text(
        re.sub(r'"score": ?[0-9.e-]+', '"score":Infinity', score.grades.read_text())
    )
    found = collect([out])
    assert len(found.runs) == 7 and "journal.jsonl" in reason_of(found)
    [summary] = [run.summary for run in found.runs if run.directory == score.path]
    assert summary.result.grade is None


def test_a_name_that_no_file_can_bear_is_cut(out: Path) -> None:
    model = runs_of(out)[0].path.parent
    for letter in "ab":
        other = model.parent / ("m" * 220 + letter)
        shutil.copytree(model, other)
        for file in other.glob("*/run.json"):
            file.write_text(json.dumps(json.loads(file.read_text()) | {"created": letter}))
    names = [run.name for run in collect([out]).runs]
    assert len(set(names)) == 12 and max(map(len, names)) < 220


def test_a_run_copied_to_another_number_of_its_cell_counts_once(out: Path) -> None:
    """Copied by hand, it is no second run of the agent; a link could lead anywhere."""
    first = runs_of(out)[0].path
    shutil.copytree(first, first.parent / "7")
    (first.parent / "8").symlink_to(first)
    found = collect([out])
    assert len(found.runs) == 8
    assert [copy.path.rpartition("/")[2] for copy in found.copies] == ["7"]
