"""--protocol rebuild during a run: what the agent is told, and Validate Submission's rehearsal."""

from pathlib import Path
from typing import Any

import pytest
from small_task import OpenRun

from mlagentbench.environment.environment import Environment
from mlagentbench.environment.rehearsal import (
    Rehearsal,
    prepare_rehearsal,
    rebuild_explanation,
)
from mlagentbench.records import Action, Observation
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.draws import FreshKey
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task, load_folder, load_task

pytestmark = pytest.mark.anyio

COMMAND = "bash reproduce.sh"
KEY = FreshKey(value="0" * 32)
GOOD = "set -e\npython train.py\n"


@pytest.fixture
def rehearsal(tmp_path: Path) -> Rehearsal:
    """Other data: more test rows, other ids."""
    public = tmp_path / "other"
    public.mkdir()
    (public / "train.csv").write_text("id,y\n7,1\n8,5\n")
    (public / "test.csv").write_text("id\n11\n12\n13\n")
    (public / "images").mkdir()
    return Rehearsal(command=COMMAND, public=public)


async def do(environment: Environment, name: str, **arguments: Any) -> Observation:
    return await environment.execute(Action(name=name, arguments=arguments))


async def validate(environment: Environment, **files: str) -> Observation:
    for name, content in files.items():
        path = f"{name}.{'sh' if name == 'reproduce' else 'py'}"
        await do(environment, "Write File", file_name=path, content=content)
    return await do(environment, "Validate Submission")


async def test_what_is_made_again_on_both_data_is_valid(
    open_environment: OpenRun, rehearsal: Rehearsal
) -> None:
    async with open_environment(rehearsal=rehearsal) as environment:
        assert "Leave a file `reproduce.sh`" in environment.problem
        await do(environment, "Execute Script", script_name="train.py")
        told = await validate(environment, reproduce=GOOD)
        assert told.status == "ok"
        assert "`bash reproduce.sh` makes a valid submission.csv from the data here" in told.text
        assert "It also makes a valid one from other data like these" in told.text
        assert "Warning" not in told.text and "mean" not in told.text
        step = environment.steps[-1]
        assert step.seconds > 0 and step.usage is not None
        assert step.usage.seconds >= step.seconds
    async with open_environment(rehearsal=rehearsal) as environment:  # resumed
        assert environment.steps[-1].observation.text == told.text


async def test_a_difference_and_a_clock_are_only_warnings(
    open_environment: OpenRun, rehearsal: Rehearsal
) -> None:
    clock = "import time\nend = time.time() + 0.1\nwhile time.time() < end:\n    pass\n"
    async with open_environment(rehearsal=rehearsal) as environment:
        await do(
            environment, "Write File", file_name="submission.csv", content="id,y\n5,1\n6,2.5\n"
        )
        told = await validate(environment, reproduce=GOOD + "python wait.py\n", wait=clock)
        assert told.status == "ok"
        assert "submission.csv in the workspace differs from it (" in told.text
        assert "1 of 2 rows differ" in told.text and "only what the program makes" in told.text
        assert "Warning: wait.py, line 3: a loop ends by the clock" in told.text


SAVE = "from pathlib import Path\nPath('submission.csv').write_text('id,y\\n5,1\\n6,1\\n')\n"
REFUSED = {
    "no program": ({}, "the data here: reproduce.sh not found in the workspace"),
    "a failing one": (
        {"reproduce": "python train.py\necho nearly done\nexit 3\n"},
        "`bash reproduce.sh` failed: exit status 3",
    ),
    "no submission": (
        {"reproduce": "python train.py\nrm submission.csv\n"},
        "`bash reproduce.sh` made no submission: submission.csv",
    ),
    "an argument": (
        {"reproduce": 'set -eu\npython train.py "$1"\n'},
        "the data here: `bash reproduce.sh` failed: exit status 1",
    ),
    "a path outside": (
        {"reproduce": "set -e\ncp /tmp/cached.csv submission.csv\n"},
        "/tmp/cached.csv",
    ),
    "a cached answer": (
        {"reproduce": "set -e\npython use.py\n", "use": "open('cached.npy', 'rb').read()\n"},
        "Files of the workspace that it could not use: cached.npy",
    ),
    "pasted answers": (
        {"reproduce": "python save.py\n", "save": SAVE},
        "other data like these: what it makes is not valid: row ids differ: 3 missing",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
async def test_what_cannot_be_made_again_is_refused(
    open_environment: OpenRun, rehearsal: Rehearsal, kind: str
) -> None:
    files, said = REFUSED[kind]
    prepared = (
        "from pathlib import Path\n"
        "Path('cached.npy').write_bytes(bytes(100))\n"
        "Path('/tmp/cached.csv').write_text('id,y\\n5,1\\n6,1\\n')\n"
    )
    async with open_environment(rehearsal=rehearsal) as environment:
        await do(environment, "Execute Script", script_name="train.py")
        await do(environment, "Write File", file_name="prepared.py", content=prepared)
        await do(environment, "Execute Script", script_name="prepared.py")
        told = await validate(environment, **files)
        assert told.status == "error" and said in told.text
        assert told.text.startswith("The submission cannot be made again from ")
        if kind == "a failing one":
            assert "The program's last lines:\n" in told.text and "  nearly done" in told.text


HOLD_OUT = """

def hold_out(public, held_public, held_private, rng):
    header, *rows = (public / "train.csv").read_text().splitlines()
    (held_public / "train.csv").write_text("\\n".join([header, *rows[:-1]]) + "\\n")
    (held_public / "test.csv").write_text((public / "test.csv").read_text())
    (held_public / "images").mkdir()
    ids = [row.split(",")[0] for row in rows[-1:]]
    (held_public / "validation.csv").write_text("\\n".join(["id", *ids]) + "\\n")
    (held_private / "answers.csv").write_text("\\n".join([header, *rows[-1:]]) + "\\n")
"""


async def test_real_data_are_rehearsed_on_what_the_agent_has(
    task: Task,
    data: PreparedData,
    numpy_env: PythonEnv,
    open_environment: OpenRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The held-out part of the training data takes the place of the test data."""
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    real = data.model_copy(update={"tier": "full"})
    without = await prepare_rehearsal(task, real, numpy_env, call_task, None, feedback=False)
    assert without == Rehearsal(command=COMMAND, public=None)
    with (task.folder / "prepare.py").open("a") as file:
        file.write(HOLD_OUT)
    found = await prepare_rehearsal(task, real, numpy_env, call_task, None, feedback=False)
    assert found.public is not None
    assert sorted(path.name for path in found.public.iterdir()) == [
        "images", "test.csv", "train.csv",
    ]  # fmt: skip
    assert (found.public / "test.csv").read_text() == "id\n4\n"
    assert (found.public / "train.csv").read_text() == "id,y\n1,1\n2,2\n3,3\n"
    told = await prepare_rehearsal(task, real, numpy_env, call_task, None, feedback=True)
    assert told.public is not None
    assert (told.public / "validation.csv").read_text() == "id\n4\n"
    async with open_environment(rehearsal=without) as environment:
        said = await validate(environment, reproduce=GOOD)
        assert said.status == "ok" and "There are no other data to rehearse on." in said.text
        assert "submission.csv in the workspace differs from it (submission.csv" in said.text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("house-price", "every step from the given data to `submission.csv`,\nwithin 1 h"),
        ("babylm", "every step from the given data to `output`,\nwithin 1 h"),
        ("clrs", "Of `submission`, `submission/model.py` is one of them, up to 16 KB; the rest"),
        ("literature-review-tool", "`tool.py` is itself a program"),
        ("vectorization", "`convolution.py` is itself a program"),
    ],
)
def test_each_kind_of_task_is_explained(name: str, said: str) -> None:
    task = load_task(name)
    rehearsal = Rehearsal(command=task.spec.rebuild.command)
    text = rebuild_explanation(task, rehearsal)
    assert said in text and task.spec.rebuild.fresh in text
    assert ("reproduce.sh" in text) == (rehearsal.command is not None)


async def test_a_submission_that_is_the_program_is_only_checked(
    open_environment: OpenRun, task: Task
) -> None:
    assert load_folder(task.folder).spec.rebuild.command == COMMAND
    async with open_environment(rehearsal=Rehearsal(command=None)) as environment:
        await do(environment, "Execute Script", script_name="train.py")
        told = await do(environment, "Validate Submission")
        assert told.text == "submission.csv is a valid submission."


def test_without_executions_only_what_can_be_done_is_explained() -> None:
    for name, left in (("house-price", ""), ("clrs", ", except `submission/model.py`")):
        task = load_task(name)
        rehearsal = Rehearsal(command=task.spec.rebuild.command)
        told = rebuild_explanation(task, rehearsal, execution=False)
        assert "you cannot execute anything in this run" in told
        assert f"counts for nothing{left}." in told and "has to be made by the program" in told
        assert "Validate Submission" not in told and "interactive session" not in told
        assert "Validate Submission" in rebuild_explanation(task, rehearsal)


async def test_without_executions_there_is_nothing_to_rehearse_on(
    task: Task, data: PreparedData, python_env: PythonEnv
) -> None:
    found = await prepare_rehearsal(
        task, data, python_env, call_task, KEY, feedback=False, execution=False
    )
    assert found == Rehearsal(command=COMMAND)
