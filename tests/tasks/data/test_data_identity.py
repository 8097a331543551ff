"""Full data are identified by their source files: the same, others, older ones, and --again."""

import asyncio
from pathlib import Path

import pytest
from small_tasks import PREPARE, WriteTask, plain_call

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.rebuild.fresh_data import fresh_data, require_fresh_data
from mlagentbench.tasks.data.preparation import (
    PreparedData,
    find_prepared,
    prepare,
    prepared_with_hash,
    require_prepared,
)
from mlagentbench.tasks.python_env.env import HOST_ENVS, PythonEnv
from mlagentbench.tasks.task import Task

SOURCE = '[[sources]]\nkind = "kaggle"\nref = "small"\nfiles = [{ path = "train.csv" }]\n'
CHECKED = f"""{PREPARE}

def check_raw(raw):
    rows = len((raw / "train.csv").read_text().split()) - 1
    return [] if rows >= 12 else [f"rows: {{rows}}, expected 12", "classes: 1, expected 2"]
"""


class Heard:
    """A Progress that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def transfer(self, name: str, done: int, total: int | None) -> None: ...

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Preparing:
    """Prepares a task from directories, and remembers what was said of the last one."""

    def __init__(self, task: Task, env: PythonEnv) -> None:
        self.task = task
        self.env = env
        self.heard = Heard()

    def __call__(
        self,
        directory: Path | None,
        *,
        again: bool = False,
        accept: bool = False,
        splits: int = 0,
    ) -> PreparedData:
        self.heard = Heard()
        return asyncio.run(
            prepare(
                self.task,
                "full",
                call=plain_call,
                python_env=self.env,
                from_dir=directory,
                again=again,
                splits=splits,
                accept_unverified=accept,
                progress=self.heard,
            )
        )

    @property
    def split(self) -> bool:
        """Whether the task's prepare() was called."""
        return "splitting into public and private" in self.heard.text


@pytest.fixture
def preparing(write_task: WriteTask, this_env: PythonEnv) -> Preparing:
    return Preparing(write_task(sources=SOURCE, prepare_py=CHECKED), this_env)


def files(directory: Path, rows: int) -> Path:
    directory.mkdir(exist_ok=True)
    lines = ["id,y", *(f"{k},{k * k}" for k in range(rows))]
    (directory / "train.csv").write_text("\n".join(lines) + "\n")
    return directory


def test_the_same_files_are_prepared_once(preparing: Preparing, tmp_path: Path) -> None:
    first = preparing(files(tmp_path / "one", 20))
    assert preparing.split and len(first.sources) == 64
    assert preparing(files(tmp_path / "copy", 20)) == first
    assert not preparing.split
    said = preparing.heard.text
    assert "prepared already from the same files" in said
    assert str(first.directory) in said and first.when in said


def test_other_files_are_other_data_and_older_ones_can_be_chosen_again(
    preparing: Preparing, tmp_path: Path
) -> None:
    few = preparing(files(tmp_path / "own", 15))
    many = preparing(files(tmp_path / "own", 20))
    assert preparing.split and many.directory != few.directory and many.hash != few.hash
    assert "other files than those prepared on" in preparing.heard.text
    assert str(few.directory) in preparing.heard.text and few.public.is_dir()
    assert find_prepared(preparing.task, "full") == many
    older = preparing(files(tmp_path / "own", 15))
    assert not preparing.split and older.created == few.created and older.hash == few.hash
    assert "runs use these data again" in preparing.heard.text
    assert find_prepared(preparing.task, "full") == older
    assert preparing(files(tmp_path / "own", 20)).created == many.created


def test_splits_of_other_files_with_the_same_data_will_do(
    preparing: Preparing, tmp_path: Path
) -> None:
    task, archive, folder = preparing.task, tmp_path / "archive", files(tmp_path / "folder", 20)
    files(archive, 20)
    with (archive / "train.csv").open("a") as file:
        file.write("\n\n")
    first = preparing(archive, splits=1)
    split = find_prepared(task, "full", "public~1")
    assert split is not None and split.sources == first.sources
    second = preparing(folder)
    assert first.hash == second.hash and first.sources != second.sources
    for given in (first, second):
        assert asyncio.run(fresh_data(task, given, "public~1", HOST_ENVS, None)) == split
        require_fresh_data(task, "full", "public", 1, given)
    assert prepared_with_hash(task, "full", first.hash) == second
    chosen = preparing(archive)
    assert prepared_with_hash(task, "full", first.hash) == chosen
    assert chosen.directory == first.directory
    other = preparing(files(tmp_path / "other", 15))
    with pytest.raises(
        UsageError, match=r"from .*other needs .*public~1 is not; .* --from /.*other"
    ):
        asyncio.run(fresh_data(task, other, "public~1", HOST_ENVS, None))


def test_without_files_what_is_used_is_said(preparing: Preparing, tmp_path: Path) -> None:
    own = files(tmp_path / "own", 20)
    data = preparing(own)
    assert preparing(None) == data and not preparing.split
    assert f"prepared already, on {data.when}, from {own}: {data.directory}" in preparing.heard.text


def test_without_files_accepted_differences_are_named(preparing: Preparing, tmp_path: Path) -> None:
    data = preparing(files(tmp_path / "own", 7), accept=True, splits=1)
    assert preparing(None) == data and not preparing.split
    assert preparing(None, splits=1) == data and not preparing.split
    assert f"prepared already, on {data.when}, from {tmp_path / 'own'}" in preparing.heard.text
    for difference in data.accepted:
        assert f"these data have an accepted difference: {difference}" in preparing.heard.text


@pytest.mark.parametrize(("rows", "options"), [(20, ""), (7, " --accept-unverified")])
def test_more_of_own_files_needs_them_again(
    preparing: Preparing, tmp_path: Path, rows: int, options: str
) -> None:
    own = files(tmp_path / "my files", rows)
    data = preparing(own, accept=True)
    said = (
        f"small-task: these data were prepared from {own}, which is needed again; "
        f"add: --from '{own}'{options}"
    )
    for again, splits in ((True, 0), (False, 2)):
        with pytest.raises(UsageError) as raised:
            preparing(None, again=again, splits=splits)
        assert str(raised.value) == said
    command = f"--tier full --splits 3 --from '{own}'{options}"
    with pytest.raises(UsageError) as raised:
        require_fresh_data(preparing.task, "full", "public", 3, data)
    assert str(raised.value).endswith(command)
    with pytest.raises(UsageError) as raised:
        require_prepared(preparing.task, "full", "public~3")
    assert str(raised.value).endswith(command)


@pytest.mark.parametrize("damage", ["file removed", "file cut", "answers removed"])
def test_damaged_data_are_not_prepared(preparing: Preparing, tmp_path: Path, damage: str) -> None:
    own = files(tmp_path / "own", 20)
    first = preparing(own, splits=1)
    split = find_prepared(preparing.task, "full", "public~1")
    assert split is not None and not first.damage and not split.damage
    for data in (first, split):
        if damage == "file cut":
            (data.public / "train.csv").write_text("id,y\n")
        elif damage == "file removed":
            (data.public / "train.csv").unlink()
        else:
            (data.private / "answers.csv").unlink()
    with pytest.raises(UsageError) as raised:
        require_prepared(preparing.task, "full")
    assert f"small-task: {first.directory} is damaged: " in str(raised.value)
    assert f"files of {first.bytes:,} bytes" not in str(raised.value)
    assert str(raised.value).endswith(f"--tier full --from {own}")
    with pytest.raises(UsageError, match=f"prepared from {own}, which is needed again"):
        preparing(None)
    again = preparing(own, splits=1)
    assert f"{first.directory} is damaged: " in preparing.heard.text
    assert "; these data count as not prepared" in preparing.heard.text
    assert preparing.split and again.hash == first.hash and again.directory == first.directory
    assert require_prepared(preparing.task, "full") == again
    assert not require_prepared(preparing.task, "full", "public~1").damage
    assert preparing(None, splits=1) == again and not preparing.split


@pytest.mark.parametrize("contents", ["", "{", "[]", "\0", '{"tier": "full"}'])
def test_data_whose_description_is_damaged_are_not_prepared(
    preparing: Preparing, tmp_path: Path, contents: str
) -> None:
    own = files(tmp_path / "own", 20)
    first = preparing(own)
    (first.directory / "data.json").write_text(contents)
    assert find_prepared(preparing.task, "full") is None
    assert preparing(own).hash == first.hash and preparing.split
    said = f"{first.directory / 'data.json'} is damaged; these data count as not prepared"
    assert (said in preparing.heard.text) == (contents in ("", "{", "\0"))


def test_again_prepares_anew_in_the_same_place(preparing: Preparing, tmp_path: Path) -> None:
    first = preparing(files(tmp_path / "own", 20))
    (first.public / "train.csv").write_text("spoilt")
    second = preparing(tmp_path / "own", again=True)
    assert preparing.split and second.directory == first.directory and second.hash == first.hash
    assert second.created > first.created
    assert (second.public / "train.csv").read_text() != "spoilt"
    assert [path.name for path in first.directory.parent.iterdir()] == [first.directory.name]


def test_a_failed_second_preparation_leaves_the_first(
    write_task: WriteTask, this_env: PythonEnv, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    broken = PREPARE.replace(
        "rng):\n",
        f"rng):\n    from pathlib import Path\n    assert not Path({str(stop)!r}).exists()\n",
    )
    preparing = Preparing(write_task(sources=SOURCE, prepare_py=broken), this_env)
    data = preparing(files(tmp_path / "own", 20))
    stop.touch()
    with pytest.raises(RunFailed):
        preparing(tmp_path / "own", again=True)
    assert find_prepared(preparing.task, "full") == data
    assert (data.public / "train.csv").is_file()


def test_implausible_files_are_refused_with_every_difference(
    preparing: Preparing, tmp_path: Path
) -> None:
    own = files(tmp_path / "own", 7)
    with pytest.raises(UsageError) as raised:
        preparing(own)
    assert str(raised.value) == (
        "small-task: these are not the files of Kaggle's small:\n  rows: 7, expected 12\n"
        "  classes: 1, expected 2\nDownload the official files again, or continue with "
        '--accept-unverified: every result will then say "unverified" and name these differences'
    )
    assert find_prepared(preparing.task, "full") is None
    data = preparing(own, accept=True)
    assert data.accepted == ("rows: 7, expected 12", "classes: 1, expected 2")
    assert preparing(own, accept=True) == data and not preparing.split
    with pytest.raises(UsageError, match="rows: 7, expected 12"):
        preparing(own)


def test_a_check_that_returns_no_list_is_the_tasks_error(
    write_task: WriteTask, this_env: PythonEnv, tmp_path: Path
) -> None:
    forgotten = f"{PREPARE}\n\ndef check_raw(raw):\n    pass\n"
    preparing = Preparing(write_task(sources=SOURCE, prepare_py=forgotten), this_env)
    with pytest.raises(RunFailed, match=r"check_raw returned NoneType, not Findings or a list"):
        preparing(files(tmp_path / "own", 20), accept=True)
