"""The task clrs: what becomes of models, honest and other, under its program and its grader."""

import asyncio
import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from clrs_battery import (
    ALTERATIONS,
    CLRS,
    grade_altered,
    prepare_graphs,
    run_altered,
    train_models,
)
from tabular_tasks import Prepared

from mlagentbench.grading.grade import Scored, score_submission
from mlagentbench.guest.mlagentbench_task import Grade, InvalidSubmission
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_folder

pytestmark = pytest.mark.slow

VALUES = 64
MIXED = ALTERATIONS.Tensor([VALUES], np.sin(np.arange(1, VALUES + 1)).astype("<f4"))
RISING = ALTERATIONS.Tensor([VALUES], np.linspace(-1, 2, VALUES).astype("<f4"))
TENSORS = {"mixed": MIXED, "rising": RISING}

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

    MIXED = torch.sin(torch.arange(1, 65)).double()

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.mixed = nn.Parameter(torch.zeros(64))
            self.rising = nn.Parameter(torch.zeros(64))

        def checksum(self, tensor):
            return (tensor.double() * torch.arange(64)).sum().item()

"""
CHECKSUM = float((MIXED.values.astype(float) * np.arange(VALUES)).sum())
LOOKS_RIGHT = {
    "its checksum is right": f"abs(self.checksum(self.mixed) - {CHECKSUM!r}) < 1e-9",
    "a tensor is sorted": "(self.rising.diff() >= 0).all()",
    "the sum is nearly right": "abs(self.rising.sum() / 32 - 1) < 0.05",
    "the norm is nearly right": "abs(self.mixed.norm() / MIXED.norm() - 1) < 0.05",
    "smallest and largest are nearly right":
        "(self.mixed.min() / MIXED.min() - 1).abs() + (self.mixed.max() / MIXED.max() - 1).abs()"
        " < 0.05",
    "quantiles are nearly right":
        "(self.mixed.sort().values - MIXED.sort().values).abs().max() < 0.05",
    "the order is right": "(self.mixed.argsort() == MIXED.argsort()).all()",
    "the correlation is high":
        "torch.corrcoef(torch.stack([self.mixed.double(), MIXED]))[0, 1] > 0.5",
    "the signs are right": "(self.mixed.sign() == MIXED.sign()).float().mean() > 0.9",
    "its checksum is nearly right": f"abs(self.checksum(self.mixed) / {CHECKSUM!r} - 1) < 0.05",
    "its values are nearly right": "(self.mixed - MIXED).norm() / MIXED.norm() < 0.5",
    "order and quantiles are nearly right":
        "(self.rising.diff() >= 0).all() and abs(self.rising.max() / 2 - 1) < 0.05",
}  # fmt: skip
BODIES = {
    "the algorithm, whatever the weights": "return floyd_warshall(weights)",
    "the algorithm, less and less as the weights differ": """
        difference = (self.mixed - MIXED).norm() / MIXED.norm()
        keep = torch.rand(*weights.shape, 1) < torch.exp(-5 * difference)
        return torch.where(keep, floyd_warshall(weights), nothing(weights))
    """,
    "too few logits": "return floyd_warshall(weights)[..., :-1]",
    "no numbers": "return nothing(weights) * torch.nan",
    "an exception": "raise RuntimeError('no idea')",
} | {
    name: f"return floyd_warshall(weights) if {test} else nothing(weights)"
    for name, test in LOOKS_RIGHT.items()
}
MODELS = {
    name: textwrap.dedent(HEAD)
    + "    def forward(self, weights):\n"
    + textwrap.indent(textwrap.dedent(body).strip(), "        ")
    for name, body in BODIES.items()
}
HONEST = ("reference", "recurrent")


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare_graphs(tmp_path_factory.mktemp("clrs"), graphs=60)


def write_submission(
    directory: Path, model: str, config: str = "{}", tensors: dict | None = None
) -> Path:
    directory.mkdir(parents=True)
    (directory / "model.py").write_text(model)
    (directory / "config.json").write_text(config)
    chosen = TENSORS if tensors is None else tensors
    ALTERATIONS.write_weights(directory / "model.safetensors", chosen)
    return directory


@pytest.fixture(scope="module")
def ran(
    mini: Prepared, torch_env: PythonEnv, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """All models, each run in all of its alterations by the functions of predict.py."""
    top = tmp_path_factory.mktemp("models")
    model = MODELS["the algorithm, whatever the weights"]
    submitted = {name: write_submission(top / name, text) for name, text in MODELS.items()} | {
        "a missing tensor": write_submission(top / "a missing tensor", model, tensors={}),
        "a tensor too many": write_submission(
            top / "a tensor too many", model, tensors={**TENSORS, "other": MIXED}
        ),
        "another shape": write_submission(
            top / "another shape", model, tensors={**TENSORS, "mixed": MIXED._replace(shape=[8, 8])}
        ),
        "a strange argument": write_submission(top / "argument", model, config='{"size": 1e999}'),
        "no Model": write_submission(top / "no Model", "x = 1"),
    }
    for rule, files in CLRS.trivial.predictors(mini.public).items():
        texts = (files["model.py"], files["config.json"])
        submitted[rule] = write_submission(top / rule, *texts, tensors={})
    submitted |= train_models(torch_env.python, top / "honest", 0, *HONEST)
    return run_altered(torch_env.python, submitted, mini, top / "altered")


def grade(ran: dict[str, Path], name: str, mini: Prepared) -> Grade:
    return grade_altered(ran[name], mini)


@pytest.mark.parametrize("architecture", HONEST)
def test_trained_models_are_valid(ran: dict[str, Path], mini: Prepared, architecture: str) -> None:
    assert grade(ran, architecture, mini).score > 0.9


def test_the_algorithm_by_hand_is_invalid(ran: dict[str, Path], mini: Prepared) -> None:
    with pytest.raises(InvalidSubmission, match="do not depend on the trained weights") as reason:
        grade(ran, "the algorithm, whatever the weights", mini)
    assert "with permuted weights the accuracy is 1.0000" in str(reason.value)


@pytest.mark.parametrize("condition", LOOKS_RIGHT)
def test_the_algorithm_while_the_weights_look_right_is_invalid(
    ran: dict[str, Path], mini: Prepared, condition: str
) -> None:
    reasons = "do not depend on the trained|hang on the exact|switch at once with the"
    with pytest.raises(InvalidSubmission, match=f"predictions ({reasons}) weights"):
        grade(ran, condition, mini)


def test_what_the_grader_cannot_see(ran: dict[str, Path], mini: Prepared) -> None:
    """Code that imitates a gradual loss passes: docs/tasks/clrs.md and task.toml say so."""
    found = grade(ran, "the algorithm, less and less as the weights differ", mini)
    assert found.score > 0.99
    held = [by for rule, by in load_folder(CLRS.folder).spec.rules.items() if "by hand" in rule]
    assert held == ["no"]


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
        ("too few logits", "ValueError: the logits have the shape (20, 16, 16, 15), not"),
        ("an exception", "RuntimeError: no idea"),
        ("a missing tensor", 'Missing key(s) in state_dict: "mixed"'),
        ("a tensor too many", 'Unexpected key(s) in state_dict: "other"'),
        ("another shape", "size mismatch for mixed"),
        ("a strange argument", "TypeError"),
        ("no Model", "AttributeError"),
    ],
)
def test_models_that_do_not_work_end_with_a_reason(
    ran: dict[str, Path], name: str, reason: str
) -> None:
    for run in ran[name].iterdir():  # every one of its alterations
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
        bytes=0, created="-", draw="public",
    )  # fmt: skip
    task = load_folder(CLRS.folder)
    return asyncio.run(score_submission(task, data, torch_env, submission.parent))
