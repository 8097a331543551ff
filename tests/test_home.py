"""The home directory and its locks."""

import asyncio
import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.home import data_dir, holding, home, locked, queued


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_place(own_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home() == own_home and own_home.is_dir()
    assert data_dir("house-price", 2, "mini") == own_home / "data/house-price/v2/mini"
    monkeypatch.delenv("MLAGENTBENCH_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert home() == tmp_path / "xdg" / "mlagentbench"


def test_a_home_that_cannot_be(own_home: Path) -> None:
    own_home.write_text("a file")
    with pytest.raises(UsageError, match="set MLAGENTBENCH_HOME to a writable directory"):
        home()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_home(own_home: Path) -> None:
    own_home.mkdir(mode=0o500)
    with pytest.raises(UsageError, match="permission denied"):
        home()


def count_up(file: Path, times: int) -> None:
    for _ in range(times):
        with locked("counter"):
            file.write_text(str(int(file.read_text()) + 1))


def test_locked_keeps_processes_apart(tmp_path: Path) -> None:
    file = tmp_path / "count"
    file.write_text("0")
    spawn = multiprocessing.get_context("fork")
    processes = [spawn.Process(target=count_up, args=(file, 100)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert file.read_text() == "300"


def test_holding_waits_says_so_and_can_be_cancelled() -> None:
    events: list[str] = []

    async def second() -> None:
        async with holding("thing", lambda: events.append("waits")):
            events.append("second")

    async def both() -> None:
        async with holding("thing", lambda: events.append("never")):
            waiting, cancelled = asyncio.create_task(second()), asyncio.create_task(second())
            while len(events) < 2:
                await asyncio.sleep(0.01)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            events.append("first")
        await waiting

    asyncio.run(asyncio.wait_for(both(), 60))
    assert events == ["waits", "waits", "first", "second"]


def test_a_queue_is_first_come_first_served_and_says_who_is_before() -> None:
    events: list[str] = []

    async def wait(name: str) -> None:
        async with queued("thing", lambda before: events.append(f"{name}: {before}")):
            events.append(name)

    async def three() -> None:
        async with queued("thing", lambda before: events.append(f"never {before}")):
            second = asyncio.create_task(wait("second"))
            await asyncio.sleep(0.01)
            third = asyncio.create_task(wait("third"))
            await asyncio.sleep(0.01)
            leaver = asyncio.create_task(wait("leaver"))
            while len(events) < 3:
                await asyncio.sleep(0.01)
            leaver.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaver
        await asyncio.gather(second, third)

    asyncio.run(asyncio.wait_for(three(), 60))
    assert events[:3] == ["second: 1", "third: 2", "leaver: 3"]
    assert [event for event in events[3:] if ":" not in event] == ["second", "third"]


def hold_for_ever(name: str, told: Connection) -> None:
    async def hold() -> None:
        async with queued(name, lambda _before: None):
            told.send("holds")
            await asyncio.sleep(600)

    asyncio.run(hold())


def test_a_process_that_died_keeps_nobody_waiting() -> None:
    spawn = multiprocessing.get_context("fork")
    here, there = spawn.Pipe()
    process = spawn.Process(target=hold_for_ever, args=("other-thing", there))
    process.start()
    assert here.recv() == "holds"
    waits: list[int] = []

    async def wait_and_kill() -> None:
        def on_wait(before: int) -> None:
            waits.append(before)
            process.kill()

        async with asyncio.timeout(60), queued("other-thing", on_wait):
            pass

    asyncio.run(wait_and_kill())
    process.join()
    assert waits == [1]
