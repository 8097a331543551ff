"""Slots that real processes, and two users, share; and who gets what."""

import asyncio
import fcntl
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.machine import slots
from mlagentbench.machine.allocation import Allocation
from mlagentbench.machine.gpus import Gpu
from mlagentbench.machine.ledger import VARIABLE, Ledger, Need, Slot, SlotClaim
from mlagentbench.machine.slots import fitting_slot, most_at_once, slot_for, take_slot

HOLDER = Path(__file__).parents[1] / "support" / "slot_holder.py"
SOURCES = Path(slots.__file__).parents[2]
OTHER_USER = 61000
GB = 10**9
CORES = sorted(os.sched_getaffinity(0))
ONE, ALL = Need(cpus=1, memory=GB), Need(cpus=1024, memory=GB)
GPUS = tuple(Gpu(uuid=f"GPU-{n}", minor=n, name="A100") for n in range(2))
MACHINE = Allocation(pool="machine", cores=(0, 1, 2, 3), cpus=4, memory=10 * GB, gpus=GPUS)

needs_two_cores = pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that other users reach, too."""
    with TemporaryDirectory(prefix="slots-of-tests-") as directory:
        monkeypatch.setenv(VARIABLE, directory)
        yield Path(directory)


class Holder:
    """Another process that takes a slot."""

    def __init__(self, cpus: int, memory: int = GB) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HOLDER), str(cpus), str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
        )

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def release(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def granted(pool: str, *cores: int, memory: int = GB, gpus: Sequence[Gpu] = ()) -> SlotClaim:
    return SlotClaim(
        pool=pool,
        need=Need(cpus=max(1, len(cores)), memory=memory, gpus=len(gpus)),
        who="another",
        pid=1,
        slot=Slot(cpus=cores, memory=memory, gpus=tuple(gpus)),
    )


# Which slot a need gets


def test_cores_and_gpus_are_in_one_slot_only() -> None:
    held = [granted("machine", 0, 2, gpus=GPUS[:1])]
    slot = fitting_slot(Need(cpus=2, memory=GB, gpus=1), MACHINE, held)
    assert slot == Slot(cpus=(1, 3), memory=GB, gpus=GPUS[1:])
    assert fitting_slot(Need(cpus=3, memory=GB), MACHINE, held) is None
    assert fitting_slot(Need(cpus=1, memory=GB, gpus=2), MACHINE, held) is None


def test_memory_is_counted() -> None:
    held = [granted("machine", 0, memory=7 * GB)]
    assert fitting_slot(Need(cpus=1, memory=3 * GB), MACHINE, held) is not None
    assert fitting_slot(Need(cpus=1, memory=3 * GB + 1), MACHINE, held) is None


def test_a_control_group_that_limits_a_process_counts_only_its_own_slots() -> None:
    """Other users' slots are not in it, but their cores are taken all the same."""
    limited = MACHINE.model_copy(update={"memory": 2 * GB, "cpus": 2, "cgroup": "/user"})
    held = [granted("machine", 0, 1, memory=7 * GB)]
    assert fitting_slot(Need(cpus=2, memory=GB), limited, held) == Slot(cpus=(2, 3), memory=GB)
    inside = [granted("machine", 0, memory=GB).model_copy(update={"cgroup": "/user"})]
    assert fitting_slot(Need(cpus=2, memory=GB), limited, inside) is None
    assert fitting_slot(Need(cpus=1, memory=2 * GB), limited, inside) is None


def test_allocations_take_the_least_used_cores_of_the_machine() -> None:
    """Two jobs on one machine whose cores no control group keeps apart."""
    job = MACHINE.model_copy(update={"pool": "slurm job 2 on n2", "cpus": 2})
    held = [granted("slurm job 1 on n1", 0), granted("machine", 1)]
    slot = fitting_slot(Need(cpus=2, memory=GB), job, held)
    assert slot is not None and slot.cpus == (2, 3)
    full = [granted("slurm job 1 on n1", 0, 1, 2, 3)]
    assert fitting_slot(Need(cpus=2, memory=GB), job, full) is not None
    assert fitting_slot(Need(cpus=1, memory=GB), job, [granted(job.pool, 0, 1)]) is None


def test_a_scheduler_may_give_more_cores_than_there_are() -> None:
    job = MACHINE.model_copy(update={"pool": "job", "cores": (0, 1), "cpus": 4})
    held = [granted("job", 0, 1)]
    slot = fitting_slot(Need(cpus=2, memory=GB), job, held)
    assert slot is not None and slot.cpus == (0, 1)
    assert fitting_slot(Need(cpus=2, memory=GB), job, [*held, *held]) is None


def test_how_many_can_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "allocation", lambda: MACHINE)
    assert most_at_once([Need(cpus=1, memory=GB)] * 9) == 4
    assert most_at_once([Need(cpus=2, memory=GB)] * 9) == 2
    assert most_at_once([Need(cpus=1, memory=GB), *[Need(cpus=2, memory=GB)] * 9]) == 2
    assert most_at_once([Need(cpus=1, memory=4 * GB)] * 9) == 2
    assert most_at_once([Need(cpus=1, memory=GB, gpus=1)] * 9) == 2
    assert most_at_once([Need(cpus=64, memory=64 * GB)] * 9) == 1
    assert most_at_once([]) == 1


# Several processes


def test_a_need_larger_than_the_pool_gets_the_whole_pool() -> None:
    async def take() -> Slot:
        with await take_slot(Need(cpus=1024, memory=2**62), "all") as held:
            return held.slot

    slot = asyncio.run(take())
    assert list(slot.cpus) == CORES
    assert slot.memory < 2**62


def test_a_killed_holder_frees_its_slot(own_ledger: Path) -> None:
    holder = Holder(1024)
    assert holder.says().startswith("holds")
    said: list[str] = []

    async def wait_and_kill() -> Slot:
        def on_wait(text: str) -> None:
            said.append(text)
            holder.kill()

        async with asyncio.timeout(60):
            with await take_slot(ONE, "next", on_wait) as held:
                return held.slot

    assert len(asyncio.run(wait_and_kill()).cpus) == 1
    assert said[0] == "waiting for a slot of 1 core, 1 GB: held by holder"
    assert list(own_ledger.iterdir()) == []


def test_children_of_a_holder_do_not_keep_its_slot() -> None:
    """Neither a program that it starts nor a fork of it."""
    read, write = os.pipe()

    async def fork_and_release() -> tuple[int, subprocess.Popen[bytes]]:
        with await take_slot(ALL, "parent"):
            started = subprocess.Popen(["sleep", "60"])
            child = os.fork()
            if child == 0:
                os.close(write)
                os.read(read, 1)
                os._exit(0)
        return child, started

    child, started = asyncio.run(fork_and_release())

    async def take_again() -> None:
        async with asyncio.timeout(10), slot_for(ALL, "next"):
            pass

    try:
        asyncio.run(take_again())
    finally:
        os.close(write)
        os.waitpid(child, 0)
        started.kill()
        started.wait()


@needs_two_cores
def test_first_come_first_served_also_for_those_who_need_more() -> None:
    """Runs of one core do not overtake one that needs two."""
    first = Holder(1)
    assert first.says().startswith("holds")
    large = Holder(2)
    assert large.says().startswith("waits")
    small = Holder(1)
    assert "1 before it" in small.says()
    first.release()
    answers = [large.says()]
    while answers[-1].startswith("waits"):
        answers.append(large.says())
    assert answers[-1].startswith("holds")
    large.release()
    while (answer := small.says()).startswith("waits"):
        continue
    assert answer.startswith("holds")
    small.release()


def test_waiting_can_be_cancelled_and_leaves_nothing(own_ledger: Path) -> None:
    async def cancel() -> None:
        with await take_slot(ALL, "holder"):
            waiting = asyncio.create_task(take_slot(ONE, "leaver"))
            while len(list(own_ledger.iterdir())) < 2:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert len(list(own_ledger.iterdir())) == 1

    asyncio.run(asyncio.wait_for(cancel(), 60))
    assert list(own_ledger.iterdir()) == []


def test_waiting_does_not_block_the_event_loop() -> None:
    async def turns_while_waiting() -> int:
        turns = 0
        with await take_slot(ALL, "holder"):
            waiting = asyncio.create_task(take_slot(ONE, "next"))
            while turns < 100:
                await asyncio.sleep(0.001)
                turns += 1
            assert not waiting.done()
        (await waiting).release()
        return turns

    assert asyncio.run(asyncio.wait_for(turns_while_waiting(), 60)) == 100


def test_within_a_slot_no_second_one_is_taken() -> None:
    async def nested() -> bool:
        async with (
            asyncio.timeout(10),
            slot_for(ALL, "outer") as outer,
            slot_for(ALL, "inner") as inner,
        ):
            return inner == outer

    assert asyncio.run(nested())


def hold_as_another_user(told: Connection) -> None:
    """A fork of this process, since another user may not reach its interpreter."""
    os.setgroups([])
    os.setgid(OTHER_USER)
    os.setuid(OTHER_USER)

    async def hold() -> None:
        with await take_slot(ONE, "theirs", told.send) as held:
            told.send(held.slot)
            await asyncio.sleep(600)

    asyncio.run(hold())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_two_users_share_the_slots(own_ledger: Path) -> None:
    fork = multiprocessing.get_context("fork")
    mine = asyncio.run(take_slot(ALL, "mine"))
    here, there = fork.Pipe()
    other = fork.Process(target=hold_as_another_user, args=(there,), daemon=True)
    other.start()
    try:
        assert here.poll(60)
        assert here.recv() == "waiting for a slot of 1 core, 1 GB: held by mine of root"
        mine.release()
        assert here.poll(60) and len(here.recv().cpus) == 1
        [claim] = own_ledger.iterdir()
        assert claim.stat().st_uid == OTHER_USER

        async def wait_and_kill() -> str:
            texts: list[str] = []
            waiting = asyncio.create_task(take_slot(ALL, "mine again", texts.append))
            while not texts:
                await asyncio.sleep(0.01)
            other.kill()
            (await waiting).release()
            return texts[0]

        said = asyncio.run(asyncio.wait_for(wait_and_kill(), 60))
        assert f"held by theirs of user {OTHER_USER}" in said
    finally:
        other.kill()
        other.join()


# The directory


def test_rubbish_in_the_directory_is_ignored(own_ledger: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("{}")
    (own_ledger / f"000000000001-{'0' * 16}").symlink_to(secret)
    os.mkfifo(own_ledger / f"000000000002-{'0' * 16}")
    (own_ledger / f"000000000003-{'0' * 16}").mkdir()
    (own_ledger / "notes.txt").write_text("hello")
    unreadable = own_ledger / f"000000000004-{'0' * 16}"
    unreadable.write_text("no claim")
    with unreadable.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        async def take() -> Slot:
            with await take_slot(ALL, "all") as held:
                return held.slot

        assert list(asyncio.run(asyncio.wait_for(take(), 60)).cpus) == CORES
    assert secret.read_text() == "{}"


def test_large_numbers_hide_no_claim(own_ledger: Path) -> None:
    """Anybody can make files with such names; those that nobody has locked do not count."""
    largest = own_ledger / f"{'9' * 18}-{'0' * 16}"

    async def claimed() -> list[int]:
        ledger = Ledger()
        largest.touch()
        first = await ledger.enter(granted("machine", 0))
        second = await ledger.enter(granted("machine", 1))
        numbers = [one.number for one in ledger.claims()]
        with largest.open("w") as file:
            file.write(granted("machine", 2).model_dump_json())
            file.flush()
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(UsageError, match="a claim has the largest number"):
                await ledger.enter(granted("machine", 3))
        first.remove()
        second.remove()
        return numbers

    assert asyncio.run(claimed()) == [1, 2]


def test_waiting_for_the_lock_is_told(own_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process may hold it."""
    monkeypatch.setattr("mlagentbench.machine.ledger.LONG_WAIT", 0.05)
    lock = os.open(own_ledger, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    said = []

    def on_wait(text: str) -> None:
        said.append(text)
        fcntl.flock(lock, fcntl.LOCK_UN)

    try:
        asyncio.run(asyncio.wait_for(take_slot(ONE, "one", on_wait), 60)).release()
    finally:
        os.close(lock)
    assert said == [f"waiting for the lock of {own_ledger}"]


def test_a_directory_that_is_not_open_to_all_is_refused_or_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "new"))
    before = os.umask(0o077)
    try:
        asyncio.run(take_slot(ONE, "one")).release()
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o1777
    (tmp_path / "link").symlink_to(tmp_path / "new")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "link"))
    monkeypatch.setattr("mlagentbench.machine.ledger.PREPARATION", 0.1)
    with pytest.raises(UsageError, match=f"set {VARIABLE} to a directory that all users"):
        asyncio.run(take_slot(ONE, "one"))
