"""Preparations that are killed, cancelled, run twice at once, or meet a full disk."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_disk import on_small_disk
from small_tasks import MAKE, WriteTask, plain_call

from mlagentbench.tasks.data.preparation import find_prepared, prepare
from mlagentbench.tasks.data.prepared_files import data_hash, read_facts
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

pytestmark = pytest.mark.slow

PROGRAM = str(Path(__file__).parents[2] / "support" / "prepare_small_task.py")


def slow_make(flag: Path) -> str:
    """A generator that says that it has begun and goes on when it is let."""
    body = f"""
    import time
    from pathlib import Path
    (raw / "begun").write_text("x")
    while not Path({str(flag)!r}).exists():
        time.sleep(0.01)
"""
    return MAKE.replace("def make(raw, rng):\n", f"def make(raw, rng):{body}")


def start(task: Task, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, PROGRAM, str(task.folder), *options],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_beginning(home: Path) -> Path:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for begun in home.glob("data/small-task/v1/mini/.tmp-*/raw/begun"):
            return begun.parent.parent
        time.sleep(0.01)
    raise AssertionError("the preparation did not begin")


def test_killed_preparation_leaves_nothing_that_counts(
    write_task: WriteTask, this_env: PythonEnv, home: Path, tmp_path: Path
) -> None:
    task = write_task(mini_py=slow_make(tmp_path / "go"))
    process = start(task)
    leftover = wait_for_beginning(home)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert leftover.is_dir() and find_prepared(task, "mini") is None
    (tmp_path / "go").touch()
    data = asyncio.run(prepare(task, "mini", call=plain_call, python_env=this_env))
    assert not leftover.exists()
    assert [path.name for path in data.directory.parent.iterdir()] == [data.directory.name]


def test_killed_second_preparation_leaves_the_first(
    write_task: WriteTask, this_env: PythonEnv, home: Path, tmp_path: Path
) -> None:
    task = write_task(mini_py=slow_make(tmp_path / "go"))
    (tmp_path / "go").touch()
    data = asyncio.run(prepare(task, "mini", call=plain_call, python_env=this_env))
    (tmp_path / "go").unlink()
    process = start(task, "--again")
    wait_for_beginning(home)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert find_prepared(task, "mini") == data
    assert data_hash(read_facts(data.public), read_facts(data.private)) == data.hash
    assert asyncio.run(prepare(task, "mini", call=plain_call, python_env=this_env)) == data
    assert [path.name for path in data.directory.parent.iterdir()] == [data.directory.name]


def test_two_at_once_make_one(write_task: WriteTask, home: Path, tmp_path: Path) -> None:
    task = write_task(mini_py=slow_make(tmp_path / "go"))
    first = start(task)
    wait_for_beginning(home)
    second = start(task)
    time.sleep(0.5)
    assert len(list(home.glob("data/small-task/v1/mini/.tmp-*"))) == 1
    (tmp_path / "go").touch()
    hashes = {process.communicate(timeout=100)[0] for process in (first, second)}
    assert len(hashes) == 1 and first.returncode == second.returncode == 0
    data = find_prepared(task, "mini")
    assert data is not None and hashes == {f"{data.hash}\n"}
    assert [path.name for path in data.directory.parent.iterdir()] == [data.directory.name]


def test_cancelled_preparation_cleans_up(
    write_task: WriteTask, this_env: PythonEnv, home: Path, tmp_path: Path
) -> None:
    task = write_task(mini_py=slow_make(tmp_path / "go"))

    async def cancelled() -> None:
        running = asyncio.create_task(prepare(task, "mini", call=plain_call, python_env=this_env))
        await asyncio.to_thread(wait_for_beginning, home)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert list((home / "data/small-task/v1/mini").iterdir()) == []
        (tmp_path / "go").touch()

    asyncio.run(cancelled())


@pytest.mark.parametrize("function", ["mini", "prepare", "copying"])
def test_full_disk(write_task: WriteTask, home: Path, function: str) -> None:
    megabytes = {"mini": (20, 0), "prepare": (6, 6), "copying": (1, 6)}[function]
    write = "(DIR / f'{k}.bin').write_bytes(bytes([k]) * 1000000)"
    task = write_task(
        mini_py=f"""
        def make(raw, rng):
            for k in range({megabytes[0]}):
                {write.replace("DIR", "raw")}
        """,
        prepare_py=f"""
        def prepare(raw, public, private, rng):
            for k in range({megabytes[1]}):
                {write.replace("DIR", "public")}
            (private / "big.bin").write_bytes(b"1" * {2_500_000 if function == "copying" else 0})
        """,
    )
    done = on_small_disk(home, [sys.executable, PROGRAM, str(task.folder)])
    assert done.stdout.splitlines()[0] == "exit 1", done.stdout
    assert "small-task: the disk of" in done.stderr and "is full" in done.stderr
    assert "MLAGENTBENCH_HOME" in done.stderr and "Traceback" not in done.stderr
    assert done.stdout.splitlines()[1:] == []


def test_enough_disk(write_task: WriteTask, home: Path) -> None:
    done = on_small_disk(home, [sys.executable, PROGRAM, str(write_task().folder)])
    assert "exit 0" in done.stdout and "public/train.csv" in done.stdout


def test_hash_notices_a_changed_file(write_task: WriteTask, this_env: PythonEnv) -> None:
    data = asyncio.run(prepare(write_task(), "mini", call=plain_call, python_env=this_env))
    before = data_hash(read_facts(data.public), read_facts(data.private))
    (data.public / "train.csv").rename(data.public / "train2.csv")
    assert data_hash(read_facts(data.public), read_facts(data.private)) != before == data.hash
