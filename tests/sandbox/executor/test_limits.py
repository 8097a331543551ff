"""Every limit ends the command and is named; the sandbox goes on."""

import asyncio
import sys
import time
from pathlib import Path

import pytest
from sandboxes import PYTHON, sandbox_on

from mlagentbench.sandbox.base import CommandResult, LimitName, Limits
from mlagentbench.sandbox.executor.limits import directory_size

MEGABYTE = 1_000_000
LIMITS = Limits(
    wall_time=20,
    memory=200 * MEGABYTE,
    processes=40,
    file_size=3 * MEGABYTE,
    workspace_size=20 * MEGABYTE,
    tmp_size=2 * MEGABYTE,
    output_size=MEGABYTE,
)
BREAKERS: dict[str, tuple[LimitName, str, str]] = {
    "allocates": (
        "memory", "200 MB", "x = bytearray(400_000_000); import time; time.sleep(30)",
    ),
    "allocates in many processes": (
        "memory", "200 MB",
        "import os, time\nfor _ in range(10):\n    if os.fork() == 0:\n"
        "        x = bytearray(40_000_000); time.sleep(30)\ntime.sleep(30)",
    ),
    "forks": (
        "processes", "40",
        "import os, time\nfor _ in range(60):\n    if os.fork() == 0: time.sleep(30)\n"
        "time.sleep(30)",
    ),
    "fork bomb": (
        "processes", "40",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    ),
    "thread bomb": (
        "processes", "40",
        "import threading, time\nwhile True:\n"
        "    try: threading.Thread(target=time.sleep, args=(30,)).start()\n"
        "    except RuntimeError: time.sleep(1)",
    ),
    "writes a large file": (
        "file size", "3 MB", "open('large', 'wb').write(bytes(5_000_000))",
    ),
    "writes a large file in C": ("file size", "3 MB", "sh:head -c 5000000 /dev/zero > large"),
    "writes many files": (
        "workspace size", "20 MB",
        "import time\nfor n in range(15): open(f'f{n}', 'wb').write(bytes(2_000_000))\n"
        "time.sleep(30)",
    ),
    "writes many files quickly": (
        "workspace size", "20 MB",
        "for n in range(15): open(f'f{n}', 'wb').write(b'x' * 2_000_000)\nimport os; os.sync()",
    ),
    "fills /tmp": (
        "tmp size", "2 MB", "open('/tmp/x', 'wb').write(bytes(2_500_000))",
    ),
    "fills /dev/shm and goes on": (
        "tmp size", "2 MB",
        "import time\ntry: open('/dev/shm/x', 'wb').write(bytes(2_500_000))\n"
        "except OSError: time.sleep(30)",
    ),
    "talks": (
        "output size", "1 MB", "while True: print('x' * 10000)",
    ),
    "talks on stderr": (
        "output size", "1 MB", "import sys\nwhile True: sys.stderr.write('x' * 10000)",
    ),
}  # fmt: skip


def run(workspace: Path, script: str, limits: Limits = LIMITS) -> tuple[CommandResult, str]:
    """The result of a script, and what a harmless command says after it."""

    async def both() -> tuple[CommandResult, str]:
        async with sandbox_on(workspace, limits=limits) as sandbox:
            command = ["sh", "-c", script[3:]] if script[:3] == "sh:" else [PYTHON, "-c", script]
            result = await sandbox.run(command)
            await sandbox.run(["find", "/workspace", "-type", "f", "-delete"])
            after = await sandbox.run(["echo", "still here"])
            assert after.limit is None
            assert not after.restarted
            return result, after.output

    return asyncio.run(both())


@pytest.mark.parametrize("what", BREAKERS)
def test_a_broken_limit_is_named(what: str, tmp_path: Path) -> None:
    name, value, script = BREAKERS[what]
    result, after = run(tmp_path / "workspace", script)
    assert result.limit is not None, result
    assert (result.limit.name, result.limit.value) == (name, value)
    assert str(result.limit) == f"ended by the limit on {name} ({value})"
    assert after == "still here\n"
    assert not result.restarted


def test_wall_time(tmp_path: Path) -> None:
    async def both() -> None:
        async with sandbox_on(tmp_path / "workspace", limits=Limits(wall_time=1.0)) as sandbox:
            begun = time.monotonic()
            result = await sandbox.run(["sh", "-c", "echo begun; sleep 600"])
            assert time.monotonic() - begun < 100
            assert (result.output, result.exit_code) == ("begun\n", None)
            assert str(result.limit) == "ended by the limit on wall time (1 s)"
            longer = await sandbox.run(["sleep", "1.2"], timeout=30)
            assert (longer.exit_code, longer.limit) == (0, None)

    asyncio.run(both())


def test_shared_memory_counts_once(tmp_path: Path) -> None:
    """Workers that share what their parent holds are not taken for many times as much."""
    script = (
        "import os, time\nx = b'x' * 90_000_000\n"
        "for _ in range(5):\n    if os.fork() == 0: time.sleep(1); os._exit(0)\n"
        "time.sleep(1)"
    )
    result, _after = run(tmp_path / "workspace", script)
    assert (result.exit_code, result.limit) == (0, None)


def test_what_is_within_the_limits_is_left_alone(tmp_path: Path) -> None:
    script = (
        "import time; x = bytearray(100_000_000); open('f', 'wb').write(bytes(2_000_000));"
        "open('/tmp/f', 'wb').write(bytes(1_000_000)); print('x' * 900_000); time.sleep(0.4)"
    )
    result, _after = run(tmp_path / "workspace", script)
    assert (result.exit_code, result.limit) == (0, None)
    assert len(result.output) == 900_001


def test_threads_follow_the_cpus(tmp_path: Path) -> None:
    script = "import os; print(os.environ['OMP_NUM_THREADS'])"
    result, _after = run(tmp_path / "workspace", script, Limits(cpus=3))
    assert result.output == "3\n"


def test_directory_size_counts_links_once_and_follows_none(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_bytes(bytes(50_000))
    (tmp_path / "deep" / "b").hardlink_to(tmp_path / "deep" / "a")
    (tmp_path / "elsewhere").symlink_to(sys.base_prefix)
    (tmp_path / "public").write_bytes(bytes(90_000))
    assert 50_000 <= directory_size(tmp_path, {"public"}) < 80_000
