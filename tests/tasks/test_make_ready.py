"""`mlagentbench tasks prepare` with a task of the suite: real pip, real sandbox."""

import io
from pathlib import Path
from typing import Any

import pytest

from mlagentbench.cli.tasks.prepare_printing import prepare_from_command_line
from mlagentbench.errors import UsageError
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.make_ready import Ready, ensure_ready, needs_measurements, prepare_tasks
from mlagentbench.tasks.python_env.env import find_python_env
from mlagentbench.tasks.task import load_task
from mlagentbench.terminal import Terminal

OPTIONS: dict[str, Any] = {
    "tier": "mini",
    "from_dir": None,
    "draw": "public",
    "accept_unverified": False,
}


@pytest.fixture(scope="module")
def module_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def home(module_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(module_home))
    return module_home


@pytest.mark.slow
def test_prepares_and_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    task = load_task("vectorization")
    prepare_from_command_line(["vectorization"], **OPTIONS)
    said = capsys.readouterr()
    data, env = find_prepared(task, "mini"), find_python_env(task.spec.python.requirements)
    assert data is not None and env is not None
    assert f"  data    {data.directory}\n" in said.out
    assert f"  python  {env.directory} " in said.out and data.hash[:12] in said.out
    lines = said.err.splitlines()
    assert lines[0].startswith("vectorization: virtual environment: ") and " MB " in lines[0]
    assert lines[1:] == [
        "vectorization: generating the mini tier",
        "vectorization: splitting into public and private",
    ]
    prepare_from_command_line(["vectorization"], **OPTIONS)
    again = capsys.readouterr()
    assert again.out == said.out and again.err == ""
    assert ensure_ready(task, "mini", call=call_task) == Ready(data, env)


def test_full_is_not_prepared_by_itself() -> None:
    command = "mlagentbench tasks prepare house-price --tier full"
    with pytest.raises(UsageError, match=f"the full tier is not prepared; run: {command}$"):
        ensure_ready(load_task("house-price"), "full", call=call_task)


@pytest.mark.slow
def test_data_that_nobody_has_measured() -> None:
    task = load_task("vectorization")
    (ready,) = prepare_tasks([task], "mini", draws=["secret"], call=call_task)
    assert ready.data.draw is not None and ready.data.draw.startswith("secret:")
    assert needs_measurements(task, ready.data)


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (["house-prise"], {}, "did you mean house-price?"),
        (["house-price"], {"from_dir": Path("/tmp")}, "--from is for --tier full"),
        (["house-price"], {"tier": "full", "draw": "secret"}, "is for generated data"),
        (
            ["house-price"],
            {"tier": "full", "from_dir": Path(__file__).parent},
            "house-price: train.csv not found in",
        ),
    ],
)
def test_mistakes_are_said_before_anything_is_built(
    names: list[str], options: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError) as raised:
        prepare_from_command_line(names, **{**OPTIONS, **options})
    assert said in str(raised.value)
    assert capsys.readouterr() == ("", "")


def test_bars_on_a_terminal_and_lines_elsewhere() -> None:
    shown = {}
    for terminal in (True, False):
        written = io.StringIO()
        console = Terminal(file=written, force_terminal=terminal, width=100)
        with TerminalProgress(console) as progress:
            progress.say("fetching train.csv")
            for done in (1_000_000, 2_000_000, 3_000_000):
                progress.transfer("train.csv", done, 3_000_000)
        shown[terminal] = written.getvalue()
    assert "fetching train.csv\n" in shown[True] and "3.0/3.0 MB" in shown[True]
    assert shown[False] == "fetching train.csv\n  train.csv: 3.0 MB\n"
