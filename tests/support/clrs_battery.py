"""Submissions of the task clrs under its alterations, without a sandbox: made, run and graded."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tabular_tasks import Prepared, TaskModules

from mlagentbench.guest.mlagentbench_task import Grade

CLRS = TaskModules("clrs")
ALTERATIONS = sys.modules["alterations"] = CLRS.load("alterations")  # grade.py imports it
RUNS = (
    *ALTERATIONS.SUBMITTED, ALTERATIONS.PERTURBED, *ALTERATIONS.REPLACEMENTS, *ALTERATIONS.MIXED
)  # fmt: skip
TRAIN = Path(__file__).parents[2] / "bench" / "clrs_models" / "train.py"
RUN_ALL = """
import sys
from pathlib import Path
import numpy as np, torch
from predict import load_model, predict

torch.set_num_threads(1)
for run in map(Path, sys.argv[1:]):
    weights = torch.from_numpy(np.load(run / "inputs" / "weights.npy"))
    try:
        pointers = predict(load_model(run / "submission"), weights).numpy().tobytes()
    except Exception as error:
        (run / "error.txt").write_text(f"{type(error).__name__}: {error}")
    else:
        (run / "pointers.bin").write_bytes(pointers)
"""


def prepare_graphs(directory: Path, graphs: int, seed: int = 5) -> Prepared:
    """The mini tier with fewer hidden graphs."""
    raw = directory / "raw"
    raw.mkdir(parents=True)
    CLRS.mini.make(raw, np.random.default_rng(seed))
    (raw / "hidden.json").write_text(json.dumps({"graphs": graphs}))
    return CLRS.prepare_from(raw, directory, seed)


def train_models(python: Path, out: Path, seed: int, *architectures: str) -> dict[str, Path]:
    """Honest submissions by their architectures; those that are there are not trained again."""
    _call(python, TRAIN, str(out), str(seed), *architectures)
    return {name: out / f"{name}-{seed}" for name in architectures}


def run_altered(
    python: Path, submissions: Mapping[str, Path], prepared: Prepared, out: Path, seed: int = 0
) -> dict[str, Path]:
    """For each submission the directory with what its alterations wrote, as grade.py expects it."""
    made = {}
    for number, (name, submission) in enumerate(submissions.items()):
        made[name] = out / f"altered-{number}"
        made[name].mkdir(parents=True)
        rng = np.random.default_rng([seed, number])
        ALTERATIONS.make(submission, prepared.private / "inputs", made[name], rng)
    (out / "run_all.py").write_text(RUN_ALL)
    runs = [run for directory in made.values() for run in sorted(directory.iterdir())]
    _call(python, out / "run_all.py", *map(str, runs))
    return made


def grade_altered(outputs: Path, prepared: Prepared) -> Grade:
    grade: Grade = CLRS.grade.grade(outputs, prepared.private)
    return grade


def _call(python: Path, program: Path, *arguments: str) -> None:
    done = subprocess.run(
        [python, program, *arguments],
        env={"PYTHONPATH": str(CLRS.folder / "starter"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=1100, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{program.name} failed:\n{done.stderr}")
