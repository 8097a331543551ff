"""Where only installed machine code may run, every attempt of machine_code.py fails."""

import asyncio
import json
import platform
from pathlib import Path

import pytest
from machine_code_attempts import PROGRAM, lay_out
from sandboxes import sandbox_on

from mlagentbench.errors import RunFailed
from mlagentbench.records import MachineCode
from mlagentbench.sandbox.base import Bind
from mlagentbench.sandbox.bwrap.bubblewrap_provider import BUBBLEWRAP
from mlagentbench.sandbox.executor import noexec
from mlagentbench.sandbox.sandbox_check import check_machine_code

pytestmark = pytest.mark.slow

REFUSED_EVERYWHERE = {
    "attach_shared_memory",
    "load_a_library_from_a_memory_file",
    "rewrite_code_through_proc",
    "submit_to_a_ring",
}
HONEST = """
import json, multiprocessing, os, sqlite3, ssl, sys, threading, zlib
from pathlib import Path

def square(number):
    return number * number

def main():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        squares = pool.map(square, range(4))
    threads = [threading.Thread(target=zlib.compress, args=(bytes(10**6),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = sqlite3.connect(":memory:").execute("select 1 + 1").fetchall()
    maps = Path("/proc/self/maps").read_text().splitlines()
    both = [line for line in maps if "w" in line.split()[1] and "x" in line.split()[1]]
    Path("outputs/written.json").write_text("{}")
    Path("/tmp/scratch").write_text("here")
    import helper
    print(json.dumps([squares, rows, both, sys.argv, helper.__file__, __file__, __name__]))

if __name__ == "__main__":
    main()
"""


def run(workspace: Path, script: str, machine_code: MachineCode, *arguments: str) -> str:
    async def in_sandbox() -> str:
        outputs = workspace / "outputs"
        outputs.mkdir(exist_ok=True)
        bind = Bind(source=outputs, target="/workspace/outputs", writable=True)
        async with sandbox_on(workspace, binds=(bind,), machine_code=machine_code) as sandbox:
            result = await sandbox.run(["python3", script, *arguments])
            assert result.exit_code == 0, result.output
            return result.stdout.decode()

    return asyncio.run(in_sandbox())


def attacks(workspace: Path, machine_code: MachineCode) -> dict[str, bool]:
    workspace.mkdir()
    lay_out(workspace)
    found: dict[str, bool] = json.loads(run(workspace, PROGRAM.name, machine_code))
    return found


def test_no_new_machine_code_and_no_other_program(tmp_path: Path) -> None:
    found = attacks(tmp_path / "workspace", "installed")
    assert len(found) > 30
    assert [name for name, succeeded in found.items() if succeeded] == []


def test_the_same_attempts_succeed_where_any_machine_code_may_run(tmp_path: Path) -> None:
    found = attacks(tmp_path / "workspace", "any")
    assert {name for name, succeeded in found.items() if not succeeded} == REFUSED_EVERYWHERE


def test_an_honest_program_runs_as_usual(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "program.py").write_text(HONEST)
    (workspace / "helper.py").write_text("")
    said = json.loads(run(workspace, "program.py", "installed", "--option", "x"))
    file = "/workspace/program.py"
    assert said == [
        [0, 1, 4, 9], [[2]], [], [file, "--option", "x"], "/workspace/helper.py", file, "__main__",
    ]  # fmt: skip
    assert (workspace / "outputs" / "written.json").read_text() == "{}"


def test_the_submission_is_read_only(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "program.py").write_text(
        "import os\n"
        "for name in ('program.py', 'new.py'):\n"
        "    try:\n"
        "        open(name, 'w')\n"
        "    except OSError as error:\n"
        "        print(error.strerror)\n"
    )
    assert run(workspace, "program.py", "installed") == 2 * "Read-only file system\n"


def test_every_writable_mount_is_noexec(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "program.py").write_text(
        "import os\n"
        "places = {line.split()[4] for line in open('/proc/self/mountinfo')}\n"
        "flags = {place: os.statvfs(place).f_flag for place in places}\n"
        "print(sorted(p for p, f in flags.items() if not f & (os.ST_RDONLY | os.ST_NOEXEC)))\n"
        "print(all(flags[p] & os.ST_NOEXEC for p in ('/workspace', '/workspace/outputs')))\n"
    )
    assert run(workspace, "program.py", "installed") == "[]\nTrue\n"


def test_only_a_python_program_can_be_run(tmp_path: Path) -> None:
    async def start(*command: str) -> None:
        async with sandbox_on(tmp_path / "workspace", machine_code="installed") as sandbox:
            await sandbox.run(command)

    for command in (["true"], ["python3", "-c", "pass"], ["python3"]):
        with pytest.raises(RunFailed, match="is not of the form `python SCRIPT"):
            asyncio.run(start(*command))


def test_an_unknown_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(RunFailed, match="installed machine code on riscv64, only on x86_64 and"):
        asyncio.run(sandbox_on(tmp_path / "workspace", machine_code="installed").start())


def test_doctor_tests_it() -> None:
    result = asyncio.run(check_machine_code(BUBBLEWRAP))
    assert (result.ok, result.problem) == (True, "")


def test_doctor_finds_mounts_that_allow_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = tmp_path / "nothing.py"
    nothing.write_text("")
    monkeypatch.setattr(noexec, "NOEXEC_PROGRAM", nothing)
    result = asyncio.run(check_machine_code(BUBBLEWRAP))
    assert not result.ok
    assert result.problem.splitlines() == [
        f"executing a file in {place} is possible"
        for place in ("/tmp", "/var/tmp", "/dev/shm", "/home/agent")
    ]


def test_a_machine_that_cannot_change_the_mounts_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise PermissionError(1, 'Operation not permitted', 'mount namespace')")
    monkeypatch.setattr(noexec, "NOEXEC_PROGRAM", broken)
    result = asyncio.run(check_machine_code(BUBBLEWRAP))
    assert "cannot forbid new machine code in the sandbox: PermissionError" in result.problem
