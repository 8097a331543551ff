"""The full tier from files that the person already has."""

import asyncio
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from small_tasks import WriteTask, plain_call

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.preparation import (
    PreparedData,
    find_prepared,
    prepare,
)
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.make_ready import prepare_tasks
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

TRAIN = b"id,y\n" + b"".join(b"%d,%d\n" % (k, k * k) for k in range(20))
MD5 = hashlib.md5(TRAIN).hexdigest()


def kaggle_source(train: str = f'md5 = "{MD5}", bytes = {len(TRAIN)}') -> str:
    return (
        '[[sources]]\nkind = "kaggle"\nref = "small-competition"\n'
        f'files = [{{ path = "train.csv", {train} }}, '
        '{ path = "notes/about.txt", optional = true }]\n'
    )


def make(
    task: Task, env: PythonEnv, directory: Path, accept_unverified: bool = False
) -> PreparedData:
    return asyncio.run(
        prepare(
            task,
            "full",
            call=plain_call,
            python_env=env,
            from_dir=directory,
            accept_unverified=accept_unverified,
        )
    )


def in_zip(file: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)


def in_tar(file: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for name, contents in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    directory = tmp_path / "own"
    directory.mkdir()
    return directory


def layout(own: Path, kind: str) -> None:
    if kind == "plain":
        (own / "train.csv").write_bytes(TRAIN)
    elif kind == "folder":
        (own / "unpacked").mkdir()
        (own / "unpacked" / "train.csv").write_bytes(TRAIN)
    elif kind == "zip":
        in_zip(own / "small-competition.zip", {"train.csv": TRAIN, "other.csv": b"1"})
    elif kind == "zip with a folder":
        in_zip(own / "train.csv.ZIP", {"data/train.csv": TRAIN})
    else:
        in_tar(own / "all.tar.gz", {"data/train.csv": TRAIN, "deep/er/train.csv": b"1"})


@pytest.mark.parametrize("kind", ["plain", "folder", "zip", "zip with a folder", "tar"])
def test_found_where_people_have_them(
    write_task: WriteTask, this_env: PythonEnv, own: Path, kind: str
) -> None:
    task = write_task(sources=kaggle_source())
    layout(own, kind)
    before = {path: path.stat().st_mtime_ns for path in [own, *own.rglob("*")]}
    data = make(task, this_env, own)
    assert data.verified and data.unverified == () and data.draw == "public"
    assert {path: path.stat().st_mtime_ns for path in [own, *own.rglob("*")]} == before
    rows = (data.public / "train.csv").read_text() + (data.private / "answers.csv").read_text()
    assert all(f"{k},{k * k}" in rows for k in range(20))


def test_all_ways_give_the_same_data(
    write_task: WriteTask,
    this_env: PythonEnv,
    own: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = write_task(sources=kaggle_source())
    layout(own, "plain")
    first = make(task, this_env, own)
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "second"))
    (own / "train.csv").unlink()
    layout(own, "tar")
    assert make(task, this_env, own).hash == first.hash


def test_missing_file(write_task: WriteTask, this_env: PythonEnv, own: Path) -> None:
    task = write_task(sources=kaggle_source())
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own)
    assert str(raised.value) == (
        f"small-task: train.csv not found in {own}; expected the files of Kaggle's "
        f"small-competition (see: mlagentbench tasks show {task.address})\n  looked in: {own}"
    )
    with pytest.raises(UsageError, match="no such directory"):
        make(task, this_env, own / "nowhere")


def test_optional_file_is_used_when_it_is_there(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    task = write_task(
        sources=kaggle_source(),
        prepare_py="""
        import shutil
        def prepare(raw, public, private, rng):
            shutil.copytree(raw, public, dirs_exist_ok=True)
        """,
    )
    layout(own, "plain")
    (own / "notes").mkdir()
    (own / "notes" / "about.txt").write_text("hello")
    data = make(task, this_env, own)
    assert (data.public / "notes" / "about.txt").read_text() == "hello"
    assert data.unverified == ("notes/about.txt",) and not data.verified


ARCHIVE_SOURCE = """
[[sources]]
kind = "url"
ref = "https://example.org/photos.tar.gz"
[[sources.files]]
path = "photos.tar.gz"
md5 = "0123456789abcdef0123456789abcdef"
unpacked = [{ path = "photos/train", files = 1 }, { path = "photos/names.txt" }]
folders = ["pictures"]
[[sources]]
kind = "huggingface"
ref = "someone/tiny-model@0123abcd"
files = [{ path = "config.json" }]
"""
COPY_ALL = """
import shutil
def prepare(raw, public, private, rng):
    shutil.copytree(raw, public, dirs_exist_ok=True)
"""


def unpacked(own: Path) -> None:
    """An archive as tar leaves it, beside a clone of a model's repository."""
    (own / "photos/train/deep").mkdir(parents=True)
    (own / "photos/train/deep/1.png").write_bytes(b"one")
    (own / "photos/test").mkdir()
    (own / "photos/names.txt").write_text("a b")
    (own / "tiny-model").mkdir()
    (own / "tiny-model/config.json").write_text("{}")


def test_an_unpacked_archive_does_instead_of_it(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    unpacked(own)
    data = make(write_task(sources=ARCHIVE_SOURCE, prepare_py=COPY_ALL), this_env, own)
    files = sorted(path for path in data.public.rglob("*") if path.is_file())
    assert [str(file.relative_to(data.public)) for file in files] == [
        "config.json",
        "photos/names.txt",
        "photos/train/deep/1.png",
    ]
    assert data.unverified == ("photos/train", "photos/names.txt", "config.json")


def test_files_of_file_managers_are_not_counted_and_others_are_named(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    unpacked(own)
    (own / "photos/train/.DS_Store").write_bytes(b"x")
    (own / "photos/train/.thumbnails").mkdir()
    (own / "photos/train/.thumbnails/1.png").write_bytes(b"x")
    task = write_task(sources=ARCHIVE_SOURCE, prepare_py=COPY_ALL)
    data = make(task, this_env, own)
    assert [path.name for path in (data.public / "photos/train").iterdir()] == ["deep"]
    for name in ("a.png", "b.png", "notes.txt"):
        (own / "photos/train" / name).write_bytes(b"x")
    with pytest.raises(UsageError, match=r"4 files, expected 1; one too many may be notes\.txt"):
        make(task, this_env, own)


def test_the_top_folder_of_an_archive_can_be_named_itself(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    unpacked(own)
    (own / "tiny-model/config.json").rename(own / "photos/config.json")
    task = write_task(sources=ARCHIVE_SOURCE, prepare_py=COPY_ALL)
    data = make(task, this_env, own / "photos")
    assert (data.public / "photos/train/deep/1.png").read_bytes() == b"one"


def test_what_an_unpacked_archive_lacks_is_named(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    task = write_task(sources=ARCHIVE_SOURCE, prepare_py=COPY_ALL)
    unpacked(own)
    (own / "photos/names.txt").unlink()
    with pytest.raises(UsageError, match=f"photos/names.txt not found in {own}; expected"):
        make(task, this_env, own)
    (own / "photos").rename(own / "other")
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own / "tiny-model")
    assert str(raised.value) == (
        f"small-task: photos.tar.gz not found in {own / 'tiny-model'}; expected the files of "
        f"https://example.org/photos.tar.gz (see: mlagentbench tasks show {task.address})\n"
        f"  looked in: {own / 'tiny-model'}\n"
        "  or, instead of photos.tar.gz, what it unpacks to: photos/train, photos/names.txt, or "
        "the same in pictures/"
    )


def test_all_that_is_missing_is_named_at_once(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    in_zip(own / "some.zip", {"a.csv": b"1"})
    (own / "only").mkdir()
    with pytest.raises(UsageError) as raised:
        make(write_task(sources=ARCHIVE_SOURCE, prepare_py=COPY_ALL), this_env, own)
    said = str(raised.value)
    assert "photos.tar.gz, config.json not found in" in said
    assert "photos.tar.gz and of Hugging Face's someone/tiny-model@0123abcd" in said
    assert f"looked in: {own}, only/, some.zip" in said


@pytest.mark.parametrize("name", ["pictures", "photos"])
def test_other_names_of_the_top_folder_are_accepted(
    write_task: WriteTask, this_env: PythonEnv, own: Path, name: str
) -> None:
    unpacked(own)
    (own / "photos").rename(own / name)
    data = make(write_task(sources=ARCHIVE_SOURCE, prepare_py=COPY_ALL), this_env, own)
    assert (data.public / "photos/train/deep/1.png").read_bytes() == b"one"


def test_all_that_is_wrong_is_named_before_folders_are_copied(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    unpacked(own)
    sources = ARCHIVE_SOURCE.replace('"config.json" }', '"config.json", bytes = 99 }')
    sources = sources.replace('"photos/names.txt" }', f'"photos/names.txt", md5 = "{MD5}" }}')
    task = write_task(sources=sources.replace("files = 1", "files = 12500"), prepare_py=COPY_ALL)
    (own / "photos/train/deep/1.png").unlink()
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own)
    said = str(raised.value)
    for wrong in (
        "photos/train is not the folder of https://example.org/photos.tar.gz: 0 files, "
        "expected 12,500",
        "photos/names.txt is not the file of",
        "config.json is not the file of Hugging Face's someone/tiny-model@0123abcd: 2 bytes, "
        "expected 99",
    ):
        assert wrong in said
    data = make(task, this_env, own, accept_unverified=True)
    assert [text.partition(":")[0] for text in data.accepted] == [
        "photos/train", "config.json", "photos/names.txt",
    ]  # fmt: skip


def test_wrong_checksum_is_refused(
    write_task: WriteTask, this_env: PythonEnv, own: Path, home: Path
) -> None:
    task = write_task(sources=kaggle_source())
    changed = TRAIN.replace(b"0,0", b"0,1")
    (own / "train.csv").write_bytes(changed)
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own)
    assert MD5 in str(raised.value) and hashlib.md5(changed).hexdigest() in str(raised.value)
    assert "--accept-unverified" in str(raised.value)
    assert find_prepared(task, "full") is None
    assert list((home / "data/small-task/v1/full").iterdir()) == []


def test_accepted_data_say_so_and_are_not_taken_for_good(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    task = write_task(sources=kaggle_source())
    (own / "train.csv").write_bytes(TRAIN.replace(b"0,0", b"0,1"))
    accepted = make(task, this_env, own, accept_unverified=True)
    assert not accepted.verified and accepted.unverified == ("train.csv",)
    assert accepted.accepted[0].startswith("train.csv: md5 ")
    assert make(task, this_env, own, accept_unverified=True) == accepted
    with pytest.raises(UsageError, match="is not the file of Kaggle's small-competition"):
        make(task, this_env, own)
    assert find_prepared(task, "full") == accepted
    (own / "train.csv").write_bytes(TRAIN)
    good = make(task, this_env, own)
    assert good.verified and good.hash != accepted.hash
    assert find_prepared(task, "full") == good


@pytest.mark.parametrize(
    ("known", "wrong"),
    [
        (f"bytes = {len(TRAIN) + 1}", f"{len(TRAIN)} bytes, expected {len(TRAIN) + 1}"),
        (f'md5 = "{MD5}", sha256 = "{"0" * 64}"', f"sha256 {hashlib.sha256(TRAIN).hexdigest()}"),
    ],
)
def test_size_and_sha256_are_checked_too(
    write_task: WriteTask, this_env: PythonEnv, own: Path, known: str, wrong: str
) -> None:
    task = write_task(sources=kaggle_source(known))
    layout(own, "zip")
    with pytest.raises(UsageError, match=wrong):
        make(task, this_env, own)


def test_without_a_checksum_data_are_unverified(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    task = write_task(sources=kaggle_source(f"bytes = {len(TRAIN)}"))
    layout(own, "plain")
    data = make(task, this_env, own)
    assert not data.verified and data.unverified == ("train.csv",) and data.accepted == ()
    assert make(task, this_env, own) == data


@pytest.mark.parametrize(
    ("known", "said"),
    [(f'md5 = "{MD5}"', "verifying"), (f"bytes = {len(TRAIN)}", "copying")],
)
def test_only_files_with_a_checksum_are_said_to_be_verified(
    write_task: WriteTask, this_env: PythonEnv, own: Path, known: str, said: str
) -> None:
    task, heard = write_task(sources=kaggle_source(known)), Sayings()
    layout(own, "plain")
    asyncio.run(
        prepare(task, "full", call=plain_call, python_env=this_env, from_dir=own, progress=heard)
    )
    assert heard.said[0] == f"small-task: {said} train.csv, from {own / 'train.csv'}"


def test_links_and_escapes_in_archives_lead_nowhere(
    write_task: WriteTask, this_env: PythonEnv, own: Path, tmp_path: Path
) -> None:
    task = write_task(sources=kaggle_source())
    (tmp_path / "train.csv").write_bytes(TRAIN)
    in_zip(own / "a.zip", {"../../train.csv": TRAIN, "/train.csv.txt": TRAIN})
    with tarfile.open(own / "b.tar", "w") as archive:
        link = tarfile.TarInfo("train.csv")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "train.csv")
        archive.addfile(link)
    with pytest.raises(UsageError, match=r"train\.csv not found in"):
        make(task, this_env, own)


@pytest.mark.parametrize("name", ["data.zip", "data.tar.gz"])
def test_damaged_archive(write_task: WriteTask, this_env: PythonEnv, own: Path, name: str) -> None:
    task = write_task(sources=kaggle_source())
    members = {"train.csv": TRAIN, "more.bin": bytes(range(256)) * 1000}
    (in_zip if name.endswith("zip") else in_tar)(own / name, members)
    whole = (own / name).read_bytes()
    (own / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=rf"{name} cannot be read: .*; get it again"):
        make(task, this_env, own)


def test_too_little_disk_is_said_first(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    task = write_task(sources=kaggle_source(f'md5 = "{MD5}", bytes = {10**15}'))
    with pytest.raises(UsageError, match=r"needs about 3,000,000,000 MB, but .* MB free"):
        make(task, this_env, own)


class Sayings(Silent):
    """Remembers what is said while data are prepared."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


RESPLIT = """
def prepare(raw, public, private, rng):
    (public / "part.txt").write_text("official")
    (private / "answers.csv").write_text("a\\n")

def resplit(raw, given_public, given_private, public, private, rng):
    assert (raw / "train.csv").is_file()
    assert (given_public / "part.txt").read_text() == "official"
    assert (given_private / "answers.csv").is_file()
    (public / "part.txt").write_text(f"another {rng.integers(10**9)}")
    (private / "answers.csv").write_text("a\\n")
"""


def test_other_splits_are_made_of_the_same_files_at_once(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    layout(own, "plain")
    task = write_task(sources=kaggle_source(), prepare_py=RESPLIT)
    said = Sayings()

    def prepare_with(splits: int, from_dir: Path | None = own) -> PreparedData:
        return asyncio.run(
            prepare(
                task, "full", call=plain_call, python_env=this_env, from_dir=from_dir,
                splits=splits, progress=said,
            )
        )  # fmt: skip

    official = prepare_with(2)
    assert (official.public / "part.txt").read_text() == "official"
    assert sum("verifying train.csv" in text for text in said.said) == 1
    found = [find_prepared(task, "full", f"public~{n}") for n in (1, 2, 3)]
    assert found[0] is not None and found[1] is not None and found[2] is None
    texts = {(data.public / "part.txt").read_text() for data in found if data is not None}
    assert len(texts) == 2 and all(text.startswith("another ") for text in texts)
    assert prepare_with(2, from_dir=None) == official, "nothing is missing"
    assert prepare_with(3) == official
    assert find_prepared(task, "full", "public~2") == found[1], "only the third one was made"
    with pytest.raises(UsageError, match="--tier full --splits 4"):
        asyncio.run(prepare(task, "full", call=plain_call, python_env=this_env, draw="public~4"))


def test_splits_belong_to_the_files_that_runs_use(
    write_task: WriteTask, this_env: PythonEnv, own: Path
) -> None:
    layout(own, "plain")
    task = write_task(sources=kaggle_source(train="optional = false"), prepare_py=RESPLIT)
    common: dict[str, Any] = {"call": plain_call, "python_env": this_env, "from_dir": own}
    asyncio.run(prepare(task, "full", splits=1, **common))
    assert find_prepared(task, "full", "public~1") is not None
    (own / "train.csv").write_bytes(TRAIN + b"7,7\n")
    asyncio.run(prepare(task, "full", **common))
    assert find_prepared(task, "full", "public~1") is None


def test_splits_are_for_the_full_tier() -> None:
    with pytest.raises(UsageError, match="--splits is for --tier full: the mini tier is generated"):
        prepare_tasks([], "mini", splits=1, call=plain_call)


def test_generated_full_tiers_need_no_files(own: Path, write_task: WriteTask) -> None:
    with pytest.raises(UsageError, match=r"^small-task: the full tier is generated and needs no"):
        prepare_tasks([write_task()], "full", from_dir=own, call=plain_call)
