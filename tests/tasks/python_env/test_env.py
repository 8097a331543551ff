"""Python environments built by the real pip, from a package index of the test's own."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_disk import on_small_disk
from wheels import PackageIndex

from mlagentbench.errors import UsageError
from mlagentbench.tasks.python_env import installer
from mlagentbench.tasks.python_env.env import (
    AddedPackages,
    PythonEnv,
    ensure_python_env,
    find_python_env,
)

pytestmark = pytest.mark.slow

without_gpu = pytest.mark.skipif(
    any(Path("/dev").glob("nvidia[0-9]*")), reason="this machine has an NVIDIA GPU"
)


@pytest.fixture(scope="session")
def new_pip(kept_home: Path) -> Path | None:
    """A pip that resolves without downloading, where the one of the tests does not."""
    if (installer.own_pip() or (0,)) >= installer.RESOLVES_WITHOUT_DOWNLOADING:
        return None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(kept_home))
        asyncio.run(installer.find_pip(print))
    if not (kept_home / "envs" / "pip" / "ready").exists():
        pytest.skip("pip is old and cannot be updated")
    return kept_home / "envs" / "pip"


def own_index(root: Path, patch: pytest.MonkeyPatch, new_pip: Path | None) -> PackageIndex:
    """Make an index with two packages the only one that pip knows; the home is `root`/home."""
    if new_pip is not None:
        (root / "home" / "envs").mkdir(parents=True)
        (root / "home" / "envs" / "pip").symlink_to(new_pip)
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_", "MLAGENTBENCH_TORCH", "MLAGENTBENCH_ALLOW")):
            patch.delenv(name)
    made = PackageIndex(root / "index")
    made.add("alpha", requires=["beta>=1"])
    made.add("beta", version="1.0")
    made.add("beta", version="2.0")
    patch.setenv("PIP_CONFIG_FILE", os.devnull)
    patch.setenv("PIP_NO_CACHE_DIR", "1")
    patch.setenv("PIP_INDEX_URL", made.url)
    return made


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_pip: Path | None) -> PackageIndex:
    return own_index(tmp_path, monkeypatch, new_pip)


def build(*requirements: str, **options: Any) -> PythonEnv:
    said: list[str] = options.pop("said", [])
    return asyncio.run(ensure_python_env(requirements, announce=said.append, **options))


def in_env(env: PythonEnv, program: str) -> Any:
    done = subprocess.run(
        [env.python, "-B", "-c", f"import json, sys; print(json.dumps({program}))"],
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
        cwd="/",
    )
    return json.loads(done.stdout)


class Built(NamedTuple):
    env: PythonEnv
    home: Path
    said: list[str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, new_pip: Path | None) -> Built:
    """alpha, built by a person with a strict umask and a PYTHONPATH that seems to hold beta."""
    root, said = tmp_path_factory.mktemp("built"), list[str]()
    info = root / "elsewhere" / "beta-2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: beta\nVersion: 2.0\n")
    with pytest.MonkeyPatch.context() as patch:
        own_index(root, patch, new_pip)
        patch.setenv("MLAGENTBENCH_HOME", str(root / "home"))
        patch.setenv("PYTHONPATH", str(info.parent))
        before = os.umask(0o077)
        try:
            env = build("alpha", said=said)
        finally:
            os.umask(before)
    return Built(env, root / "home", said)


@pytest.fixture
def same_home(built: Built, monkeypatch: pytest.MonkeyPatch) -> PythonEnv:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(built.home))
    return built.env


def test_builds_what_was_asked_and_nothing_else(built: Built) -> None:
    env = built.env
    assert env.packages == {"alpha": "1.0", "beta": "2.0"}
    assert in_env(env, "[__import__(name).VERSION for name in ('alpha', 'beta')]") == ["1.0", "2.0"]
    names = in_env(
        env, "sorted(d.name for d in __import__('importlib.metadata').metadata.distributions())"
    )
    assert names == ["alpha", "beta"]
    assert in_env(env, "sys.version.split()[0]") == env.python_version
    assert built.said == ["2 packages: 0.0 MB from local files"]


def test_nothing_of_the_harness_is_visible(built: Built) -> None:
    found = "[__import__('importlib.util').util.find_spec(n) is None for n in %r]"
    hidden = ["mlagentbench", "pydantic", "inspect_ai", "pip"]
    assert in_env(built.env, found % hidden) == [True] * 4
    inside = [path for path in in_env(built.env, "sys.path") if "site-packages" in path]
    assert inside and all(path.startswith(str(built.env.directory)) for path in inside)


def test_lock_file(built: Built) -> None:
    lines = (built.env.directory / "requirements.lock").read_text().splitlines()
    assert [line.split(" --hash=sha256:")[0] for line in lines] == ["alpha==1.0", "beta==2.0"]
    assert all(len(line.split(" --hash=sha256:")[1]) == 64 for line in lines)


def test_bytecode_is_compiled_and_everybody_may_read(built: Built) -> None:
    paths = [built.env.directory, *built.env.directory.rglob("*")]
    assert any(path.name.startswith("alpha.cpython") for path in paths)
    for path in paths:
        if not path.is_symlink():
            mode = path.stat().st_mode
            assert mode & 0o004 and (not path.is_dir() or mode & 0o001), path


def test_found_again_without_an_index(
    same_home: PythonEnv, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "file:///nowhere")
    assert find_python_env(["alpha"]) == same_home == build(" alpha ")
    assert find_python_env(["beta"]) is None


def test_same_packages_are_shared(same_home: PythonEnv, index: PackageIndex) -> None:
    inode = (same_home.directory / "pyvenv.cfg").stat().st_ino
    assert build("alpha==1.0", "beta >= 2") == same_home
    assert (same_home.directory / "pyvenv.cfg").stat().st_ino == inode
    assert find_python_env(["beta>=2", "alpha==1.0"]) == same_home


def test_pip_says_why(index: PackageIndex, home: Path) -> None:
    with pytest.raises(UsageError, match="No matching distribution found for gamma"):
        build("alpha", "gamma")
    assert not list(home.glob("envs/*-*"))


def test_an_agent_adds_packages_without_their_pins_and_without_what_must_not_be_there(
    index: PackageIndex, home: Path
) -> None:
    index.add("agent", requires=["beta==2.0", "a-hundred-others"])
    index.add("helper")
    added = AddedPackages(
        requirements=("helper",),
        without_dependencies=("agent==1.0",),
        removed=("agent-1.0.dist-info",),
    )
    env = build("beta<2", added=added)
    assert env.packages == {"agent": "1.0", "beta": "1.0", "helper": "1.0"}
    assert in_env(env, "__import__('agent').VERSION") == "1.0"
    assert not list(env.directory.rglob("agent-1.0.dist-info"))
    assert find_python_env(["beta<2"], added) == env
    assert find_python_env(["beta<2"]) is None, "the task's own environment is another one"
    whole = added.model_copy(update={"removed": ()})
    assert build("beta<2", added=whole).hash != env.hash


def test_what_cannot_be_removed_is_named(index: PackageIndex, home: Path) -> None:
    added = AddedPackages(without_dependencies=("alpha",), removed=("alpha/answers",))
    with pytest.raises(UsageError, match="alpha/answers is not among the installed packages"):
        build("beta", added=added)
    assert not list(home.glob("envs/*-*"))


def test_half_made_ones_are_wiped_and_two_at_once_build_one(index: PackageIndex) -> None:
    async def both() -> list[PythonEnv]:
        say = list[str]().append
        return await asyncio.gather(
            *(ensure_python_env(wanted, announce=say) for wanted in (["beta"], ["beta"]))
        )

    env, same = asyncio.run(both())
    assert env == same
    (env.directory / "env.json").rename(env.directory / "junk")
    assert find_python_env(["beta"]) is None
    assert build("beta") == env and not (env.directory / "junk").exists()
    env.python.unlink()
    assert find_python_env(["beta"]) is None


@pytest.fixture
def torch(index: PackageIndex) -> PackageIndex:
    """A torch that wants CUDA, as on the common index."""
    index.add("torch", "2.0", requires=["nvidia-cublas", "triton"])
    index.add("nvidia-cublas", "13.1", size=3_000_000)
    index.add("triton", "3.0")
    index.add("lightning", "1.0", requires=["torch"])
    return index


@without_gpu
@pytest.mark.parametrize("asked", ["torch>=2", "lightning"])
def test_no_cuda_by_surprise(
    torch: PackageIndex, home: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_TORCH_INDEX", "http://127.0.0.1:9/cpu")
    said: list[str] = []
    with pytest.raises(UsageError) as raised:
        build(asked, said=said)
    text = str(raised.value)
    assert "nvidia-cublas==13.1, triton==3.0; 3.0 MB" in text
    assert "MLAGENTBENCH_ALLOW_CUDA=1" in text and "MLAGENTBENCH_TORCH_INDEX" in text
    assert said == [
        "http://127.0.0.1:9/cpu does not respond; using pip's default indexes for torch"
    ]
    assert not list(home.glob("envs/*-*"))


@without_gpu
@pytest.mark.parametrize("asked", ["torch", "lightning"])
def test_cpu_build_through_the_index(
    torch: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    cpu = PackageIndex(tmp_path / "cpu")
    cpu.add("torch", "2.0+cpu")
    monkeypatch.setenv("MLAGENTBENCH_TORCH_INDEX", cpu.url)
    env = build(asked)
    assert env.packages["torch"] == "2.0+cpu" and "triton" not in env.packages
    assert in_env(env, "__import__('torch').VERSION") == "2.0+cpu"


@without_gpu
def test_cuda_when_allowed(torch: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_ALLOW_CUDA", "1")
    assert "triton" in build("torch").packages
    monkeypatch.delenv("MLAGENTBENCH_ALLOW_CUDA")
    assert find_python_env(["torch"]) is None


class LoggingHandler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if self.path.endswith(".whl"):
            self.server.let_through.wait(60)  # type: ignore[attr-defined]
        super().do_GET()

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def web_index(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The same index over HTTP."""
    handler = partial(LoggingHandler, directory=str(index.root))
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.asked, server.let_through = [], threading.Event()
    server.let_through.set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield server
    server.let_through.set()
    server.shutdown()
    server.server_close()


def test_size_is_said_before_anything_is_downloaded(index: PackageIndex, web_index: Any) -> None:
    index.add("large", "1.0", size=2_500_000)
    wheels_by_then: list[list[str]] = []
    said: list[str] = []

    def announce(text: str) -> None:
        said.append(text)
        wheels_by_then.append([path for path in web_index.asked if path.endswith(".whl")])

    asyncio.run(ensure_python_env(["large"], announce=announce))
    assert said == ["1 package: 2.5 MB to download (less what pip has in its cache)"]
    assert wheels_by_then == [[]]
    assert any(path.endswith(".whl") for path in web_index.asked)


def test_cancelled_build_leaves_nothing(web_index: Any, home: Path) -> None:
    web_index.let_through.clear()

    async def cancelled() -> None:
        running = asyncio.create_task(ensure_python_env(["alpha"], announce=list[str]().append))
        while not any(path.endswith(".whl") for path in web_index.asked):
            await asyncio.sleep(0.01)
        assert len(list(home.glob("envs/*-*"))) == 1
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(cancelled(), 120))
    assert not list(home.glob("envs/*-*")) and find_python_env(["alpha"]) is None


def test_killed_build_is_waited_for_and_wiped(web_index: Any, home: Path, tmp_path: Path) -> None:
    web_index.let_through.clear()
    program = (
        "import asyncio; "
        "from mlagentbench.tasks.python_env.env import ensure_python_env as ensure; "
        "asyncio.run(ensure(['alpha'], announce=print))"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    while not any(path.endswith(".whl") for path in web_index.asked):
        assert process.poll() is None
        threading.Event().wait(0.01)
    process.kill()
    process.wait()
    assert find_python_env(["alpha"]) is None and len(list(home.glob("envs/*-*"))) == 1
    web_index.let_through.set()
    assert in_env(build("alpha"), "__import__('alpha').VERSION") == "1.0"


def test_full_disk(index: PackageIndex, home: Path, tmp_path: Path) -> None:
    index.add("large", "1.0", size=20_000_000)
    program = tmp_path / "build.py"
    program.write_text(
        "import asyncio, sys\n"
        "from mlagentbench.errors import UsageError\n"
        "from mlagentbench.tasks.python_env.env import ensure_python_env\n"
        "try:\n    asyncio.run(ensure_python_env(['large'], announce=print))\n"
        "except UsageError as error:\n    sys.exit(str(error))\n"
    )
    done = on_small_disk(home, [sys.executable, str(program)])
    assert "exit 1" in done.stdout and "is full: the packages did not fit" in done.stderr
    assert "Traceback" not in done.stderr
    assert "large" not in done.stdout.partition("exit 1")[2]
