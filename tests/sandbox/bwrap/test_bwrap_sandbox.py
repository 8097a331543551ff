"""The life of a sandbox: commands, files, servers, restarts, and what is left when it ends."""

import asyncio
import os
import secrets
import shutil
import signal
import struct
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sandboxes import PYTHON, sandbox_on

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.sandbox.base import Bind, Limits
from mlagentbench.sandbox.bwrap import prerequisites
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.sandbox.conformance import check_sandbox
from mlagentbench.sandbox.executor.executor_sandbox import signal_tree
from mlagentbench.sandbox.executor.guardian_client import identify, kill_if_alive
from mlagentbench.sandbox.executor.session import ProcessEnded

IS_ROOT = os.geteuid() == 0
KILL_EVERYTHING = "import os, signal; os.kill(-1, signal.SIGKILL)"
ECHO = """
import struct, sys
while head := sys.stdin.buffer.read(8):
    body = sys.stdin.buffer.read(struct.unpack(">Q", head)[0])
    sys.stdout.buffer.write(head + body)
    sys.stdout.buffer.flush()
"""


def in_sandbox(
    workspace: Path, use: Callable[[BubblewrapSandbox], Awaitable[None]], **options: Any
) -> None:
    async def run() -> None:
        async with sandbox_on(workspace, **options) as sandbox:
            await use(sandbox)

    asyncio.run(run())


def processes_with(marker: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = place.read_bytes()
        except OSError:
            continue
        if marker.encode() in text:
            found.append(text.decode(errors="replace"))
    return found


@pytest.mark.slow
def test_conformance(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        results = await check_sandbox(sandbox)
        assert len(results) >= 15
        assert [result for result in results if not result.ok] == []

    in_sandbox(tmp_path / "workspace", use)


def test_isolation_is_disclosed(tmp_path: Path) -> None:
    expected = "bubblewrap: separate uid" if IS_ROOT else "bubblewrap: user namespace"
    assert sandbox_on(tmp_path / "workspace").isolation == expected


def test_only_a_small_set_of_environment_variables(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        lines = (await sandbox.run(["env"], env={"MORE": "2"})).output.splitlines()
        assert {line.partition("=")[0] for line in lines} == {
            "PATH", "HOME", "LANG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
            "OMP_WAIT_POLICY", "SEED", "MORE",
        }  # fmt: skip

    in_sandbox(tmp_path / "workspace", use, env={"SEED": "1"})


def test_programs_can_list_network_interfaces(tmp_path: Path) -> None:
    """As Node does when it starts: getifaddrs() asks the kernel over a netlink socket."""
    script = (
        "import ctypes; libc = ctypes.CDLL(None); found = ctypes.c_void_p();"
        "assert libc.getifaddrs(ctypes.byref(found)) == 0;"
        "name = ctypes.c_char_p.from_address(found.value + 8); print(name.value)"
    )

    async def use(sandbox: BubblewrapSandbox) -> None:
        assert (await sandbox.run([PYTHON, "-c", script])).output == "b'lo'\n"

    in_sandbox(tmp_path / "workspace", use)


def test_public_data_is_there_and_named_for_the_snapshotter(tmp_path: Path) -> None:
    public = tmp_path / "train.csv"
    public.write_text("a,b")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "train.csv").symlink_to("/etc/hostname")

    async def use(sandbox: BubblewrapSandbox) -> None:
        assert await sandbox.read("train.csv") == b"a,b"
        assert sandbox.spec.placeholders == {"train.csv"}
        with pytest.raises(OSError):
            await sandbox.write("train.csv", b"other")

    in_sandbox(workspace, use, binds=(Bind(source=public, target="/workspace/train.csv"),))
    assert public.read_text() == "a,b"
    assert (workspace / "train.csv").read_bytes() == b""


def test_reading_never_hangs_or_floods(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        await sandbox.run(["mkfifo", "pipe"])
        with pytest.raises(OSError, match="pipe"):
            await sandbox.read("pipe")
        with pytest.raises(OSError, match="large"):
            await sandbox.read("/dev/zero", max_bytes=10_000_000)
        with pytest.raises(OSError, match="pipe"):
            await sandbox.write("pipe", b"x")

    in_sandbox(tmp_path / "workspace", use)


def test_a_command_that_kills_everything_gets_a_new_sandbox(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        await sandbox.write("kept.txt", b"kept")
        before = sandbox.identity
        result = await sandbox.run([PYTHON, "-c", KILL_EVERYTHING])
        assert result.restarted
        assert result.exit_code is None
        after = await sandbox.run(["cat", "kept.txt"])
        assert (after.output, after.restarted) == ("kept", False)
        assert sandbox.identity != before
        assert identify(before.pid) != before

    in_sandbox(tmp_path / "workspace", use)


def test_a_sandbox_killed_between_commands_is_reported(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        assert kill_if_alive(sandbox.identity)
        result = await sandbox.run(["echo", "again"])
        assert (result.output, result.exit_code, result.restarted) == ("again\n", 0, True)
        assert await sandbox.read("/etc/hosts")

    in_sandbox(tmp_path / "workspace", use)


def test_a_server_that_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    """Though no command is to blame: it was left running by one that ended long ago."""
    script = "x = bytearray(300_000_000); import time; time.sleep(60)"

    async def use(sandbox: BubblewrapSandbox) -> None:
        server = f"setsid {PYTHON} -c '{script}' >/dev/null 2>&1 &"
        await sandbox.run_and_leave(["sh", "-c", server])
        deadline = time.monotonic() + 200
        while identify(sandbox.identity.pid) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        assert (await sandbox.run(["echo", "anew"])).restarted

    in_sandbox(tmp_path / "workspace", use, limits=Limits(memory=150_000_000))


def test_an_old_bubblewrap_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = prerequisites.explain_failure("bwrap: Unknown option --disable-userns")
    assert isinstance(error, UsageError)
    assert "0.8" in str(error)


@pytest.mark.slow
def test_stopping_the_supervisors_does_not_stop_the_clock(tmp_path: Path) -> None:
    script = (
        "import os, signal, time\n"
        "for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):\n"
        "    if pid not in (1, os.getpid()):\n"
        "        try: os.kill(pid, signal.SIGSTOP)\n"
        "        except OSError: pass\n"
        "time.sleep(60)"
    )

    async def use(sandbox: BubblewrapSandbox) -> None:
        result = await sandbox.run([PYTHON, "-c", script], timeout=1)
        assert result.seconds < 30
        assert result.restarted
        assert result.limit is not None
        assert result.limit.name == "wall time"
        assert (await sandbox.run(["echo", "fine"])).output == "fine\n"

    in_sandbox(tmp_path / "workspace", use)


def test_cancelling_kills_the_tree(tmp_path: Path) -> None:
    marker = f"cancelled-{secrets.token_hex(8)}"

    async def use(sandbox: BubblewrapSandbox) -> None:
        script = f"setsid sh -c 'sleep 60; : {marker}' & sleep 60; : {marker}"
        command = asyncio.create_task(sandbox.run(["sh", "-c", script]))
        while len(processes_with(marker)) < 2:
            await asyncio.sleep(0.01)
        command.cancel()
        with pytest.raises(asyncio.CancelledError):
            await command
        assert processes_with(marker) == []
        assert (await sandbox.run(["echo", "fine"])).output == "fine\n"

    in_sandbox(tmp_path / "workspace", use)


def test_servers_stay_until_the_sandbox_stops(tmp_path: Path) -> None:
    marker = f"server-{secrets.token_hex(8)}"

    async def use(sandbox: BubblewrapSandbox) -> None:
        script = (
            f"setsid sh -c 'while sleep 0.01; do echo chatter; done; : {marker}' & echo started"
        )
        result = await sandbox.run_and_leave(["sh", "-c", script])
        assert result.stdout.startswith(b"started\n")
        await sandbox.run(["true"])
        await asyncio.sleep(0.2)
        assert processes_with(marker)

    in_sandbox(tmp_path / "workspace", use)
    assert processes_with(marker) == []


def test_sandboxes_side_by_side(tmp_path: Path) -> None:
    async def one(number: int) -> str:
        async with sandbox_on(tmp_path / f"workspace{number}") as sandbox:
            commands = [
                sandbox.run(["sh", "-c", f"sleep 0.1; echo {number}.{n}"]) for n in range(4)
            ]
            results = await asyncio.gather(*commands)
            return "".join(result.output for result in results)

    async def run() -> list[str]:
        return list(await asyncio.gather(*(one(number) for number in range(4))))

    expected = ["".join(f"{number}.{n}\n" for n in range(4)) for number in range(4)]
    assert asyncio.run(run()) == expected


def test_no_zombies_and_no_descriptors_are_left(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        await sandbox.run(["true"])
        open_before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(20):
            await sandbox.run(["sh", "-c", "(sleep 0.001 &) ; true"], stdin=b"unread" * 100_000)
            await sandbox.read("/etc/hosts")
        await asyncio.sleep(0.1)
        assert len(list(Path("/proc/self/fd").iterdir())) <= open_before + 2
        states = (await sandbox.run(["sh", "-c", "cat /proc/[0-9]*/stat"])).output
        assert " S " in states
        assert " Z " not in states

    in_sandbox(tmp_path / "workspace", use)


def test_a_process_is_spoken_to(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        process = await sandbox.open_process([PYTHON, "-c", ECHO])
        for size in (1, 1000, 5_000_000):
            frame = struct.pack(">Q", size) + b"x" * size
            reply, _ = await asyncio.gather(process.read_exactly(len(frame)), process.write(frame))
            assert reply == frame
        await process.close()
        marker = f"process-{secrets.token_hex(8)}"
        ended = await sandbox.open_process(["sh", "-c", f"echo {marker} >&2; exit 3"])
        with pytest.raises(ProcessEnded) as end:
            await ended.read_exactly(1)
        assert (end.value.exit_code, end.value.stderr) == (3, f"{marker}\n".encode())
        await ended.close()

    in_sandbox(tmp_path / "workspace", use)


def test_a_process_is_held_to_the_limits(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        script = "x = bytearray(300_000_000); import time; time.sleep(60)"
        process = await sandbox.open_process([PYTHON, "-c", script])
        with pytest.raises(ProcessEnded, match="memory"):
            await process.read_exactly(1)
        await process.close()
        assert not (await sandbox.run(["true"])).restarted

    in_sandbox(tmp_path / "workspace", use, limits=Limits(memory=150_000_000))


def test_closing_a_process_kills_what_it_started(tmp_path: Path) -> None:
    marker = f"child-{secrets.token_hex(8)}"

    async def use(sandbox: BubblewrapSandbox) -> None:
        script = f"setsid sh -c 'sleep 60; : {marker}' & echo ready; sleep 60"
        process = await sandbox.open_process(["sh", "-c", script])
        assert await process.read_exactly(6) == b"ready\n"
        await process.close()
        assert processes_with(marker) == []

    in_sandbox(tmp_path / "workspace", use)


def test_frozen_is_frozen(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        process = await sandbox.open_process(
            [
                PYTHON,
                "-c",
                "while True: open('tick', 'a').write('x')",
            ]
        )
        tick = tmp_path / "workspace" / "tick"
        while not tick.exists():
            await asyncio.sleep(0.01)
        sandbox.freeze()
        await asyncio.sleep(0.1)
        size = tick.stat().st_size
        await asyncio.sleep(0.3)
        assert tick.stat().st_size == size
        assert sandbox.stayed_frozen()
        signal_tree(sandbox.identity.pid, signal.SIGCONT)
        deadline = time.monotonic() + 100
        while sandbox.stayed_frozen() and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        assert not sandbox.stayed_frozen()
        sandbox.thaw()
        while tick.stat().st_size == size and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        assert tick.stat().st_size > size
        await process.close()

    in_sandbox(tmp_path / "workspace", use)


def test_a_stopped_sandbox_says_so(tmp_path: Path) -> None:
    async def use() -> None:
        sandbox = sandbox_on(tmp_path / "workspace")
        with pytest.raises(RunFailed, match="not started"):
            await sandbox.run(["true"])
        await sandbox.start()
        identity = sandbox.identity
        await sandbox.stop()
        await sandbox.stop()
        assert identify(identity.pid) != identity
        with pytest.raises(RunFailed, match="stopped"):
            await sandbox.read("x")

    asyncio.run(use())


def test_a_later_harness_can_end_exactly_this_sandbox(tmp_path: Path) -> None:
    async def use(sandbox: BubblewrapSandbox) -> None:
        identity = sandbox.identity
        assert not kill_if_alive(identity.model_copy(update={"started": 1}))
        assert (await sandbox.run(["true"])).exit_code == 0
        assert kill_if_alive(identity)
        assert not kill_if_alive(identity)

    in_sandbox(tmp_path / "workspace", use)


@pytest.mark.skipif(not IS_ROOT, reason="only root gives its files to another uid")
def test_the_workspace_belongs_to_a_uid_of_its_own(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("root's")
    owners = set()
    for name in ("one", "two"):
        workspace = tmp_path / name
        (workspace / "deep").mkdir(parents=True)
        (workspace / "deep" / "file").write_text("x")
        (workspace / "link").symlink_to(outside)

        async def use(sandbox: BubblewrapSandbox) -> None:
            assert (await sandbox.run(["sh", "-c", "echo y > deep/file"])).exit_code == 0

        in_sandbox(workspace, use)
        owners.add((workspace / "deep" / "file").stat().st_uid)
    assert outside.stat().st_uid == 0
    assert len(owners) == 2
    assert 0 not in owners


def test_missing_bubblewrap_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="apt-get install bubblewrap"):
        sandbox_on(tmp_path / "workspace")


def test_a_bubblewrap_that_fails_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert shutil.which("bwrap") == str(fake)
    with pytest.raises(UsageError, match=r"may not create namespaces|forbids user namespaces"):
        asyncio.run(sandbox_on(tmp_path / "workspace").start())


def test_a_forbidding_kernel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = tmp_path / "setting"
    setting.write_text("0\n")
    monkeypatch.setattr(
        prerequisites, "_SETTINGS", {str(setting): ("0", "user.max_user_namespaces=15000")}
    )
    error = prerequisites.explain_failure("bwrap: No permissions to create new namespace")
    assert isinstance(error, UsageError)
    assert "sudo sysctl -w user.max_user_namespaces=15000" in str(error)
