"""The mini tier from generator to public and private files."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from small_tasks import PREPARE, WriteTask, plain_call

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.guest.mlagentbench_task import CANARY_LINE
from mlagentbench.tasks.data.preparation import (
    PreparedData,
    find_prepared,
    prepare,
    require_prepared,
)
from mlagentbench.tasks.data.prepared_files import KNOWN_GOOD, SEED_FILE, data_hash, read_facts
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task


def make(task: Task, env: PythonEnv, **options: Any) -> PreparedData:
    return asyncio.run(prepare(task, "mini", call=plain_call, python_env=env, **options))


def test_generates_splits_and_describes(write_task: WriteTask, this_env: PythonEnv) -> None:
    task = write_task()
    data = make(task, this_env)
    assert data.verified and data.draw == "public" and data.tier == "mini"
    assert sorted(path.name for path in data.directory.iterdir()) == [
        "data.json",
        "private",
        "public",
    ]
    public = (data.public / "train.csv").read_text().split()
    canary, *private = (data.private / "answers.csv").read_text().splitlines()
    assert canary == CANARY_LINE and len(public) == 16 and len(private) == 6
    assert not set(public[1:]) & set(private[1:])
    assert data.files == 2
    assert data.bytes == sum(file.stat().st_size for file in data.directory.rglob("*.csv"))
    assert data.hash == data_hash(read_facts(data.public), read_facts(data.private))


def test_same_everywhere(
    write_task: WriteTask, this_env: PythonEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = write_task()
    first = make(task, this_env)
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "another"))
    second = make(task, this_env)
    assert first.directory != second.directory and first.hash == second.hash


def test_prepared_once(write_task: WriteTask, this_env: PythonEnv) -> None:
    task = write_task()
    assert find_prepared(task, "mini") is None
    first = make(task, this_env)
    inode = (first.public / "train.csv").stat().st_ino
    assert make(task, this_env) == first == find_prepared(task, "mini")
    assert (first.public / "train.csv").stat().st_ino == inode


def test_other_code_is_other_data(write_task: WriteTask, this_env: PythonEnv) -> None:
    first = make(write_task(), this_env)
    changed = write_task(prepare_py=PREPARE + "# changed\n")
    assert find_prepared(changed, "mini") is None
    second = make(changed, this_env)
    assert second.directory != first.directory and second.hash == first.hash


def test_public_files_tell_nothing_by_their_metadata(
    write_task: WriteTask, this_env: PythonEnv
) -> None:
    task = write_task(
        prepare_py="""
        import os
        def prepare(raw, public, private, rng):
            for k in range(40):
                (public / f"d{k % 4}").mkdir(exist_ok=True)
                file = public / f"d{k % 4}" / f"{k:03}.txt"
                file.write_text(str(k))
                os.chmod(file, 0o600 if k % 2 else 0o755)
            (public / "empty").mkdir()
            (private / "answers.txt").write_text("1")
        """
    )
    data = make(task, this_env)
    paths = [data.public, *data.public.rglob("*")]
    assert len(paths) == 1 + 5 + 40
    for path in paths:
        status = path.stat()
        assert status.st_mtime_ns == 0
        assert status.st_mode & 0o7777 == (0o755 if path.is_dir() else 0o644)
    assert data.private.stat().st_mode & 0o7777 == 0o700


def test_public_files_are_written_in_random_order(
    write_task: WriteTask, this_env: PythonEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = write_task(
        prepare_py="""
        def prepare(raw, public, private, rng):
            for k in range(40):
                (public / f"{k:03}.txt").write_text(str(k))
        """
    )
    orders = []
    for home in ("one", "two"):
        monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / home))
        files = list(make(task, this_env).public.iterdir())
        orders.append([file.name for file in sorted(files, key=lambda path: path.stat().st_ino)])
    assert len(orders[0]) == 40 and orders[0] != orders[1]


def test_links_are_refused(write_task: WriteTask, this_env: PythonEnv, home: Path) -> None:
    task = write_task(
        prepare_py="""
        def prepare(raw, public, private, rng):
            (public / "link").symlink_to("/etc/passwd")
        """
    )
    with pytest.raises(RunFailed, match="public/link, which is neither"):
        make(task, this_env)
    assert list((home / "data/small-task/v1/mini").iterdir()) == []


def test_a_failing_task_leaves_nothing(
    write_task: WriteTask, this_env: PythonEnv, home: Path
) -> None:
    task = write_task(prepare_py="def prepare(raw, public, private, rng): 1 / 0")
    with pytest.raises(RunFailed, match="ZeroDivisionError"):
        make(task, this_env)
    assert list((home / "data/small-task/v1/mini").iterdir()) == []


def test_secret_seed(write_task: WriteTask, this_env: PythonEnv) -> None:
    task = write_task()
    public = make(task, this_env)
    assert find_prepared(task, "mini", "secret") is None
    secret = make(task, this_env, draw="secret")
    assert secret.hash != public.hash
    assert secret.draw is not None and secret.draw.startswith("secret:")
    seed_file = secret.private / SEED_FILE
    seed = seed_file.read_text().strip()
    assert len(seed) == 32 and seed not in (secret.directory / "data.json").read_text()
    assert seed not in str(secret.directory) and seed_file.stat().st_mode & 0o777 == 0o600
    assert secret.hash == data_hash(read_facts(secret.public), read_facts(secret.private))
    assert make(task, this_env, draw="secret") == secret
    assert find_prepared(task, "mini") == public
    assert find_prepared(task, "mini", "secret") == secret


def test_a_known_good_submission_is_kept_apart_from_the_data(
    write_task: WriteTask, this_env: PythonEnv
) -> None:
    task = write_task()
    without = make(task, this_env)
    assert not (without.private / KNOWN_GOOD).exists()
    sample = '\n    (public / "sample_submission.csv").write_text("id,y\\n1,0\\n")\n'
    data = make(write_task("sampled", prepare_py=f"{PREPARE.rstrip()}{sample}"), this_env)
    stored = data.private / KNOWN_GOOD
    assert [path.name for path in stored.iterdir()] == ["submission.csv"]
    assert (stored / "submission.csv").read_text() == "id,y\n1,0\n"
    assert stored.stat().st_mode & 0o777 == 0o755 and data.files == 3
    assert data.hash == data_hash(read_facts(data.public), read_facts(data.private))
    assert data.private.stat().st_mode & 0o777 == 0o700


def test_requires_with_the_command_to_type(write_task: WriteTask) -> None:
    task = write_task()
    with pytest.raises(UsageError) as raised:
        require_prepared(task, "mini", "7")
    command = f"mlagentbench tasks prepare {task.folder} --tier mini --draw 7"
    assert str(raised.value) == f"small-task: the mini tier is not prepared; run: {command}"


def test_full_tier_can_be_generated(write_task: WriteTask, this_env: PythonEnv) -> None:
    task = write_task()
    full = asyncio.run(prepare(task, "full", call=plain_call, python_env=this_env))
    assert full.verified and full.draw == "public"
    assert full.hash != make(task, this_env).hash
    assert require_prepared(task, "full") == full


def test_data_of_another_version_of_the_package(write_task: WriteTask, this_env: PythonEnv) -> None:
    task = write_task()
    data = make(task, this_env)
    (data.directory / "data.json").write_text('{"unknown": 1}')
    assert find_prepared(task, "mini") is None
    assert make(task, this_env).hash == data.hash


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_home(write_task: WriteTask, this_env: PythonEnv, home: Path) -> None:
    task = write_task()
    home.mkdir()
    home.chmod(0o500)
    with pytest.raises(UsageError, match="set MLAGENTBENCH_HOME"):
        make(task, this_env)
