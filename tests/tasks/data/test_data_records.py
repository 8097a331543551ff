"""A seeded choice among many records: fetched file by file, or taken from a tree or an archive."""

import asyncio
import json
import shutil
import stat
import sys
import zipfile
from pathlib import Path

import pytest
from small_tasks import WriteTask, plain_call

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import bytes_needed
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

pytestmark = pytest.mark.slow

SOURCE = """
[[sources]]
kind = "kaggle"
ref = "large-competition"
files = [{ path = "train_metadata.json" }]

[[sources.records]]
listing = "train_metadata.json"
files = ["train/{record}/a.npy", "train/{record}/b.npy"]
budget = "2KB"
"""
PREPARE = """
import json
def prepare(raw, public, private, rng):
    names = sorted(str(path.relative_to(raw)) for path in raw.rglob("*.npy"))
    (public / "names.json").write_text(json.dumps(names))
"""
RECORDS = [str(10**18 + 7 * n) for n in range(40)]
IN_A_RECORD = 150
ENOUGH = 14
"""So many records of 150 bytes are the first to have 2,000."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The official tree: records of 100 and 50 bytes, and files that nobody asked for."""
    root = tmp_path / "official"
    for record in RECORDS:
        folder = root / "train" / record
        folder.mkdir(parents=True)
        (folder / "a.npy").write_bytes(b"a" * 100)
        (folder / "b.npy").write_bytes(b"b" * 50)
        (folder / "large.npy").write_bytes(b"c" * 5000)
    listing = [{"record_id": record, "timestamp": 1.5} for record in RECORDS]
    (root / "train_metadata.json").write_text(json.dumps(listing))
    return root


class Heard(Silent):
    """Remembers what is said."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def say(self, text: str) -> None:
        self.lines.append(text)


def make(
    task: Task, env: PythonEnv, directory: Path | None = None, heard: list[str] | None = None
) -> PreparedData:
    progress = Heard([] if heard is None else heard)
    return asyncio.run(
        prepare(
            task, "full", call=plain_call, python_env=env, from_dir=directory, progress=progress
        )
    )


def chosen(data: PreparedData) -> list[str]:
    return json.loads((data.public / "names.json").read_text())


@pytest.fixture
def client(tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `kaggle` on PATH that serves the tree and notes what it was asked for."""
    directory = tmp_path / "bin"
    directory.mkdir()
    asked = tmp_path / "asked.txt"
    program = directory / "kaggle"
    program.write_text(
        f"#!{sys.executable}\nimport shutil, sys\nfrom pathlib import Path\n"
        "name, folder = sys.argv[sys.argv.index('-f') + 1], sys.argv[sys.argv.index('-p') + 1]\n"
        f"open({str(asked)!r}, 'a').write(name + '\\n')\n"
        f"source = Path({str(tree)!r}, name)\n"
        "if not source.is_file():\n    sys.exit('404 Client Error: Not Found for url')\n"
        "shutil.copyfile(source, Path(folder, source.name))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(directory))
    return asked


def test_only_the_chosen_records_are_fetched(
    write_task: WriteTask, this_env: PythonEnv, client: Path
) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    data = make(task, this_env)
    names = chosen(data)
    assert len(names) == 2 * ENOUGH
    assert sorted(client.read_text().split()) == sorted(["train_metadata.json", *names])
    taken = {name.split("/")[1] for name in names}
    assert len(taken) == ENOUGH and taken < set(RECORDS) and taken != set(RECORDS[:ENOUGH])
    assert data.unverified == (
        "train_metadata.json",
        "train/{record}/a.npy",
        "train/{record}/b.npy",
    )
    assert bytes_needed(task) == 3 * 2000


def test_an_interrupted_choice_is_gone_on_with(
    write_task: WriteTask, this_env: PythonEnv, client: Path, tree: Path
) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    files = {path: path.read_bytes() for path in tree.rglob("b.npy")}
    for file in files:
        file.unlink()
    with pytest.raises(UsageError, match=r"Kaggle has no train/\d+/b.npy in large-competition"):
        make(task, this_env)
    for file, contents in files.items():
        file.write_bytes(contents)
    make(task, this_env)
    asked = client.read_text().split()
    assert len(asked) == 2 + 2 * ENOUGH  # the one file that was not there was asked for twice


@pytest.mark.parametrize("form", ["tree", "folder", "archive"])
def test_own_files_give_the_same_choice(
    write_task: WriteTask,
    this_env: PythonEnv,
    client: Path,
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    fetched = make(task, this_env)
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "second"))
    own = tmp_path / "own"
    if form == "tree":
        own = tree
    elif form == "folder":
        own.mkdir()
        tree.rename(own / "unpacked")
    else:
        own.mkdir()
        with zipfile.ZipFile(own / "large-competition.zip", "w") as archive:
            for path in sorted(tree.rglob("*")):
                archive.write(path, path.relative_to(tree))
    assert make(task, this_env, own).hash == fetched.hash


def test_a_missing_file_of_a_chosen_record_is_named(
    write_task: WriteTask,
    this_env: PythonEnv,
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    names = chosen(make(task, this_env, tree))
    for record in RECORDS:
        if f"train/{record}/b.npy" not in names:
            (tree / "train" / record / "b.npy").unlink()
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "second"))
    assert chosen(make(task, this_env, tree)) == names
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "third"))
    (tree / names[-1]).unlink()
    with pytest.raises(UsageError, match=f"1 of 14 records .* not found: {names[-1]}"):
        make(task, this_env, tree)


def test_all_missing_records_are_counted_before_any_is_copied(
    write_task: WriteTask, this_env: PythonEnv, tree: Path, tmp_path: Path
) -> None:
    second = SOURCE[SOURCE.index("[[sources.records]]") :].replace("train", "validation")
    files = 'files = [{ path = "train_metadata.json" }, { path = "validation_metadata.json" }]'
    sources = SOURCE.replace('files = [{ path = "train_metadata.json" }]', files) + second
    task = write_task(sources=sources, prepare_py=PREPARE)
    shutil.copytree(tree / "train", tree / "validation")
    shutil.copyfile(tree / "train_metadata.json", tree / "validation_metadata.json")
    taken = {record.split("/")[1] for record in chosen(make(task, this_env, tree))}
    gone = sorted(taken)[:3]
    for record in gone:
        shutil.rmtree(tree / "train" / record)
        (tree / "validation" / record / "b.npy").unlink()
    heard: list[str] = []
    with pytest.raises(UsageError) as raised:
        make(task, this_env, tree, heard)
    said = str(raised.value)
    assert f"small-task: not all chosen records are in {tree}" in said
    assert "train_metadata.json: 3 of 14 records are missing or incomplete; not found: " in said
    assert "validation_metadata.json: 3 of 14 records are missing or incomplete" in said
    assert said.count(".npy") == 4 + 3 and ", ...\n" in said
    assert not any(" records of " in line for line in heard)


@pytest.mark.parametrize(
    ("listing", "reason"),
    [
        ('{"1": {}}', "expected a JSON list of objects with a record_id"),
        ("not json", "expected a JSON list of objects with a record_id"),
        ('[{"record_id": "../../etc"}]', "'../../etc' is not the name of a record"),
        ('[{"record_id": "5"}]', "not found: train/5/a.npy, train/5/b.npy"),
    ],
)
def test_wrong_listings_are_refused(
    write_task: WriteTask, this_env: PythonEnv, tree: Path, listing: str, reason: str
) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    (tree / "train_metadata.json").write_text(listing)
    with pytest.raises(UsageError) as raised:
        make(task, this_env, tree)
    assert reason in str(raised.value)
