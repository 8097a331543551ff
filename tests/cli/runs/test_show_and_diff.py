"""`mlagentbench runs show` and `mlagentbench runs diff`, on runs that were never run."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from generated_runs import generate_runs, write_run
from made_journals import MadeStep, made_lines
from made_records import made_record
from typer.testing import CliRunner

from mlagentbench.cli import app
from mlagentbench.errors import UsageError
from mlagentbench.records import GradeRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EndLine, OutcomeLine, RunLine
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, put_tree
from mlagentbench.runs.results import run_directories

READ = MadeStep(
    said="Thought: look\nAction: Read File\nAction Input: {}",
    action="Read File",
    arguments={"file_name": "train.py"},
    observed="[bold]EPOCHS = 1[/bold]",
)


@pytest.fixture(autouse=True)
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")


def typed(*words: object) -> str:
    result = CliRunner().invoke(app, list(map(str, words)))
    if result.exception is not None:
        raise result.exception
    return result.stdout


def write(content: str) -> MadeStep:
    return MadeStep(
        said=f"Research Plan and Status:\n1. write {content[:10]}\nAction: Write File",
        action="Write File",
        arguments={"file_name": "train.py", "content": content},
        observed="written",
    )


def made_run(out: Path, epoch: int, *steps: MadeStep) -> RunDirectory:
    """A run whose train.py is what its last Write File wrote."""
    store = ObjectStore(out / "objects")

    def snapshot(content: str) -> str:
        entry = Entry("train.py", "file", 0o644, store.put(content.encode()))
        return put_tree(store, [entry.line()])

    content, lines = "EPOCHS = 1\n", []
    for line in made_lines(*steps):
        if isinstance(line, EndLine):
            content = str(steps[line.step - 1].arguments.get("content", content))
        if isinstance(line, RunLine | EndLine | OutcomeLine):
            line = line.model_copy(update={"snapshot": snapshot(content)})
        lines.append(line)
    store.commit()
    grade = GradeRecord(step=0, valid=True, score=10.0 * epoch, normalised=0.5, success=True)
    return write_run(out, made_record(epoch=epoch), lines, grade)


def test_a_run_at_a_glance_fits_80_columns(tmp_path: Path) -> None:
    generate_runs(tmp_path / "out", epochs=1, tasks=1, agents=1)
    [run] = run_directories(tmp_path / "out")
    shown = typed("runs", "show", run.path)
    assert shown.startswith("house-price (mini): research with lab/large, run 1\n")
    assert "outcome: submitted" in shown and "score: accuracy 0." in shown
    assert "Execute Script" in shown and "graded 0." in shown
    table = shown[shown.index("step  action") :]
    assert max(map(len, table.splitlines())) <= 80
    steps = json.loads(typed("runs", "show", run.path, "--json"))["steps"]
    assert len(steps) == sum(line[:4].strip().isdecimal() for line in table.splitlines())


def test_a_runs_rung_and_its_way_to_the_ceiling_are_shown(tmp_path: Path) -> None:
    grade = GradeRecord(
        step=0, valid=True, score=0.9, success=True, rung="matches the reference",
        ceiling_share=0.625, rung_note="near the ceiling is not awarded: no standard error",
    )  # fmt: skip
    run = write_run(tmp_path / "out", made_record(), list(made_lines(READ)), grade)
    shown = typed("runs", "show", run.path)
    assert "rung: matches the reference, 62.5 % of the way from floor to ceiling\n" in shown
    assert "  near the ceiling is not awarded: no standard error\n" in shown
    known = json.loads(typed("runs", "show", run.path, "--json"))["summary"]["result"]["grade"]
    assert (known["rung"], known["ceiling_share"]) == ("matches the reference", 0.625)


def test_rules_that_nothing_enforces_are_named_in_every_form(tmp_path: Path) -> None:
    record = made_record(unenforced_rules={"no algorithm is coded by hand": "no"})
    grade = GradeRecord(step=0, valid=True, score=0.9)
    run = write_run(tmp_path / "out", record, list(made_lines(READ)), grade)
    named = "nothing enforces: no algorithm is coded by hand"
    assert f"unenforced rules: {named}\n" in typed("runs", "show", run.path)
    shown = json.loads(typed("runs", "show", run.path, "--json"))["summary"]["result"]["record"]
    assert shown["disclosure"]["unenforced_rules"] == {"no algorithm is coded by hand": "no"}
    typed("report", tmp_path / "out", "--csv", "--to", tmp_path / "report")
    tables = [file.read_text() for file in (tmp_path / "report").rglob("runs.csv")]
    assert [named in table for table in tables] == [True]
    pages = [file.read_text() for file in (tmp_path / "report").rglob("*.html")]
    assert any(named in page for page in pages)


def test_profile_and_doubts_about_the_data_are_shown_as_in_the_report(tmp_path: Path) -> None:
    differences = ("train.csv has 9 rows instead of 1,460", "test.csv is missing")
    facts: dict[str, Any] = {"tier": "full", "profile": "cpu", "draw": None, "draw_policy": None}
    accepted = made_record(**facts, data_verified=False, data_differences=differences)
    run = write_run(tmp_path / "accepted", accepted, list(made_lines(READ)), None)
    shown = typed("runs", "show", run.path)
    assert re.match(r"[\w-]+ \(full, cpu profile\): ", shown)
    named = f"not the official data: {'; '.join(differences)}"
    assert f"note: data unverified\nnote: {named}\n" in shown
    typed("report", tmp_path / "accepted", "--csv", "--to", tmp_path / "report")
    [table] = [file.read_text() for file in (tmp_path / "report").rglob("cells.csv")]
    assert named in table
    official = made_record(**facts, data_verified=True)
    run = write_run(tmp_path / "official", official, list(made_lines(READ)), None)
    shown = typed("runs", "show", run.path)
    assert "full, cpu profile" in shown and "data" not in shown


def test_it_is_readable_on_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = MadeStep(
        said="-",
        action="Python REPL",
        arguments={"command": "\x1b[31mred\nmore"},
        observed="\x1b]0;title\x07\nvalidation MAE=12",
    )
    run = made_run(tmp_path / "out", 1, READ, hostile)
    monkeypatch.setenv("COLUMNS", "40")
    shown = typed("runs", "show", run.path)
    table = shown[shown.index("step  action") :]
    assert max(map(len, table.splitlines())) <= 40
    assert "Read File" in table and "train.py" in table and "MAE 12.00" in table
    assert table.count("…") == 1 and "findings" not in table
    assert "⟨U+001B⟩[3" in table
    assert "⟨U+001B⟩]0;title⟨U+0007⟩" in typed("runs", "show", run.path, "--step", 2)
    assert "\x1b" not in shown + typed("runs", "show", run.path, "--step", 2)


def test_one_step_is_shown_whole(tmp_path: Path) -> None:
    run = made_run(tmp_path / "out", 1, READ, write("EPOCHS = 2\n" + "x = 1\n" * 5000))
    assert "[bold]EPOCHS = 1[/bold]" in typed("runs", "show", run.path, "--step", 1)
    shown = typed("runs", "show", run.path, "--step", 2)
    assert shown.startswith("step 2: Write File train.py\nok; took 1.0 s")
    assert "- EPOCHS = 1\n+ EPOCHS = 2\n" in shown
    assert shown.count("+ x = 1\n") == 5000
    assert "1. write EPOCHS = 2" in shown
    step = json.loads(typed("runs", "show", run.path, "--step", 2, "--json"))
    assert (step["n"], step["observation"]["head"]) == (2, "written")
    with pytest.raises(UsageError, match="no such step; its steps are 1 to 2"):
        typed("runs", "show", run.path, "--step", 3)


def test_two_runs_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = MadeStep(said="done", action="Final Answer", arguments={"final_answer": "done"})
    first = made_run(tmp_path / "one", 1, READ, write("EPOCHS = 2\n"), READ, done)
    second = made_run(tmp_path / "two", 2, READ, write("EPOCHS = 3\n"), done)
    shown = typed("runs", "diff", first.path, second.path)
    assert "the first action is the same; they diverge at step 2" in shown
    assert shown.count("- EPOCHS = 2\n+ EPOCHS = 3\n") == 2
    assert "where they diverge: content, from A to B" in shown
    assert "- 1. write EPOCHS = 2\n+ 1. write EPOCHS = 3\n" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["score", "10.00", "20.00"] in lines

    values = json.loads(typed("runs", "diff", first.path, second.path, "--json"))
    assert [pair["kind"] for pair in values["actions"]] == [
        "same", "other arguments", "only first", "same",
    ]  # fmt: skip
    assert [file["path"] for file in values["code"]["files"]] == ["train.py"]
    with pytest.raises(UsageError, match="are the same run"):
        typed("runs", "diff", first.path, first.path)
    monkeypatch.setenv("COLUMNS", "120")
    wide = [line.split() for line in typed("runs", "diff", first.path, second.path).splitlines()]
    assert wide.count(["-", "EPOCHS", "=", "2", "+", "EPOCHS", "=", "3"]) == 2


def test_steps_that_are_most_alike_stand_beside_each_other(tmp_path: Path) -> None:
    def step(action: str, argument: str, observed: str = "") -> MadeStep:
        return MadeStep(
            said="-", action=action, arguments={"script_name": argument}, observed=observed
        )

    train = step("Execute Script", "train.py", "validation MAE=1.5")
    first = made_run(tmp_path / "one", 1, READ, train, step("Final Answer", "long\nago"))
    second = made_run(
        tmp_path / "two", 2,
        step("List Files", "."), step("Execute Script", "train.py", "validation MAE=2.5"),
        step("Execute Script", "other.py"), step("Final Answer", "other"),
    )  # fmt: skip
    shown = typed("runs", "diff", first.path, second.path)
    table = shown[shown.index("they diverge at step 1") : shown.index("= same")].splitlines()
    assert [" ".join(line.split()) for line in table[2:]] == [
        "1 Read File train.py ≠ 1 List Files .",
        "2 Execute Script train.py → MAE 1.500 =* 2 → MAE 2.500",
        "> 3 Execute Script other.py",
        "3 Final Answer long … → graded 10.00 ~ 4 Final Answer other → graded 20.00",
    ]


def test_a_path_that_is_no_run_is_answered_with_what_is_there(tmp_path: Path) -> None:
    run = made_run(tmp_path / "out", 1, READ)
    assert typed("runs", "show", run.journal) == typed("runs", "show", run.path)
    for path, hint in (
        (tmp_path / "out", f"it contains 1 run; name one, e.g. {run.path}"),
        (run.path.parent, f"it contains 1 run; name one, e.g. {run.path}"),
        (run.path.parents[4] / "house-prise" / "mini", "did you mean house-price?"),
        (run.path.with_name("7"), f"there is no 7 in {run.path.parent}, only 1"),
        (tmp_path / "x", "expected OUT/runs/TASK/TIER/AGENT/MODEL/EPOCH with run.json"),
        (tmp_path / "home", "expected OUT/runs"),
    ):
        with pytest.raises(UsageError, match=re.escape(hint)):
            typed("runs", "show", path)


def test_a_step_of_a_run_that_somebody_works_on_is_under_way(tmp_path: Path) -> None:
    run = made_run(tmp_path / "out", 1, READ, READ)
    lines = run.journal.read_text().splitlines(keepends=True)
    run.journal.write_text("".join(lines[:-2]))
    assert "2  Read File train.py      -  interrupted" in typed("runs", "show", run.path)
    with run.hold():
        shown = typed("runs", "show", run.path)
        assert f"in progress: process {os.getpid()} of " in shown
        assert "2  Read File train.py      -  under way" in shown
        assert "the action is under way" in typed("runs", "show", run.path, "--step", 2)
    assert "at work" not in typed("runs", "show", run.path)
