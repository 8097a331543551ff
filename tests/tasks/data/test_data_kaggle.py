"""Kaggle through a client on PATH that fails in the words of the real one."""

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest
from small_tasks import WriteTask, plain_call

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

SOURCE = """
[[sources]]
kind = "kaggle"
ref = "small-competition"
files = [
    { path = "data/train.csv" },
    { path = "notes.txt", optional = true },
]
"""
PREPARE = """
def prepare(raw, public, private, rng):
    (public / "train.csv").write_bytes((raw / "data" / "train.csv").read_bytes())
"""
BY_HAND = (
    "Or download data/train.csv from "
    "https://www.kaggle.com/competitions/small-competition/data into a directory DIR yourself, "
    "and run: "
    "mlagentbench tasks prepare {task} --tier full --from DIR"
)
NO_TOKEN = "Authentication required to call the Kaggle API.\n\nFirst, you will need an account."
NO_TOKEN_BEFORE_2 = "OSError: Could not find kaggle.json. Make sure it's located in /home/x/.kaggle"
RULES = (
    "403 Client Error: Forbidden for url: https://api.kaggle.com/v1/"
    "competitions.CompetitionApiService/DownloadDataFile"
)
RULES_BEFORE_2 = (
    "403 - Forbidden - You must accept this competition's rules before you'll be able to download"
)
NO_NETWORK = (
    "HTTPSConnectionPool(host='api.kaggle.com', port=443): Max retries exceeded with url: /v1/x "
    "(Caused by NameResolutionError(\"Failed to resolve 'api.kaggle.com'\"))"
)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a `kaggle` on PATH; nothing else of PATH can be found."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory / "kaggle"


def write_client(client: Path, body: str) -> None:
    client.write_text(
        f"#!{sys.executable}\nimport sys, zipfile\nfrom pathlib import Path\n"
        "assert sys.stdin.read() == ''\n"
        "name, folder = sys.argv[sys.argv.index('-f') + 1], sys.argv[sys.argv.index('-p') + 1]\n"
        f"target = Path(folder, name.split('/')[-1])\n{body}\n"
    )
    client.chmod(client.stat().st_mode | stat.S_IXUSR)


def make(task: Task, env: PythonEnv) -> PreparedData:
    return asyncio.run(prepare(task, "full", call=plain_call, python_env=env))


@pytest.mark.parametrize("packed", [False, True])
def test_fetches_each_file(
    write_task: WriteTask, this_env: PythonEnv, client: Path, home: Path, packed: bool
) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    write_client(
        client,
        f"""
assert sys.argv[1:5] == ["competitions", "download", "-c", "small-competition"]
if name == "notes.txt":
    sys.exit("404 Client Error: Not Found for url: https://api.kaggle.com/v1/x")
if {packed}:
    with zipfile.ZipFile(f"{{target}}.zip", "w") as archive:
        archive.writestr(target.name, "a,b")
else:
    target.write_text("a,b")
""",
    )
    data = make(task, this_env)
    assert (data.public / "train.csv").read_text() == "a,b"
    assert data.unverified == ("data/train.csv",)
    downloads = home / "downloads/small-task/v1"
    assert [
        path for path in downloads.rglob("*") if path.is_file() and ".kaggle" not in path.parts
    ] == [downloads / "data/train.csv"]


@pytest.mark.parametrize(
    ("said", "next_step"),
    [
        (NO_TOKEN, "create one at https://www.kaggle.com/settings/api"),
        (NO_TOKEN_BEFORE_2, "~/.kaggle/kaggle.json"),
        (RULES, "accept its rules at https://www.kaggle.com/competitions/small-competition/rules"),
        (RULES_BEFORE_2, "https://www.kaggle.com/competitions/small-competition/rules"),
        (NO_NETWORK, "Kaggle cannot be reached; check your network connection"),
        ("404 Client Error: Not Found for url", "Kaggle has no data/train.csv in small-compe"),
        ("something new", "the Kaggle client failed: something new"),
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_failures_say_the_next_step(
    write_task: WriteTask, this_env: PythonEnv, client: Path, said: str, next_step: str, stream: str
) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    write_client(client, f"print({said!r}, file=sys.{stream})\nsys.exit(1)")
    with pytest.raises(UsageError) as raised:
        make(task, this_env)
    first, by_hand = str(raised.value).splitlines()
    assert first.startswith("small-task: ") and next_step in first
    assert by_hand == BY_HAND.format(task=task.address)


@pytest.mark.skipif(
    (Path(sys.executable).parent / "kaggle").exists(), reason="the Kaggle client is installed"
)
def test_missing_client(write_task: WriteTask, this_env: PythonEnv, client: Path) -> None:
    task = write_task(sources=SOURCE, prepare_py=PREPARE)
    assert not client.exists() and os.environ["PATH"] == str(client.parent)
    with pytest.raises(UsageError) as raised:
        make(task, this_env)
    assert "run: pip install 'mlagentbench[kaggle]'" in str(raised.value)
    assert str(raised.value).endswith(BY_HAND.format(task=task.address))
