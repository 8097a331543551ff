"""Under which seed each step of a branched run is replayed."""

from pathlib import Path
from typing import Any

import pytest
from made_records import made_record

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.launch.replay.source import Lineage, read_source
from mlagentbench.records import BranchPoint, RunRecord
from mlagentbench.runs.directory import RunDirectory


def written(out: Path, epoch: int, seed: int, **fields: Any) -> tuple[RunDirectory, RunRecord]:
    record = made_record(epoch=epoch).model_copy(update={"seed": seed, **fields})
    run = RunDirectory(out, Path(record.directory("0" * 8)))
    write_atomically(run.run_json, record.model_dump_json().encode())
    return run, record


def point(run: RunDirectory, step: int, edited: str | None = None) -> BranchPoint:
    return BranchPoint(run=run.relative.as_posix(), step=step, edited=edited)


def test_shared_steps_have_the_seeds_of_their_runs(tmp_path: Path) -> None:
    root, _ = written(tmp_path, 1, 10)
    middle, _ = written(tmp_path, 2, 20, branched_from=point(root, 2, "0" * 64))
    leaf, record = written(tmp_path, 3, 30, branched_from=point(middle, 4))
    lineage = Lineage(leaf, record)
    assert [lineage.seed_of(step) for step in range(1, 7)] == [10, 10, 20, 20, 30, 30]
    assert lineage.edited == {2}

    root.run_json.unlink()
    orphan = Lineage(leaf, record)
    assert [orphan.seed_of(step) for step in range(1, 6)] == [None, None, 20, 20, 30]


def test_a_run_that_was_imported_is_not_replayed(tmp_path: Path) -> None:
    run, _ = written(tmp_path, 1, 1, origin="legacy")
    with pytest.raises(UsageError, match="whose actions differ"):
        read_source(run)
