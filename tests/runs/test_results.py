"""Runs whose files somebody damaged: what is said instead of their results."""

from pathlib import Path

import pytest
from generated_runs import write_run
from made_journals import MadeStep, made_lines
from made_records import made_record

from mlagentbench.cli.runs.gc import free_space
from mlagentbench.errors import UsageError
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import read_files, read_record


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return write_run(tmp_path / "out", made_record(), made_lines(MadeStep(said="-")), None)


def test_a_record_that_is_a_list_is_named_without_an_empty_field(run: RunDirectory) -> None:
    run.run_json.write_text("[]")
    with pytest.raises(UsageError, match="not a run's record: it should be a valid dict"):
        read_record(run)


def test_a_record_of_a_development_version_says_to_run_again(run: RunDirectory) -> None:
    run.run_json.write_text('{"v": 2, "disclosure": {"mini_seed": "public"}}')
    with pytest.raises(UsageError, match=r"made by a development version, .*; run it again"):
        read_record(run)


def test_a_directory_in_place_of_the_journal_is_named(run: RunDirectory) -> None:
    run.journal.unlink()
    run.journal.mkdir()
    with pytest.raises(UsageError, match="is a directory; copy the file"):
        read_files(run)
    run.objects.mkdir()
    with pytest.raises(UsageError, match=r"is a directory.*nothing was removed"):
        free_space(run.out, dry_run=True, workspaces=False)


def test_lines_that_cannot_be_read_in_their_order_name_the_fault_of_the_chain(
    run: RunDirectory,
) -> None:
    lines = run.journal.read_bytes().splitlines(keepends=True)
    lines[2], lines[3] = lines[3], lines[2]
    run.journal.write_bytes(b"".join(lines))
    both = r"step 1 ends but never began; journal.jsonl was altered: line 3 does not follow"
    with pytest.raises(UsageError, match=both):
        read_files(run)
