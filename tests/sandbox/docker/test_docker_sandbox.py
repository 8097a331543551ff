"""Containers of a real engine keep the contract of a sandbox, and nothing gets out of them."""

import asyncio
import json
import os
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from attacked_host import NAMES, Host
from docker_engine import BASE, DockerEngine
from machine_code_attempts import PROGRAM, lay_out
from real_engines import wait_for

import mlagentbench
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.sandbox.base import Bind, Limits, SandboxSpec
from mlagentbench.sandbox.docker.container_engine import find_engine
from mlagentbench.sandbox.docker.docker_provider import DOCKER
from mlagentbench.sandbox.docker.docker_sandbox import DockerSandbox
from mlagentbench.tasks.python_env.env import PythonEnv

pytestmark = [pytest.mark.slow, pytest.mark.engine]

OF_THE_IMAGE = {"find_compilers_and_language_runtimes", "make_namespaces"}
"""Containers show all programs of their image, and results say so."""

FORKS = """
import os, time
for _ in range(90):
    os.fork() or time.sleep(20)
time.sleep(20)
"""
GRABS_MEMORY = """
import mmap
memory = mmap.mmap(-1, 2_000_000_000)
for _ in range(200):
    memory.write(bytes(10_000_000))
"""


@pytest.fixture
def bare_env(engine: DockerEngine) -> PythonEnv:
    return asyncio.run(DOCKER.python_envs(None).ensure((), announce=print))


@pytest.fixture
def spec(bare_env: PythonEnv, tmp_path: Path) -> SandboxSpec:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return SandboxSpec(workspace=workspace, python_env=bare_env.directory)


@pytest.fixture(autouse=True)
def nothing_is_left(engine: DockerEngine) -> Iterator[None]:
    yield
    wait_for("its containers are gone", lambda: not engine.containers(), 30)
    assert (engine.volumes(), engine.dangling_images()) == ([], [])


def test_it_keeps_the_contract(engine: DockerEngine) -> None:
    results = DOCKER.check()
    assert len(results) == 17
    assert [result for result in results if not result.ok] == []


def test_no_attack_succeeds(spec: SandboxSpec, tmp_path: Path) -> None:
    async def loot(host: Host) -> dict[str, list[str]]:
        given = spec.model_copy(update={"workspace": host.workspace, "binds": host.binds})
        async with DockerSandbox(given) as sandbox:
            result = await sandbox.run(["python3", "attacks.py", "facts.json"], timeout=100)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    with ExitStack() as stack:
        host = Host(tmp_path / "host", stack)
        found = asyncio.run(loot(host))
        assert (host.public / "data.csv").read_text() == "public"
    assert set(found) == set(NAMES)
    assert {name: got for name, got in found.items() if got and name not in OF_THE_IMAGE} == {}
    assert found["make_namespaces"] == ["ran unshare"]  # which is in the image, and was refused


def test_the_container_is_closed(
    engine: DockerEngine, spec: SandboxSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_TEST_KEY", "secret")
    limits = Limits(memory=500_000_000, processes=50)
    given = spec.model_copy(update={"limits": limits, "cores": (0,)})

    async def inspected() -> tuple[dict, str]:
        async with DockerSandbox(given) as sandbox:
            [container] = engine.containers()
            told = await sandbox.run(["sh", "-c", "nproc; env; cat /proc/mounts"])
            return json.loads(engine.ask("container", "inspect", container))[0], told.output

    facts, told = asyncio.run(inspected())
    host = facts["HostConfig"]
    assert (host["NetworkMode"], host["IpcMode"]) == ("none", "private")
    assert host["ReadonlyRootfs"] and host["AutoRemove"] and not host["Privileged"]
    assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], None)
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["PidsLimit"] == 4 * 50 + 256 and host["CpusetCpus"] == "0"
    assert 500_000_000 < host["Memory"] == host["MemorySwap"]
    assert facts["Config"]["Healthcheck"] == {"Test": ["NONE"]} and not facts["Config"]["Volumes"]
    assert facts["Config"]["User"].split(":")[0] != "0"
    assert told.splitlines()[0] == "1"
    assert "secret" not in told + json.dumps(facts)


def test_only_installed_machine_code_runs_where_nothing_else_may(spec: SandboxSpec) -> None:
    outputs = spec.workspace / "outputs"
    outputs.mkdir()
    lay_out(spec.workspace)
    bind = Bind(source=outputs, target="/workspace/outputs", writable=True)

    async def succeeded(machine_code: str) -> set[str]:
        given = spec.model_copy(update={"machine_code": machine_code, "binds": (bind,)})
        async with DockerSandbox(given) as sandbox:
            result = await sandbox.run(["python3", PROGRAM.name])
        assert result.exit_code == 0, result.output
        return {name for name, won in json.loads(result.stdout).items() if won}

    assert asyncio.run(succeeded("installed")) == set()
    assert len(asyncio.run(succeeded("any"))) > 20


@pytest.mark.parametrize(
    ("limit", "script"),
    [
        ("memory", "x = bytearray(600_000_000); import time; time.sleep(20)"),
        ("processes", FORKS),
        ("tmp size", "open('/tmp/x', 'wb').write(bytes(80_000_000))"),
        ("file size", "open('x', 'wb').write(bytes(60_000_000))"),
        ("workspace size", "for i in range(9):\n  open(f'{i}', 'wb').write(bytes(40_000_000))"),
        ("wall time", "import time; time.sleep(20)"),
    ],
)
def test_a_limit_ends_the_command(spec: SandboxSpec, limit: str, script: str) -> None:
    limits = Limits(
        wall_time=6,
        memory=400_000_000,
        processes=40,
        tmp_size=30_000_000,
        file_size=50_000_000,
        workspace_size=200_000_000,
    )

    async def run() -> None:
        async with DockerSandbox(spec.model_copy(update={"limits": limits})) as sandbox:
            result = await sandbox.run(["python3", "-c", script])
            assert result.limit is not None and result.limit.name == limit, result
            assert (await sandbox.run(["echo", "alive"])).output == "alive\n"

    asyncio.run(run())


def test_the_kernel_ends_what_takes_memory_too_fast(spec: SandboxSpec) -> None:
    """Before the harness looks; the container's limit includes its files in memory."""
    limits = Limits(memory=100_000_000, tmp_size=10_000_000)

    async def run() -> None:
        async with DockerSandbox(spec.model_copy(update={"limits": limits})) as sandbox:
            result = await sandbox.run(["python3", "-c", GRABS_MEMORY])
            assert result.limit is not None and result.limit.name == "memory", result
            assert (await sandbox.run(["echo", "alive"])).output == "alive\n"

    asyncio.run(run())


def test_a_killed_container_is_replaced(spec: SandboxSpec) -> None:
    async def run() -> None:
        async with DockerSandbox(spec) as sandbox:
            await sandbox.write("kept.txt", b"kept")
            first = sandbox.identity
            os.kill(first.pid, signal.SIGKILL)
            assert (await sandbox.run(["true"])).restarted
            assert (await sandbox.run(["cat", "kept.txt"])).output == "kept"
            assert sandbox.identity != first

    asyncio.run(run())


def test_a_frozen_container_does_not_run(spec: SandboxSpec) -> None:
    """Timed grading relies on it."""
    (spec.workspace / "busy.py").write_text("while True: pass")

    async def run() -> None:
        async with DockerSandbox(spec) as sandbox:
            process = await sandbox.open_process(["python3", "busy.py"])
            await asyncio.sleep(0.5)
            sandbox.freeze()
            used = sandbox.processor_time()
            assert used > 0.1
            time.sleep(0.5)
            assert sandbox.stayed_frozen()
            sandbox.thaw()
            await asyncio.sleep(0.3)
            assert not sandbox.stayed_frozen()
            sandbox.freeze()
            assert sandbox.processor_time() > used + 0.05
            sandbox.thaw()
            await process.close()

    asyncio.run(run())


def test_a_container_that_was_left_is_removed(engine: DockerEngine, spec: SandboxSpec) -> None:
    async def run() -> None:
        async with DockerSandbox(spec) as sandbox:
            written = sandbox.leftover.model_dump_json().encode()
            DOCKER.kill_leftover(written)
            assert engine.containers() == []
            DOCKER.kill_leftover(written)

    asyncio.run(run())


def test_an_image_without_an_environment_is_refused(
    engine: DockerEngine, bare_env: PythonEnv, tmp_path: Path
) -> None:
    with pytest.raises(RunFailed, match="has no facts of an image"):
        DockerSandbox(SandboxSpec(workspace=tmp_path, python_env=tmp_path))
    broken = tmp_path / "without-an-environment"
    broken.mkdir()
    (broken / "env.json").write_bytes((bare_env.directory / "env.json").read_bytes())
    tag = f"mlagentbench-env:{broken.name}"
    engine.ask("tag", BASE, tag)
    with pytest.raises(RunFailed, match="/opt/env/bin/python3"):
        asyncio.run(DockerSandbox(SandboxSpec(workspace=tmp_path, python_env=broken)).start())
    engine.ask("rmi", tag)
    assert find_engine().name == "docker"


def test_a_base_image_with_a_volume_is_refused(engine: DockerEngine) -> None:
    container = engine.ask("create", "--network", "none", BASE, "true").strip()
    image = "mlagentbench-test-volume"
    engine.ask("commit", "--change", "VOLUME /data", container, image)
    engine.ask("rm", "--volumes", container)
    with pytest.raises(UsageError, match=rf"image {image} declares volumes \(/data\)"):
        asyncio.run(DOCKER.python_envs(image).ensure((), announce=print))
    engine.ask("rmi", image)


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as an ordinary user already")
def test_an_ordinary_user_gets_the_same(engine: DockerEngine) -> None:
    """One who may use the engine's socket; with a helper that may change mounts."""
    place = Path(engine.variables["DOCKER_HOST"].removeprefix("unix://"))
    packages = sysconfig.get_path("purelib")
    as_user = ["setpriv", "--reuid=61000", "--regid=61000", "--clear-groups"]
    sources = str(Path(mlagentbench.__file__).parents[1])
    code = "from mlagentbench.cli import main; main()"
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chown(home, 61000, 61000)
        variables = {
            **engine.variables,
            "HOME": home,
            "TMPDIR": home,
            "MLAGENTBENCH_HOME": f"{home}/data",
            "PATH": os.defpath,
            "PYTHONPATH": f"{sources}:{packages}",
        }
        python = [*as_user, "/usr/bin/python3"]
        can = subprocess.run([*python, "-c", "import mlagentbench.cli, numpy"], env=variables)
        if can.returncode:
            pytest.skip("another user cannot import these packages with /usr/bin/python3")
        closed = [folder for folder in place.parents if not folder.stat().st_mode & 0o001]
        modes = {path: path.stat().st_mode for path in (place, *closed)}
        place.chmod(0o666)
        for folder in closed:
            folder.chmod(0o711)
        try:
            command = [*python, "-c", code, "doctor", "--sandbox", "docker"]
            done = subprocess.run(command, env=variables, cwd=home, capture_output=True, text=True)
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
    assert "docker: 17 passed, 0 failed" in done.stdout, done.stdout + done.stderr
