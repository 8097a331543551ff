"""Which steps `mlagentbench runs regrade --steps` stands for."""

from pathlib import Path

import pytest
from generated_runs import write_run
from made_journals import MadeStep, made_lines
from made_records import made_record
from number_task import write_number_task

from mlagentbench.errors import RunFailed
from mlagentbench.grading.regrade import score_runs, selected_steps
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EndLine, RunLine
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, put_tree


def run_with(tmp_path: Path, *workspaces: dict[str, str]) -> RunDirectory:
    """A run whose workspace was the first of these at its start, then one after each step."""
    out = tmp_path / "out"
    store = ObjectStore(out / "objects")
    ids = [
        put_tree(
            store,
            [
                Entry(name, "file", 0o644, store.put(text.encode())).line()
                for name, text in sorted(files.items())
            ],
        )
        for files in workspaces
    ]
    store.commit()
    lines = []
    for line in made_lines(*(MadeStep(said="-") for _ in workspaces[1:])):
        if isinstance(line, RunLine):
            line = line.model_copy(update={"snapshot": ids[0]})
        if isinstance(line, EndLine):
            line = line.model_copy(update={"snapshot": ids[line.step]})
        lines.append(line)
    record = made_record().model_copy(update={"task_path": str(write_number_task(tmp_path))})
    return write_run(out, record, lines, None)


def submitted(answer: str, **files: str) -> dict[str, str]:
    return {"submission.csv": answer} | files


def test_changed_are_the_steps_that_changed_what_is_graded_and_the_last(tmp_path: Path) -> None:
    run = run_with(
        tmp_path, {}, {"train.py": "1"}, submitted("a"), submitted("a", notes="-"),
        submitted("b"), {}, submitted("b"), submitted("b"),
    )  # fmt: skip
    assert selected_steps(run, "changed") == [2, 4, 5, 6, 7]
    assert selected_steps(run, "all") == list(range(8))
    assert selected_steps(run, "every:3") == [0, 3, 6, 7]


def test_what_the_starter_already_had_is_no_change(tmp_path: Path) -> None:
    run = run_with(tmp_path, submitted("a"), submitted("a"), submitted("a"))
    assert selected_steps(run, "changed") == [2]


def test_without_its_snapshots_a_run_cannot_be_graded(tmp_path: Path) -> None:
    run = run_with(tmp_path, submitted("a"), submitted("b"))
    for file in run.objects.rglob("*"):
        if file.is_file():
            file.unlink()
    with pytest.raises(RunFailed, match="is missing; copy it from a backup of"):
        selected_steps(run, "changed")


def test_an_altered_run_is_not_graded(tmp_path: Path) -> None:
    run = run_with(tmp_path, {}, submitted("a"))
    run.journal.write_bytes(run.journal.read_bytes().replace(b'"-"', b'"+"'))
    [regraded] = score_runs([run.path], "last", lambda _: None)
    assert regraded.grades == ()
    assert "does not match its own hash: the file was altered" in str(regraded.failure)
