"""`mlagentbench runs gc`: which directories it takes, and what it says."""

import os
import sys
from pathlib import Path

import pytest
from small_disk import on_small_disk

from mlagentbench.cli.runs.gc import free_space, print_freed
from mlagentbench.errors import UsageError
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.lease import RunHeld
from mlagentbench.runs.objects.object_store import ObjectStore


def test_it_takes_only_an_out_that_nobody_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        UsageError, match=f"{tmp_path} is not an --out directory: runs and objects not found"
    ):
        free_space(tmp_path, dry_run=False, workspaces=False)
    assert not list(tmp_path.iterdir())
    (tmp_path / "objects").mkdir()
    monkeypatch.setenv("MLAGENTBENCH_LEASE_RENEWAL", "0.1")
    run = RunDirectory(tmp_path, Path("runs/t/mini/nop-0/none/1"))
    with run.hold(), pytest.raises(RunHeld, match=f"is being written by process {os.getpid()}"):
        free_space(tmp_path, dry_run=False, workspaces=False)


def test_it_says_what_went_and_what_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs").mkdir()
    store = ObjectStore(tmp_path / "objects")
    store.put(b"x" * 4096)
    store.commit()
    store.close()
    print_freed(free_space(tmp_path, dry_run=True, workspaces=True), as_json=False)
    print_freed(free_space(tmp_path, dry_run=False, workspaces=True), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "would remove 1 object (4.1 kB) that no run refers to",
        "0 objects (0 bytes) stay",
        "removed 1 object (4.1 kB) that no run refers to",
        "0 objects (0 bytes) stay",
    ]


FILL_AND_FREE = """
import sys
from pathlib import Path
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.fs import write_atomically
from mlagentbench.cli.runs.gc import free_space

out = Path(sys.argv[1])
(out / "runs").mkdir()
store = ObjectStore(out / "objects")
store.put(b"x" * 2_000_000)
store.commit()
store.close()
with (out / "full").open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
try:
    write_atomically(out / "page.html", b"a page")
except OSError as error:
    print(f"{error.filename} did not fit")
print(free_space(out, dry_run=False, workspaces=True).objects.number, "object went")
"""


def test_it_frees_a_disk_on_which_nothing_more_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    disk = tmp_path / "disk"
    done = on_small_disk(disk, [sys.executable, "-c", FILL_AND_FREE, str(disk)])
    expected = f"{disk}/page.html did not fit\n1 object went\nexit 0\n"
    assert done.stdout.startswith(expected), done.stdout + done.stderr
