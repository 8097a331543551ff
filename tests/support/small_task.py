"""A small real task with its data, and how to open an Environment on it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from inspect_ai.model import Model
from task_folders import task_toml, write_files, write_task_folder

from mlagentbench.environment.actions.action import ActionSpec, AskPerson
from mlagentbench.environment.actions.action_sets import ALL_ACTIONS
from mlagentbench.environment.budget import Budget
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.feedback import Feedback
from mlagentbench.environment.open_run import open_run as open_run_of
from mlagentbench.environment.rehearsal import Rehearsal
from mlagentbench.environment.run_setup import RunSetup
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task, load_folder

OpenRun = Callable[..., AbstractAsyncContextManager[Environment]]

TABLES = """
[limits]
steps = 40
time = "10m"
command_time = "20s"
[resources]
cpus = 1
memory = "1GB"
[read_only]
paths = ["fixed.py"]
[[sources]]
kind = "url"
"""

TRAIN = """
import csv, os, sys
rows = list(csv.DictReader(open("train.csv")))
mean = sum(float(row["y"]) for row in rows) / len(rows)
with open("submission.csv", "w") as file:
    file.write("id,y\\n")
    for row in csv.DictReader(open("test.csv")):
        file.write(f"{row['id']},{mean}\\n")
print("mean", mean, "arguments", sys.argv[1:], "seed", os.environ["MLAGENTBENCH_SEED"])
"""

GRADE = """
import csv
from pathlib import Path
from mlagentbench_task import Grade, InvalidSubmission, finite_numbers, read_table, rows_in_order

def _read(submission, expected):
    table = read_table(submission, ["id", "y"])
    order = rows_in_order(table["id"], expected)
    values = finite_numbers(table["y"], "y")
    return [values[row] for row in order]

def _column(path, name):
    return [row[name] for row in csv.DictReader(path.open())]

def check_format(submission: Path, public: Path) -> None:
    _read(submission, _column(public / "test.csv", "id"))

def grade(outputs: Path, private: Path) -> Grade:
    answers = private / "answers.csv"
    values = _read(outputs / "submission.csv", _column(answers, "id"))
    truth = [float(value) for value in _column(answers, "y")]
    return Grade(sum(abs(a - b) for a, b in zip(values, truth)) / len(truth))
"""

PREPARE = """
def prepare(raw, public, private, rng):
    raise NotImplementedError
"""

HOLD_OUT = """

def hold_out(public, held_public, held_private, rng):
    header, *rows = (public / "train.csv").read_text().splitlines()
    (held_public / "train.csv").write_text("\\n".join([header, *rows[:-2]]) + "\\n")
    (held_public / "test.csv").write_text((public / "test.csv").read_text())
    (held_public / "validation").mkdir()
    ids = [row.split(",")[0] for row in rows[-2:]]
    (held_public / "validation" / "test.csv").write_text("\\n".join(["id", *ids]) + "\\n")
    (held_private / "answers.csv").write_text("\\n".join([header, *rows[-2:]]) + "\\n")
"""


TASK_FILES = {
    "prepare.py": PREPARE,
    "mini.py": "",
    "trivial.py": "",
    "grade.py": GRADE,
    "starter/train.py": TRAIN,
    "starter/fixed.py": "LIMIT = 1\n",
    "starter/notes/ideas.txt": "none yet\n",
    "solution/train.py": TRAIN,
}
DATA_FILES = {
    "public/train.csv": "id,y\n1,1\n2,2\n3,3\n4,4\n",
    "public/test.csv": "id\n5\n6\n",
    "public/images/one.txt": "1\n",
    "private/answers.csv": "id,y\n5,5\n6,6\n",
}


def small_task(top: Path) -> Task:
    toml = task_toml("small-task", solution="python train.py", requirements=[], tables=TABLES)
    write_task_folder(top / "small-task", toml, TASK_FILES)
    return load_folder(top / "small-task")


def small_data(top: Path) -> PreparedData:
    write_files(top / "data", DATA_FILES)
    return PreparedData(
        directory=top / "data",
        tier="mini",
        hash="da7a" * 16,
        recipe="0",
        verified=True,
        files=4,
        bytes=1,
        created="",
        draw="public",
    )


@asynccontextmanager
async def open_run(
    top: Path,
    python_env: PythonEnv,
    limits: BudgetLimits | None = None,
    feedback: Feedback | None = None,
    rehearsal: Rehearsal | None = None,
    models: Mapping[str, str | Model] | None = None,
    actions: Sequence[ActionSpec] = ALL_ACTIONS,
    ask_person: AskPerson | None = None,
    execution: bool = True,
) -> AsyncIterator[Environment]:
    """The one run below `top`, started or continued."""
    task, data = load_folder(top / "small-task"), small_data(top)
    run = RunDirectory(top / "out", Path("runs/small-task/mini/test-0/none/1"))
    with run.hold() as held:
        setup = RunSetup(
            task,
            held,
            data,
            python_env,
            Budget(limits or BudgetLimits(steps=40, time=600.0)),
            seed=7,
            actions=actions,
            feedback=feedback,
            rehearsal=rehearsal,
            models=models,
            ask_person=ask_person,
            execution=execution,
        )
        async with await open_run_of(setup, BubblewrapSandbox) as environment:
            yield environment
