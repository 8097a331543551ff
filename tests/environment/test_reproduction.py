"""What is made again: which files count as sources, and what each kind of task rebuilds."""

import base64
import random
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from task_folders import write_files

from mlagentbench.environment import reproduction
from mlagentbench.environment.clock_loops import clock_warnings
from mlagentbench.environment.reproduction import Reproduction, reproduce
from mlagentbench.runs.objects import source_files
from mlagentbench.runs.objects.file_differences import submission_difference
from mlagentbench.runs.objects.large_literals import large_literals
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import store_directory
from mlagentbench.runs.objects.source_files import MAX_PROGRAM, choose_sources
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task, load_task

pytestmark = pytest.mark.anyio

PREDICT = """
import os
with open("submission.csv", "w") as file:
    file.write(f"id,y\\n{open('test.csv').read().split()[1]},{os.environ['MLAGENTBENCH_SEED']}\\n")
"""


class Snapshots:
    """Snapshots of workspaces that a test writes, and what is made of them."""

    def __init__(self, top: Path, public: Path, python_env: PythonEnv) -> None:
        self.top, self.public, self.python_env = top, public, python_env
        self.store = ObjectStore(top / "objects")

    def take(self, files: Mapping[str, str]) -> str:
        workspace = self.top / "written"
        write_files(workspace, files)
        return store_directory(self.store, workspace)

    async def reproduce(
        self, task: Task, files: Mapping[str, str], command: str | None = None
    ) -> Reproduction:
        scratch, taken = self.top / "scratch", self.take(files)
        scratch.mkdir()
        return await reproduce(
            task, self.store, taken, self.public, self.python_env, 7, scratch, command=command
        )


@pytest.fixture
def snapshots(tmp_path: Path, data: PreparedData, python_env: PythonEnv) -> Snapshots:
    return Snapshots(tmp_path, data.public, python_env)


def made(result: Reproduction) -> dict[str, str]:
    assert result.submission is not None, result.reason
    files = [path for path in result.submission.rglob("*") if path.is_file()]
    return {path.relative_to(result.submission).as_posix(): path.read_text() for path in files}


async def test_predictions_are_made_from_sources_and_public_data(
    task: Task, snapshots: Snapshots
) -> None:
    result = await snapshots.reproduce(
        task,
        {
            "reproduce.sh": "ls -R > seen.txt; cat seen.txt; python predict.py",
            "predict.py": PREDICT,
            "submission.csv": "id,y\n5,old\n",
            "features.npy": "array",
            "notes/ideas.txt": "changed",
            "test.csv": "id\nforged\n",
        },
    )
    assert made(result) == {"submission.csv": "id,y\n5,7\n"}
    seen = result.output.split()
    assert {"predict.py", "fixed.py", "train.csv", "ideas.txt"} <= set(seen)
    assert not {"features.npy", "submission.csv"} & set(seen)
    assert result.left_out == ("features.npy (no source)",)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("python predict.py; exit 3", "`bash reproduce.sh` failed: exit status 3"),
        ("true", "`bash reproduce.sh` made no submission: submission.csv not found"),
        ("ln -s test.csv submission.csv", "submission.csv is a symbolic link"),
        ("kill -9 -1", "`bash reproduce.sh` failed: all processes in the sandbox were killed"),
        (None, "reproduce.sh not found in the workspace"),
    ],
)
async def test_the_old_submission_never_counts(
    task: Task, snapshots: Snapshots, script: str | None, reason: str
) -> None:
    files = {"predict.py": PREDICT, "submission.csv": "id,y\n5,5\n6,6\n"}
    left = {} if script is None else {"reproduce.sh": script}
    result = await snapshots.reproduce(task, {**files, **left})
    assert result.submission is None and reason in (result.reason or "")


async def test_of_an_artefact_with_sources_only_the_products_are_made_again(
    snapshots: Snapshots,
) -> None:
    result = await snapshots.reproduce(
        load_task("clrs"),
        {
            "reproduce.sh": "ls submission; echo new > submission/weights.npz",
            "submission/model.py": "layers = 3",
            "submission/weights.npz": "old",
            "submission/cached.py": "answers = [1, 2, 3]",
        },
    )
    assert made(result) == {
        "submission/model.py": "layers = 3",
        "submission/weights.npz": "new\n",
    }
    assert result.output.split() == ["model.py"]


async def test_of_an_artefact_nothing_is_taken_over(snapshots: Snapshots) -> None:
    result = await snapshots.reproduce(
        load_task("babylm"),
        {
            "reproduce.sh": "mkdir output; echo trained > output/weights.npz",
            "output/weights.npz": "old",
            "output/model.json": "{}",
        },
    )
    assert made(result) == {"output/weights.npz": "trained\n"}


@pytest.mark.parametrize(
    ("name", "program"), [("bibtex-generation", "tool.py"), ("vectorization", "convolution.py")]
)
async def test_a_program_is_taken_as_it_is(name: str, program: str, snapshots: Snapshots) -> None:
    """On a fresh draw, its inputs or requests are others."""
    result = await snapshots.reproduce(
        load_task(name), {program: "fast = 1\n", "reproduce.sh": f"echo other > {program}"}
    )
    assert made(result) == {program: "fast = 1\n"} and result.output == ""


def test_sources_are_what_a_person_writes(tmp_path: Path) -> None:
    workspace, store = tmp_path / "workspace", ObjectStore(tmp_path / "objects")
    sources = {"a.py": "1", "lib/b.c": "int x;", "Makefile": "all:", "config.json": "{}"}
    others = {
        "table.csv": "a,b",
        "rows.jsonl": "{}",
        "notebook.ipynb": "{}",
        "large.py": "#" * (MAX_PROGRAM + 1),
        "settings.json": "1" * 32_001,
        "no_suffix": "text",
        "data/train.py": "1",
        "submission/model.py": "1",
    }
    write_files(workspace, {**sources, **others})
    (workspace / "binary.py").write_bytes(b"\xff\x00")
    (workspace / "nul.txt").write_bytes(b"a\x00")
    (workspace / "link.py").symlink_to("/etc/hostname")
    (workspace / "run.sh").write_text("true")
    (workspace / "run.sh").chmod(0o755)
    chosen = choose_sources(
        store, store_directory(store, workspace), "submission", elsewhere=["data"]
    )
    assert set(chosen.files) == {*sources, "run.sh"} and chosen.executable == {"run.sh"}
    left_out = {name.partition(" ")[0] for name in chosen.left_out}
    assert left_out == {*others, "binary.py", "nul.txt", "link.py"} - {
        "data/train.py", "submission/model.py",
    }  # fmt: skip


@pytest.mark.parametrize(
    "loop",
    [
        "import time\nwhile time.time() - start < 100:\n    step()",
        "from time import time as now\nfor _ in x:\n    if now() > end:\n        break",
        "import time\nfor _ in x:\n    t = time.monotonic() - t\n    if t > 9:\n        break",
        "import time\ndef left():\n    return end - time.time()\nwhile left() > 0:\n    step()",
        "from datetime import datetime\nwhile datetime.now() < end:\n    step()",
        "import signal\nsignal.alarm(100)",
        "import subprocess\nsubprocess.run(['python', 'a.py'], timeout=100)",
    ],
)
def test_loops_that_end_by_the_clock_are_warned_about(loop: str) -> None:
    [warning] = clock_warnings({"train.py": loop.encode()})
    assert warning.startswith("train.py, line ") and "count steps or epochs" in warning


def test_deeply_nested_programs_are_searched_quickly() -> None:
    chain = "if a:\n  pass\n" + "elif a:\n  break\n" * 900
    nested = "for a in b:\n" + "".join(f"  {line}\n" for line in chain.splitlines())
    deep = "".join(" " * depth + "while a:\n" for depth in range(90)) + " " * 90 + "b\n"
    started = time.process_time()
    assert clock_warnings({"a.py": nested.encode(), "b.py": (deep * 10).encode()}) == ()
    assert time.process_time() - started < 2


def test_the_clock_may_be_read() -> None:
    harmless = "import time\nfor _ in x:\n    t = time.time()\n    print(time.time() - t)\n"
    assert clock_warnings({"train.py": harmless.encode(), "broken.py": b"while ("}) == ()
    [warning] = clock_warnings({"reproduce.sh": b"set -e\ntimeout 100 python train.py\n"})
    assert warning.startswith("reproduce.sh, line 2: a command ends by the clock")


def test_data_in_sources_are_named() -> None:
    numbers = ", ".join(f"{number / 7:.6f}" for number in range(2000))
    texts = "\n".join(f"part_{number} = {'ab1' * 30!r}" for number in range(300))
    found = large_literals(
        {
            "weights.py": f"import x\nTABLE = [{numbers}]\n".encode(),
            "text.py": f"a = 1\nb = {'ab1' * 3000!r}\n".encode(),
            "parts.py": texts.encode(),
            "table.json": f"[{numbers}]".encode(),
            "data.txt": ("ab1" * 3000).encode(),
            "long.py": ("x = compute(y, z)\n" * 1000).encode(),
            "notes.md": ("Only words that a person wrote. " * 900).encode(),
            "documented.py": f'"""{"what it does " * 500}"""\n'.encode(),
        }
    )
    assert [one.partition(":")[0] for one in found] == [
        "data.txt", "parts.py", "table.json", "text.py", "weights.py",
    ]  # fmt: skip
    assert found[3] == "text.py: a literal of 9,000 bytes in line 2"


@pytest.mark.parametrize("hidden_in", ["files", "comments", "short words", "names", "a docstring"])
def test_data_that_are_spread_over_sources_are_named(hidden_in: str) -> None:
    data = base64.b64encode(random.Random(1).randbytes(30_000)).decode()

    def cut(length: int) -> list[str]:
        return [data[at : at + length] for at in range(0, len(data), length)]

    sources = {
        "files": {f"part{number}.py": f"X = {part!r}" for number, part in enumerate(cut(5000))},
        "comments": {"a.py": "\n".join(f"# {part}" for part in cut(60))},
        "short words": {"a.sh": "\n".join(cut(38))},
        "names": {f"{part.replace('/', '-')}.py": "" for part in cut(150)},
        "a docstring": {"a.py": f'"""{data}"""'},
    }[hidden_in]
    assert len(large_literals({name: text.encode() for name, text in sources.items()})) == 1


ODD_SOURCES = {
    "a huge number": b"TABLE = 0x" + b"f" * 9_000 + b"\n",
    "old Mac lines": b"x = [1]\r" * 2_000 + b"TABLE = [" + b"1, " * 3_000 + b"]\r",
    "a byte-order mark": b"\xef\xbb\xbfTABLE = '" + b"ab1" * 3_000 + b"'\n",
}


@pytest.mark.parametrize("name", ODD_SOURCES)
def test_odd_sources_are_examined_like_others(name: str) -> None:
    [found] = large_literals({"odd.py": ODD_SOURCES[name]})
    assert found.startswith("odd.py: a literal of 9,0")
    loop = b"\nimport time\nwhile time.time() < 9:\n    pass\n"
    assert len(clock_warnings({"odd.py": ODD_SOURCES[name] + loop})) == 1


async def test_an_error_in_examining_sources_costs_no_run(
    task: Task, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_sources: object) -> tuple[str, ...]:
        raise ValueError("odd")

    monkeypatch.setattr(reproduction, "large_literals", fails)
    result = await snapshots.reproduce(
        task, {"reproduce.sh": "python predict.py", "predict.py": PREDICT}
    )
    assert set(made(result)) == {"submission.csv"}
    assert result.warnings == ("the sources could not be examined: ValueError('odd')",)


async def test_files_near_the_root_and_those_that_are_named_come_first(
    task: Task, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "MAX_FILES", 4)
    many = {f"a/{number}.py": "" for number in range(9)}
    files = {"z.py": "", "lib/z/run.py": PREDICT, "reproduce.sh": "python './lib/z/run.py'", **many}
    result = await snapshots.reproduce(task, files)
    assert set(made(result)) == {"submission.csv"}
    assert len(result.left_out) == 8 and not any("z.py" in one for one in result.left_out)


@pytest.mark.parametrize(
    "command", ["env X=1 python run.py", "nice python run.py", "python package", "python ./run.py"]
)
async def test_commands_need_not_begin_with_a_script(
    command: str, task: Task, snapshots: Snapshots
) -> None:
    files = {"run.py": PREDICT, "package/__main__.py": PREDICT}
    assert set(made(await snapshots.reproduce(task, files, command))) == {"submission.csv"}


async def test_a_script_that_is_a_directory(task: Task, snapshots: Snapshots) -> None:
    result = await snapshots.reproduce(task, {"reproduce.sh/run.py": PREDICT})
    assert result.reason == "reproduce.sh is a directory, not a script"


async def test_a_closed_workspace_is_read(task: Task, snapshots: Snapshots) -> None:
    closing = "python predict.py; chmod 000 submission.csv; chmod 000 ."
    result = await snapshots.reproduce(task, {"reproduce.sh": closing, "predict.py": PREDICT})
    assert set(made(result)) == {"submission.csv"}


async def test_the_program_is_taken_before_other_sources(
    task: Task, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "MAX_ALL", 3_000)
    many = {f"a/{number:02}.json": "1" * 100 for number in range(40)}
    files = {"zz.py": PREDICT, "reproduce.sh": "python zz.py\n", **many}
    result = await snapshots.reproduce(task, files)
    assert set(made(result)) == {"submission.csv"}
    assert any("larger than 3,000 bytes" in one for one in result.left_out)
    monkeypatch.setattr(source_files, "MAX_ALL", 5)
    shutil.rmtree(snapshots.top / "scratch")
    result = await snapshots.reproduce(task, files)
    reason = "reproduce.sh is not taken as a source: the sources are larger than 5 bytes"
    assert result.reason == reason


def test_thousands_of_sources_are_chosen_in_a_moment(tmp_path: Path) -> None:
    workspace, store = tmp_path / "workspace", ObjectStore(tmp_path / "objects")
    write_files(workspace, {f"{number:05}.py": "1" for number in range(1_500)})
    chosen = choose_sources(store, store_directory(store, workspace), "submission")
    assert len(chosen.files) == source_files.MAX_FILES and "and 460 more" in chosen.left_out


def test_differences_are_named(tmp_path: Path) -> None:
    write_files(tmp_path / "a", {"s.csv": "id,y\n1,1\n2,2\n3,3\n", "same.txt": "1", "gone": "x"})
    write_files(tmp_path / "b", {"s.csv": "id,y\n1,1\n2,5\n", "same.txt": "1"})
    difference = submission_difference(tmp_path / "a", tmp_path / "b")
    assert difference is not None and "s.csv: 2 of 3 rows differ; 17 bytes (sha256" in difference
    assert "gone was not made again" in difference and "same.txt" not in difference
    assert submission_difference(tmp_path / "a", tmp_path / "a") is None
