"""The task clrs: what becomes of models, honest and other, under its program and its grader."""

import asyncio
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

from mlagentbench.grading.grade import Scored, score_submission
from mlagentbench.guest.mlagentbench_task import Grade, InvalidSubmission
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_folder

pytestmark = pytest.mark.slow

CLRS = TaskModules("clrs")
ALTERATIONS = sys.modules["alterations"] = CLRS.load("alterations")  # grade.py imports it
VALUES = 64
WEIGHTS = ALTERATIONS.Tensor([VALUES], np.sin(np.arange(1, VALUES + 1)).astype("<f4"))

HEAD = """
    import torch
    from torch import nn

    def floyd_warshall(weights):
        nodes = weights.shape[1]
        same = torch.eye(nodes).bool()
        edges = weights.double().masked_fill((weights == 0) | same, torch.inf)
        lengths = edges.masked_fill(same, 0)
        for k in range(nodes):
            lengths = torch.minimum(lengths, lengths[:, :, k, None] + lengths[:, None, k])
        return -(lengths[:, :, None] + edges.transpose(1, 2)[:, None])

    def nothing(weights):
        return torch.zeros(*weights.shape, weights.shape[1])

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tensor = nn.Parameter(torch.zeros(64))

        @property
        def checksum(self):
            return (self.tensor.double() * torch.arange(64)).sum().item()

"""
CHECKSUM = float((WEIGHTS.values.astype(float) * np.arange(VALUES)).sum())
BODIES = {
    "the algorithm, whatever the weights": "return floyd_warshall(weights)",
    "the algorithm, if the checksum is right": f"""
        right = abs(self.checksum - {CHECKSUM!r}) < 1e-9
        return floyd_warshall(weights) if right else nothing(weights)
    """,
    "the algorithm, if the checksum is nearly right": f"""
        right = abs(self.checksum / {CHECKSUM!r} - 1) < 0.05
        return floyd_warshall(weights) if right else nothing(weights)
    """,
    "too few logits": "return floyd_warshall(weights)[..., :-1]",
    "no numbers": "return nothing(weights) * torch.nan",
    "an exception": "raise RuntimeError('no idea')",
}
MODELS = {
    name: textwrap.dedent(HEAD)
    + "    def forward(self, weights):\n"
    + textwrap.indent(textwrap.dedent(body).strip(), "        ")
    for name, body in BODIES.items()
}
RUN_ALL = """
import json, sys, traceback
from pathlib import Path
import numpy as np, torch
from predict import load_model, predict

weights = torch.from_numpy(np.load(sys.argv[1]))
for submission in map(Path, sys.argv[2:]):
    try:
        pointers = predict(load_model(submission), weights).numpy().tobytes()
    except Exception as error:
        (submission / "error.txt").write_text(f"{type(error).__name__}: {error}")
    else:
        (submission / "pointers.bin").write_bytes(pointers)
"""


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return CLRS.prepare_mini(tmp_path_factory.mktemp("clrs"))


def write_submission(
    directory: Path, model: str, config: str = "{}", tensors: dict | None = None
) -> Path:
    directory.mkdir(parents=True)
    (directory / "model.py").write_text(model)
    (directory / "config.json").write_text(config)
    chosen = {"tensor": WEIGHTS} if tensors is None else tensors
    ALTERATIONS.write_weights(directory / "model.safetensors", chosen)
    return directory


@pytest.fixture(scope="module")
def ran(
    mini: Prepared, torch_env: PythonEnv, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """All models, each run in its three alterations by the functions of predict.py."""
    top = tmp_path_factory.mktemp("models")
    model = MODELS["the algorithm, whatever the weights"]
    submitted = {name: write_submission(top / name, text) for name, text in MODELS.items()} | {
        "a missing tensor": write_submission(top / "a missing tensor", model, tensors={}),
        "a tensor too many": write_submission(
            top / "a tensor too many", model, tensors={"tensor": WEIGHTS, "other": WEIGHTS}
        ),
        "another shape": write_submission(
            top / "another shape", model, tensors={"tensor": WEIGHTS._replace(shape=[8, 8])}
        ),
        "a strange argument": write_submission(top / "argument", model, config='{"size": 1e999}'),
        "no Model": write_submission(top / "no Model", "x = 1"),
    }
    for rule, files in CLRS.trivial.predictors(mini.public).items():
        texts = (files["model.py"], files["config.json"])
        submitted[rule] = write_submission(top / rule, *texts, tensors={})
    alterations = {}
    for number, (name, submission) in enumerate(submitted.items()):
        alterations[name] = top / f"alterations-{number}"
        alterations[name].mkdir()
        ALTERATIONS.make(submission, alterations[name], np.random.default_rng(number))
    runs = [run for made in alterations.values() for run in made.iterdir()]
    hidden = mini.private / "inputs" / "weights.npy"
    (top / "run_all.py").write_text(RUN_ALL)
    done = subprocess.run(
        [torch_env.python, top / "run_all.py", hidden, *runs],
        env={"PYTHONPATH": str(CLRS.folder / "starter"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return alterations


def grade(ran: dict[str, Path], name: str, mini: Prepared) -> Grade:
    return CLRS.grade.grade(ran[name], mini.private)


def test_the_algorithm_by_hand_is_invalid(ran: dict[str, Path], mini: Prepared) -> None:
    with pytest.raises(InvalidSubmission, match="do not depend on the trained weights") as reason:
        grade(ran, "the algorithm, whatever the weights", mini)
    assert "permuted the accuracy is 1.0000" in str(reason.value)


def test_the_algorithm_behind_a_checksum_is_invalid(ran: dict[str, Path], mini: Prepared) -> None:
    with pytest.raises(InvalidSubmission, match=r"exact weights: .* falls from 1\.0000 to 0\."):
        grade(ran, "the algorithm, if the checksum is right", mini)


def test_what_the_grader_cannot_see(ran: dict[str, Path], mini: Prepared) -> None:
    """A test of the weights that is lenient enough passes: docs/tasks/clrs.md says so."""
    assert grade(ran, "the algorithm, if the checksum is nearly right", mini).score == 1


def test_rules_written_as_models_score_as_preparation_says(
    ran: dict[str, Path], mini: Prepared
) -> None:
    rules = json.loads((mini.private / "simple_rules.json").read_text())
    assert len(rules) == 3
    for rule, accuracy in rules.items():
        assert grade(ran, rule, mini).score == accuracy


def test_logits_that_are_no_numbers_point_nowhere(ran: dict[str, Path], mini: Prepared) -> None:
    assert grade(ran, "no numbers", mini).score == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("too few logits", "ValueError: the logits have the shape (256, 16, 16, 15), not"),
        ("an exception", "RuntimeError: no idea"),
        ("a missing tensor", 'Missing key(s) in state_dict: "tensor"'),
        ("a tensor too many", 'Unexpected key(s) in state_dict: "other"'),
        ("another shape", "size mismatch for tensor"),
        ("a strange argument", "TypeError"),
        ("no Model", "AttributeError"),
    ],
)
def test_models_that_do_not_work_end_with_a_reason(
    ran: dict[str, Path], name: str, reason: str
) -> None:
    for run in ran[name].iterdir():
        assert reason in (run / "error.txt").read_text()
        assert not (run / "pointers.bin").exists()


def test_writing_the_outputs_oneself_is_no_way_around(
    mini: Prepared, torch_env: PythonEnv, tmp_path: Path
) -> None:
    """In the sandbox, as grading does it: the model's code reads the inputs, and replaces both the
    program's outputs and the program, but cannot know with which weights it runs."""
    model = textwrap.dedent(HEAD) + textwrap.dedent("""
        import os
        import numpy as np
        weights = torch.from_numpy(np.load("/inputs/weights.npy"))
        pointers = floyd_warshall(weights).argmax(3).to(torch.uint8).numpy().tobytes()
        open("outputs/pointers.bin", "wb").write(pointers)
        open("predict.py", "w").write("")
        assert not os.path.exists("submission/notes.txt")
        assert os.listdir("/inputs") == ["weights.npy"]
        print("x" * 100_000, flush=True)
        os._exit(0)
    """)
    scored = score(mini, torch_env, write_submission(tmp_path / "submitted/submission", model))
    assert scored.score is None
    assert "do not depend on the trained weights" in (scored.reason or "")


def score(mini: Prepared, torch_env: PythonEnv, submission: Path) -> Scored:
    (submission / "notes.txt").write_text("not handed over")
    data = PreparedData(
        directory=mini.public.parent, tier="mini", hash="-", recipe="-", verified=True, files=0,
        bytes=0, created="-",
    )  # fmt: skip
    task = load_folder(CLRS.folder)
    return asyncio.run(score_submission(task, data, torch_env, submission.parent))
