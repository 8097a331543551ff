"""A sandbox shows the same of every machine: what is listed, and nothing else."""

import asyncio
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from sandboxes import HOST_PYTHON, PYTHON, sandbox_on

from mlagentbench.errors import UsageError
from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.sandbox.bwrap.visible import tools
from mlagentbench.sandbox.bwrap.visible.host_view import HostView
from mlagentbench.tasks.spec import ToolName

RUNS: dict[ToolName, str] = {
    "gcc": "echo 'int main(void) { return 42; }' > x.c && gcc -o x x.c && ./x; test $? = 42",
    "git": "git init -q there && git -C there status",
    "node": "node -e 'process.exit(0)'",
    "perl": "perl -MPOSIX -e 'exit floor(0.5)'",
}


def said(workspace: Path, script: str, asked: tuple[ToolName, ...] = ()) -> tuple[int | None, str]:
    async def run() -> tuple[int | None, str]:
        async with sandbox_on(workspace, tools=asked) as sandbox:
            result = await sandbox.run(["sh", "-c", script])
            return result.exit_code, result.output

    return asyncio.run(run())


def test_commands_are_the_listed_ones(tmp_path: Path) -> None:
    _code, output = said(tmp_path / "workspace", "ls -A /usr/bin; ls -A /bin; ls -A /sbin")
    names = {name for name in output.split() if not name.startswith("python")}
    assert names == set(tools.BASIC)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_tool_is_visible_where_it_was_asked_for(tmp_path: Path, name: ToolName) -> None:
    if tools.find_command(tools.TOOLCHAINS[name].commands[0]) is None:
        pytest.skip(f"this machine has no {name}")
    assert said(tmp_path / "with", RUNS[name], (name,))[0] == 0
    assert said(tmp_path / "without", RUNS[name])[0] != 0
    others = tuple(other for other in RUNS if other != name)
    asked = others[:1] if tools.find_command(others[0]) else ()
    assert said(tmp_path / "other", RUNS[name], asked)[0] != 0


def test_every_tool_is_tested() -> None:
    assert set(RUNS) == set(tools.TOOLCHAINS)


def machine_without(directory: Path, *missing: str) -> str:
    """A directory with the commands of every sandbox, except some."""
    directory.mkdir()
    for name in tools.BASIC:
        place = tools.find_command(name)
        if name not in missing and place is not None:
            (directory / name).symlink_to(place)
    return str(directory)


def test_a_missing_tool_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "SEARCHED", machine_without(tmp_path / "bin"))
    with pytest.raises(UsageError, match=r"my-task asks for gcc.*apt-get install gcc"):
        tools.require_tools(["gcc"], "my-task")
    tools.require_commands()


def test_a_missing_command_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "SEARCHED", machine_without(tmp_path / "bin", "tar", "awk"))
    with pytest.raises(UsageError, match=r"commands awk, tar, which this machine lacks"):
        tools.require_commands()


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A prefix as conda's, with much besides its interpreter."""
    for name in ("bin/python3.11", "bin/gcc", "bin/perl", "lib/libz.so.1", "lib/libssl.so.3"):
        place = tmp_path / "prefix" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("")
    (tmp_path / "prefix" / "bin" / "python3").symlink_to("python3.11")
    for name in ("lib/gcc/x86_64/cc1", "lib/python3.11/os.py", "lib/python3.12/os.py"):
        place = tmp_path / "prefix" / name
        place.parent.mkdir(parents=True)
        place.write_text("")
    for name in ("libLLVM-15.so", "libpython3.11.so.1.0", "libffi.so.8", "libbz2.so"):
        (tmp_path / "prefix" / "lib" / name).write_text("")
    return tmp_path / "prefix"


def mounts_of(prefix: Path) -> list[list[str]]:
    words = HostView(prefix, (), gpus=False, bwrap=None).options
    starts = [n for n, word in enumerate(words) if word.startswith("--")] + [len(words)]
    found = [list(words[a:b]) for a, b in itertools.pairwise(starts)]
    return [mount for mount in found if mount[-1].startswith("/opt/")]


def test_a_prefix_shows_its_interpreter_and_libraries_only(prefix: Path) -> None:
    mounts = mounts_of(prefix)
    assert ["--ro-bind", str(prefix / "lib"), "/opt/python/lib"] in mounts
    covered = {mount[-1]: mount[1] for mount in mounts if str(prefix) not in mount[1]}
    binaries = Path(covered.pop("/opt/python/bin"))
    assert {place.name for place in binaries.iterdir()} == {"python", "python3", "python3.11"}
    assert covered.pop("/opt/python/lib/libLLVM-15.so") == "/dev/null"
    assert {name for name in covered if name.startswith("/opt/python/lib")} == {
        "/opt/python/lib/gcc",
        "/opt/python/lib/python3.12",
    }


def test_few_libraries_are_bound_one_by_one(prefix: Path) -> None:
    for number in range(10):
        (prefix / "lib" / f"folder{number}").mkdir()
    (prefix / "lib" / "libz.so").symlink_to("libz.so.1")
    mounts = mounts_of(prefix)
    shown = {mount[-1] for mount in mounts if mount[0] in ("--ro-bind", "--symlink")}
    assert {name for name in shown if name.startswith("/opt/python/lib/")} == {
        f"/opt/python/lib/{name}"
        for name in (
            *("libz.so", "libz.so.1", "libssl.so.3", "libffi.so.8", "libbz2.so"),
            *("libpython3.11.so.1.0", "python3.11"),
        )
    }


SEEN = """
import glob, json, os, sys, sysconfig, traceback
import leaky
found = {}
try:
    leaky.fail()
except ValueError:
    found["traceback"] = traceback.format_exc()
for name in ("cmdline", "environ", "maps", "cgroup"):
    for place in glob.glob(f"/proc/[0-9]*/{name}"):
        try:
            found[place] = open(place, "rb").read().decode("utf-8", "replace")
        except OSError:
            continue
found["paths"] = repr((sys.path, sys.prefix, sys.base_prefix, sys.executable, os.__file__))
found["settings"] = repr(sysconfig.get_config_vars())
found["configuration"] = open(f"{sys.prefix}/pyvenv.cfg").read()
found["script"] = open(f"{sys.prefix}/bin/tool").read()
walked = [os.walk(top) for top in os.scandir("/") if top.is_dir() and top.name != "proc"]
found["files"] = repr([folder + str(names) for walk in walked for folder, _, names in walk])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_paths_of_the_host_are_not_visible(tmp_path: Path) -> None:
    """Except in mountinfo, where no process can be kept from reading where binds come from."""
    venv = tmp_path / "alice" / "venv"
    venv.parent.mkdir()
    subprocess.run([HOST_PYTHON, "-m", "venv", "--without-pip", str(venv)], check=True)
    (package,) = venv.glob("lib/python*/site-packages")
    (package / "leaky.py").write_text("def fail():\n    raise ValueError('no')\n")
    subprocess.run([venv / "bin" / "python", "-c", "import leaky"], check=True)
    tool = venv / "bin" / "tool"
    tool.write_text(f"#!{venv}/bin/python\nimport leaky, sys\nprint(leaky.__file__)\n")
    tool.chmod(0o755)
    workspace = tmp_path / "alice" / "workspace"
    workspace.mkdir()

    async def run() -> tuple[str, str]:
        spec = SandboxSpec(workspace=workspace, python_env=venv)
        async with BubblewrapSandbox(spec) as sandbox:
            seen = await sandbox.run([PYTHON, "-c", SEEN])
            return seen.output, (await sandbox.run(["tool"])).output

    output, of_tool = asyncio.run(run())
    found = json.loads(output)
    assert "/opt/env/lib" in found["traceback"]
    host = sys.base_prefix
    moved = not host.startswith("/usr")
    shown = [what for what, text in found.items() if "alice" in text or (moved and host in text)]
    assert shown == []
    version = "python{}.{}".format(*sys.version_info[:2])
    assert of_tool == f"/opt/env/lib/{version}/site-packages/leaky.py\n"
