"""The home directory and its locks."""

import asyncio
import multiprocessing
import os
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.home import data_dir, holding, home, locked


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
