"""Full and read-only disks: named by whatever wanted to write, nothing half-written, then on."""

import os
import sys
from pathlib import Path

import pytest
from small_disk import on_small_disk

PROGRAM = Path(__file__).with_name("disk_writes.py")
KINDS = {"snapshot", "object", "commit", "journal", "grades", "run.json", "outputs", "restore"}
REASONS = {
    "full": "No space left on device; free some space, then run the same command again",
    "read-only": "Read-only file system; make it writable, then run the same command again",
}
ADVISED_BY_THE_COMMAND_LINE = {"full run.json", "read-only run.json", "read-only journal"}


def test_every_kind_of_write_fails_whole_and_then_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    disk = tmp_path / "disk"
    done = on_small_disk(disk, [sys.executable, str(PROGRAM), str(disk), str(elsewhere)])
    assert "and it goes on\nexit 0" in done.stdout, done.stdout + done.stderr
    said = done.stdout.partition("and it goes on")[0].splitlines()
    failures = dict(line.split(": ", 1) for line in said)
    assert len(failures) == len(said)
    assert failures.keys() == {f"{where} {kind}" for where in REASONS for kind in KINDS}
    for kind, text in failures.items():
        reason = REASONS[kind.split()[0]]
        if kind in ADVISED_BY_THE_COMMAND_LINE:
            assert text.endswith(f": {reason.partition(';')[0]}")
        else:
            assert text.startswith("harness: cannot ")
            assert str(disk) in text
            assert text.endswith(reason)
