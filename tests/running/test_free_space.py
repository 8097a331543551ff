"""`mlagentbench gc`: which directories it takes, and what it says."""

from pathlib import Path

import pytest

from mlagentbench.environment.object_store import ObjectStore
from mlagentbench.errors import UsageError
from mlagentbench.report.freed_page import print_freed, size_text
from mlagentbench.running.free_space import free_space
from mlagentbench.running.output import own_output


def test_it_takes_only_an_out_that_nobody_uses(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=f"{tmp_path} is no --out directory: .* no runs and no obj"
    ):
        free_space(tmp_path, dry_run=False, workspaces=False)
    assert not list(tmp_path.iterdir())
    (tmp_path / "objects").mkdir()
    with own_output(tmp_path), pytest.raises(UsageError, match="is in use by process"):
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


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (1_000_000, "1.0 MB"),
        (2_500_000, "2.5 MB"),
        (7e16, "70000.0 TB"),
    ],
)
def test_sizes_are_short(size: float, text: str) -> None:
    assert size_text(size) == text
