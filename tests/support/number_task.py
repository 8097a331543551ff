"""A whole task that runs in a moment: predict a noisy multiple, from numbers, with numpy alone."""

from pathlib import Path

from task_folders import GENERATED, task_toml, with_replaced, write_task_folder

TABLES = f"""
[limits]
steps = 10
time = "10m"
command_time = "2m"
[resources]
cpus = 1
memory = "1GB"
{GENERATED}
"""
MAKE = """
def make(raw, rng):
    x = rng.normal(size=300)
    y = 3 * x + rng.normal(scale=0.1, size=300)
    lines = [f"{a:.6f},{b:.6f}" for a, b in zip(x, y)]
    (raw / "numbers.csv").write_text("x,y\\n" + "\\n".join(lines) + "\\n")
"""
PREPARE = """
def prepare(raw, public, private, rng):
    rows = [line.split(",") for line in (raw / "numbers.csv").read_text().split()[1:]]
    order = rng.permutation(len(rows))
    train, test = order[:200], order[200:]
    write(public / "train.csv", "x,y", [f"{rows[k][0]},{rows[k][1]}" for k in train])
    write(public / "test.csv", "id,x", [f"{n},{rows[k][0]}" for n, k in enumerate(test)])
    write(private / "answers.csv", "id,y", [f"{n},{rows[k][1]}" for n, k in enumerate(test)])


def write(path, header, lines):
    path.write_text("\\n".join([header, *lines]) + "\\n")
"""
TRIVIAL = """
import csv


def predictors(public):
    ids = [row["id"] for row in csv.DictReader((public / "test.csv").open())]
    return {"zero": "\\n".join(["id,y", *(f"{name},0" for name in ids)]) + "\\n"}


def known_good(public):
    return predictors(public)["zero"]
"""
GRADE = """
from mlagentbench_task import Grade, finite_numbers, read_table, rows_in_order


def read(path, expected):
    table = read_table(path, ["id", "y"])
    values = finite_numbers(table["y"], "y")
    return [values[row] for row in rows_in_order(table["id"], expected)]


def grade(outputs, private):
    answers = read_table(private / "answers.csv", ["id", "y"])
    predicted = read(outputs / "submission.csv", answers["id"])
    truth = [float(value) for value in answers["y"]]
    return Grade(sum(abs(a - b) for a, b in zip(predicted, truth)) / len(truth))


def check_format(submission, public):
    read(submission, read_table(public / "test.csv", ["id", "x"])["id"])
"""
STARTER = """
import csv, os, random
random.seed(int(os.environ["MLAGENTBENCH_SEED"]))
slope = 1 + random.gauss(0, 0.02)
with open("submission.csv", "w") as out:
    out.write("id,y\\n")
    for row in csv.DictReader(open("test.csv")):
        out.write(f"{row['id']},{slope * float(row['x'])}\\n")
print("validation mae=2.0")
"""
SOLUTION = STARTER.replace("slope = 1 + random.gauss(0, 0.02)", "slope = 3.0")


def slow_starter(seconds: float) -> str:
    """The starter, after it has said `begun` and slept."""
    return f"import time\nprint('begun', flush=True)\ntime.sleep({seconds})\n{STARTER}"


def write_number_task(top: Path, task_id: str = "numbers", **replaced: str) -> Path:
    """Write the task folder; keyword arguments replace files, with `_py` for `.py`."""
    files = {
        "problem.md": "Predict y from x for the rows of test.csv; write submission.csv (id, y).",
        "mini.py": MAKE,
        "prepare.py": PREPARE,
        "trivial.py": TRIVIAL,
        "grade.py": GRADE,
        "starter/train.py": replaced.pop("starter", STARTER),
        "solution/solution.py": SOLUTION,
    }
    toml = task_toml(task_id, requirements=["numpy>=2"], tables=TABLES)
    write_task_folder(top / task_id, toml, with_replaced(files, replaced))
    return top / task_id
