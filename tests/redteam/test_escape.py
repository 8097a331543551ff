"""Nothing gets out: every attempt of attacks.py is made for real, and none may succeed."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from attacked_host import ATTACKS, NAMES, Host
from sandboxes import HOST_PYTHON, PYTHON, sandbox_on

from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox

pytestmark = pytest.mark.slow

HARMLESS_OUTSIDE = (
    "use_inherited_descriptors",
    "read_what_is_hidden",
    "read_environments_and_command_lines",
    "see_or_signal_processes_of_the_host",
    "reach_the_network",
    "find_compilers_and_language_runtimes",
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with ExitStack() as stack:
        yield Host(tmp_path_factory.mktemp("host"), stack)


@pytest.fixture(scope="module")
def loot(host: Host) -> dict[str, list[str]]:
    async def run() -> dict[str, list[str]]:
        async with sandbox_on(host.workspace, binds=host.binds) as sandbox:
            result = await sandbox.run([PYTHON, "attacks.py", "facts.json"], timeout=100)
            assert result.exit_code == 0, result.output
            found: dict[str, list[str]] = json.loads(result.stdout)
            return found

    return asyncio.run(run())


@pytest.mark.parametrize("name", NAMES)
def test_attack_fails(name: str, loot: dict[str, list[str]]) -> None:
    assert loot[name] == []


def test_read_only_data_is_as_it_was(host: Host, loot: dict[str, list[str]]) -> None:
    assert (host.public / "data.csv").read_text() == "public"
    assert (host.public / "folder" / "inner.csv").read_text() == "public"


def test_the_same_attacks_succeed_without_a_sandbox(host: Host) -> None:
    facts = json.loads(host.facts.read_text())
    outside = host.workspace / "outside.json"
    outside.write_text(json.dumps({**facts, "walked": "/usr/bin"}))
    command: list[str] = [sys.executable, str(ATTACKS), str(outside), *HARMLESS_OUTSIDE]
    done = subprocess.run(
        command, capture_output=True, check=True, cwd=host.workspace, pass_fds=[host.inheritable]
    )
    found = json.loads(done.stdout)
    assert set(found) == set(HARMLESS_OUTSIDE) <= set(NAMES)
    assert [name for name, got in found.items() if not got] == []


def test_packages_of_the_base_interpreter_are_hidden(tmp_path: Path) -> None:
    """Also where our own package was installed without a venv."""
    prefix = tmp_path / "prefix"
    packages = prefix / "lib" / "python3.99" / "site-packages" / "mlagentbench"
    packages.mkdir(parents=True)
    (packages / "grade.py").write_text("answers")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python3").symlink_to(HOST_PYTHON)
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    async def run() -> str:
        spec = SandboxSpec(workspace=workspace, python_env=prefix)
        async with BubblewrapSandbox(spec) as sandbox:
            command = [
                "find",
                "/",
                "-path",
                "/proc",
                "-prune",
                "-o",
                "-name",
                "*mlagent*",
                "-print",
            ]
            return (await sandbox.run(command)).stdout.decode()

    assert asyncio.run(run()) == ""


def test_a_venv_shows_its_own_packages_only(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([HOST_PYTHON, "-m", "venv", "--without-pip", str(venv)], check=True)
    (package,) = venv.glob("lib/python*/site-packages")
    (package / "visible_inside.py").write_text("answer = 42")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    script = "import sys, visible_inside; print(visible_inside.answer, sys.prefix)"

    async def run() -> str:
        spec = SandboxSpec(workspace=workspace, python_env=venv)
        async with BubblewrapSandbox(spec) as sandbox:
            return (await sandbox.run(["python", "-c", script])).output

    assert asyncio.run(run()) == "42 /opt/env\n"


def test_what_people_keep_below_usr_is_hidden(tmp_path: Path) -> None:
    async def listed() -> str:
        async with sandbox_on(tmp_path / "workspace") as sandbox:
            return (await sandbox.run(["find", "/usr", "-maxdepth", "1"])).stdout.decode()

    known = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "share", "local"}
    below = {Path(name).name for name in asyncio.run(listed()).split()[1:]}
    assert {"bin", "lib"} <= below <= known
