"""Our provider as Inspect sees it, and Inspect's own `local` as our environment sees it."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from inspect_ai.util import OutputLimitExceededError, SandboxUserUnsupportedError
from inspect_ai.util._sandbox.limits import override_max_exec_output_size
from inspect_ai.util._sandbox.local import LocalSandboxEnvironment
from sandboxes import sandbox_on

from mlagentbench.sandbox.base import Limits
from mlagentbench.sandbox.inspect_adapter import InspectSandbox
from mlagentbench.sandbox.inspect_provider import BubblewrapSandboxEnvironment


def with_provider(use: Callable[[BubblewrapSandboxEnvironment], Awaitable[None]]) -> None:
    async def run() -> None:
        environments = await BubblewrapSandboxEnvironment.sample_init("task", None, {})
        environment = environments["default"].as_type(BubblewrapSandboxEnvironment)
        try:
            await use(environment)
        finally:
            await BubblewrapSandboxEnvironment.sample_cleanup("task", None, environments, False)

    asyncio.run(run())


def workspaces() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"mlagentbench-{os.getpid()}-sandbox-*"))


def test_it_starts_at_first_use_and_leaves_nothing() -> None:
    before = workspaces()

    async def use(environment: BubblewrapSandboxEnvironment) -> None:
        assert workspaces() == before
        assert (await environment.exec(["pwd"])).stdout == "/workspace\n"
        assert len(workspaces() - before) == 1

    with_provider(use)
    assert workspaces() == before


def test_a_run_attaches_its_own_sandbox(tmp_path: Path) -> None:
    async def use(environment: BubblewrapSandboxEnvironment) -> None:
        sandbox = sandbox_on(tmp_path / "workspace")
        await environment.attach(sandbox)
        await environment.write_file("hello.txt", "hello")
        assert await sandbox.read("hello.txt") == b"hello"

    with_provider(use)
    assert (tmp_path / "workspace" / "hello.txt").read_text() == "hello"


def test_another_user_does_not_start_it() -> None:
    before = workspaces()

    async def use(environment: BubblewrapSandboxEnvironment) -> None:
        with pytest.raises(SandboxUserUnsupportedError):
            await environment.exec(["id"], user="root")
        assert workspaces() == before

    with_provider(use)


def test_too_much_output_is_inspects_error() -> None:
    async def use(environment: BubblewrapSandboxEnvironment) -> None:
        with override_max_exec_output_size(10_000), pytest.raises(OutputLimitExceededError):
            await environment.exec(["head", "-c", "15000", "/dev/zero"])

    with_provider(use)


def test_leftovers_of_killed_harnesses_are_cleaned_up() -> None:
    dead = Path(tempfile.mkdtemp(prefix="mlagentbench-999999999-"))
    living = Path(tempfile.mkdtemp(prefix=f"mlagentbench-{os.getpid()}-"))
    asyncio.run(BubblewrapSandboxEnvironment.cli_cleanup(None))
    assert not dead.exists()
    assert living.exists()
    living.rmdir()


@pytest.mark.slow
def test_inspects_local_sandbox_behind_our_contract() -> None:
    async def run() -> None:
        local = LocalSandboxEnvironment()
        sandbox = InspectSandbox(local, Limits(wall_time=1), env={"SEED": "7"})
        await sandbox.write("/workspace/deep/file.bin", b"\xff\x00")
        assert await sandbox.read("deep/file.bin") == b"\xff\x00"
        seen: list[bytes] = []
        result = await sandbox.run(
            ["sh", "-c", "cat; echo $SEED; ls >&2; exit 3"],
            stdin=b"in\n",
            cwd="/workspace/deep",
            on_output=seen.append,
        )
        assert (result.exit_code, result.stdout, result.stderr) == (3, b"in\n7\n", b"file.bin\n")
        assert b"".join(seen) == b"in\n7\nfile.bin\n"
        assert (await sandbox.run(["sh", "-c", "kill -TERM $$"])).exit_code == 143
        assert (await sandbox.run(["no-such-command"])).exit_code == 127
        slow = await sandbox.run(["sleep", "5"])
        assert str(slow.limit) == "ended by the limit on wall time (1 s)"
        with pytest.raises(FileNotFoundError):
            await sandbox.read("nothing")
        local.directory.cleanup()

    asyncio.run(run())
