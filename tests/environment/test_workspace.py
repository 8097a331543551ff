"""Which paths are the agent's: decided once, whatever the spelling."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlagentbench.environment.workspace import PathRefused, Workspace
from mlagentbench.errors import ActionError, UsageError
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.task import Task, load_folder


@pytest.fixture
def workspace(tmp_path: Path, task: Task, data: PreparedData) -> Workspace:
    made = Workspace(task, data.public, tmp_path / "work")
    made.lay_out()
    (tmp_path / "work2").mkdir()
    links = {
        "to-etc": "/etc",
        "to-passwd": "/etc/passwd",
        "up": "..",
        "up-twice": "notes/../../work2",
        "to-notes": "notes",
        "absolute": "/workspace/notes",
        "to-data": "train.csv",
        "to-image": "images/one.txt",
        "to-tmp": "/tmp/somewhere",
        "loop": "loop",
        "around": "../workspace/notes",
        "chain": "to-notes/../to-etc",
    }
    for name, target in links.items():
        (made.directory / name).symlink_to(target)
    (made.directory / "notes" / "out").symlink_to("../../work2")
    return made


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("train.py", "train.py"),
        ("./train.py", "train.py"),
        (".", "."),
        ("/workspace", "."),
        ("/workspace/", "."),
        ("//workspace//train.py", "train.py"),
        ("notes/../train.py", "train.py"),
        ("new/deep/file.txt", "new/deep/file.txt"),
        ("../workspace/train.py", "train.py"),
        ("to-notes/ideas.txt", "notes/ideas.txt"),
        ("absolute/ideas.txt", "notes/ideas.txt"),
        ("around/ideas.txt", "notes/ideas.txt"),
        ("to-notes/../train.py", "train.py"),
        ("images/one.txt", "images/one.txt"),
        ("to-data", "train.csv"),
        ("..train.py", "..train.py"),
        (" spaced ", " spaced "),
        ("-rf", "-rf"),
    ],
)
def test_paths_inside_are_found(workspace: Workspace, path: str, found: str) -> None:
    assert workspace.resolve(path) == found


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../work2/file",
        "../workspace2/file",
        "/workspace2/file",
        "/workspace/../workspace2",
        "/workspace/../etc/passwd",
        "/",
        "/etc/passwd",
        "/tmp/file",
        "notes/../../etc/passwd",
        "a/b/../../../etc",
        "to-etc/passwd",
        "to-passwd",
        "up/work2/file",
        "up-twice/file",
        "to-tmp",
        "notes/out/file",
        "to-notes/out/file",
        "chain/passwd",
        "~/../../etc/passwd",
    ],
)
def test_paths_outside_are_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(PathRefused, match="outside of the workspace"):
        workspace.resolve(path)


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "loop", "loop/file"])
def test_what_is_no_path_is_an_error(workspace: Workspace, path: str) -> None:
    with pytest.raises(ActionError) as error:
        workspace.resolve(path)
    assert not isinstance(error.value, PathRefused)


@pytest.mark.parametrize(
    "path",
    [
        "train.csv",
        "./train.csv",
        "/workspace/train.csv",
        "notes/../train.csv",
        "to-data",
        "images",
        "images/one.txt",
        "images/new.txt",
        "to-image",
        "fixed.py",
    ],
)
def test_the_tasks_own_files_cannot_be_written(workspace: Workspace, path: str) -> None:
    with pytest.raises(PathRefused, match="is read-only"):
        workspace.resolve_for_writing(path)


@pytest.mark.parametrize("path", ["train.py", "train.csv.bak", "notes/train.csv", "to-notes/x"])
def test_other_files_can_be_written(workspace: Workspace, path: str) -> None:
    workspace.resolve_for_writing(path)


def test_starter_files_are_copied_and_protected_ones_bound(
    workspace: Workspace, task: Task, data: PreparedData
) -> None:
    names = {path.name for path in workspace.directory.iterdir() if not path.is_symlink()}
    assert names == {"train.py", "notes"}
    assert {bind.target: bind.source for bind in workspace.binds()} == {
        "/workspace/train.csv": data.public / "train.csv",
        "/workspace/test.csv": data.public / "test.csv",
        "/workspace/images": data.public / "images",
        "/workspace/fixed.py": task.starter / "fixed.py",
    }
    assert not any(bind.writable for bind in workspace.binds())


def test_laying_out_again_starts_from_nothing(workspace: Workspace) -> None:
    (workspace.directory / "rubbish").write_text("x")
    workspace.lay_out()
    assert sorted(path.name for path in workspace.directory.iterdir()) == ["notes", "train.py"]


def test_a_read_only_path_inside_a_folder_is_refused(task: Task, data: PreparedData) -> None:
    file = task.folder / "task.toml"
    file.write_text(file.read_text().replace('"fixed.py"', '"notes/ideas.txt"'))
    with pytest.raises(UsageError, match=r"notes/ideas.txt.*is inside a folder"):
        Workspace(load_folder(task.folder), data.public, Path(os.devnull))


@pytest.mark.slow
def test_it_is_laid_out_anew_whatever_is_there(workspace: Workspace) -> None:
    subprocess.run(
        [sys.executable, "-c", "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"],
        cwd=workspace.directory,
        check=True,
    )
    workspace.directory.chmod(0)
    workspace.lay_out()
    assert sorted(path.name for path in workspace.directory.iterdir()) == ["notes", "train.py"]
