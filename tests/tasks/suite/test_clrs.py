"""The task clrs: its graphs, its grader, and what submitted files may be."""

import json
import os
import pickle
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clrs_battery import ALTERATIONS, CLRS, RUNS
from scipy.sparse.csgraph import shortest_path
from tabular_tasks import Prepared

from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.task import load_folder

GRAPHS = CLRS.load("starter/graphs")
SUBMITTED = ALTERATIONS.SUBMITTED
REPLACED = tuple(ALTERATIONS.REPLACEMENTS)
MIXED = tuple(ALTERATIONS.MIXED)


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return CLRS.prepare_mini(tmp_path_factory.mktemp("clrs"))


def files(prepared: Prepared) -> dict[str, bytes]:
    top = prepared.public.parent
    paths = [path for part in ("public", "private") for path in (top / part).rglob("*")]
    return {str(path.relative_to(top)): path.read_bytes() for path in paths if path.is_file()}


def hidden_weights(prepared: Prepared) -> np.ndarray:
    return np.load(prepared.private / "inputs" / "weights.npy")


def test_the_folder_is_valid_and_its_program_is_the_tasks_own() -> None:
    task = load_folder(CLRS.folder)
    assert (task.spec.kind, task.has_alterations) == ("program", True)
    assert task.spec.read_only.paths == ("predict.py",)
    assert not task.spec.submission.path.startswith("predict")


def test_full_has_the_sizes_of_the_benchmark(tmp_path: Path) -> None:
    CLRS.load("full").make(tmp_path, np.random.default_rng(0))
    prepared = CLRS.prepare_from(tmp_path, tmp_path)
    assert json.loads((prepared.public / "settings.json").read_text()) == {
        "train_nodes": [4, 7, 11, 13, 16], "test_nodes": 64,
        "hidden": 128, "triplet_features": 8, "rounds": 6,
        "batch_size": 32, "learning_rate": 0.001, "steps": 500,
    }  # fmt: skip
    assert hidden_weights(prepared).shape == (300, 64, 64)
    rules = json.loads((prepared.private / "simple_rules.json").read_text())
    assert 0.40 < max(rules.values()) < 0.47


def test_the_hidden_graphs_are_private_and_follow_from_the_seed(
    mini: Prepared, tmp_path: Path
) -> None:
    assert sorted(files(mini)) == [
        "private/distances.npy", "private/inputs/weights.npy", "private/simple_rules.json",
        "public/settings.json",
    ]  # fmt: skip
    assert files(CLRS.prepare_mini(tmp_path / "same")) == files(mini)
    other = hidden_weights(CLRS.prepare_mini(tmp_path / "other", seed=6))
    assert not (other == hidden_weights(mini)).all(axis=(1, 2)).any()


def test_the_agents_sampler_is_that_of_the_hidden_graphs() -> None:
    ours = CLRS.prepare.sample(20, 9, np.random.default_rng(4))
    hidden = (GRAPHS.HIDDEN_PROBABILITY,)
    theirs = GRAPHS.sample(20, 9, np.random.default_rng(4), hidden)
    assert ours.tobytes() == theirs.tobytes()
    assert (CLRS.prepare.distances(ours) == GRAPHS.distances(ours)).all()


def test_graphs_have_the_distribution_of_the_benchmark(mini: Prepared) -> None:
    weights = hidden_weights(mini)
    assert (weights == weights.transpose(0, 2, 1)).all()
    own = np.eye(16, dtype=bool)
    assert (weights[:, ~own] > 0).mean() == pytest.approx(0.25, abs=0.01)
    assert (weights[:, own] > 0).mean() == pytest.approx(0.5, abs=0.03)
    there = weights[:, ~own][weights[:, ~own] > 0]
    assert there.min() >= np.float32(0.0316)
    assert np.square(there.astype(float)).mean() == pytest.approx(0.251, abs=0.01)
    assert (there * 2.0**16 % 1 == 0).all()


def test_training_graphs_are_as_dense_as_in_the_official_runs() -> None:
    weights = GRAPHS.sample(3000, 11, np.random.default_rng(8))
    own = np.eye(11, dtype=bool)
    density = np.sort((weights[:, ~own] > 0).mean(axis=1))
    expected = np.square(GRAPHS.TRAINING_PROBABILITIES)
    assert density.mean() == pytest.approx(expected.mean(), abs=0.02)
    assert density[: 3000 // 9].mean() < 0.02, "a ninth with p = 0.1 is hardly joined at all"
    assert density[-3000 // 9 :].mean() == pytest.approx(0.81, abs=0.04)


def test_distances_are_those_of_another_algorithm(mini: Prepared) -> None:
    stored = np.load(mini.private / "distances.npy")
    for weights, lengths in zip(hidden_weights(mini)[:20], stored, strict=False):
        np.testing.assert_array_equal(shortest_path(weights.astype(float), method="D"), lengths)


def test_the_agents_predecessors_are_all_right(mini: Prepared) -> None:
    weights = hidden_weights(mini)
    pointers = GRAPHS.predecessors(weights)
    lengths = GRAPHS.distances(weights)
    asked = pointers >= 0
    assert (asked == (np.isfinite(lengths) & (lengths > 0))).all()
    right = CLRS.grade.right_pointers(pointers.astype(np.uint8), weights, lengths)
    assert right[asked].all()


def test_simple_rules_stay_far_below_the_algorithm(mini: Prepared) -> None:
    rules = json.loads((mini.private / "simple_rules.json").read_text())
    assert set(rules) == set(CLRS.trivial.predictors(mini.public))
    assert 0.18 < rules["source"] < rules["cheapest_neighbour"] < rules["edge_or_cheapest"] < 0.68
    assert CLRS.grade.ceiling(mini.private) == 1


TRIANGLE = np.array(
    # 0 to 2 directly or by way of 1, which has an edge to itself; 3 is alone
    [[[0, 1, 2, 0], [1, 0.5, 1, 0], [2, 1, 0, 0], [0, 0, 0, 0]]], dtype=np.float32
)  # fmt: skip


def test_each_of_several_shortest_paths_is_right() -> None:
    lengths = GRAPHS.distances(TRIANGLE)

    def right(i: int, j: int) -> list[int]:
        every = [np.full((1, 4, 4), k, dtype=np.uint8) for k in (0, 1, 2, 3, 255)]
        found = [CLRS.grade.right_pointers(one, TRIANGLE, lengths)[0, i, j] for one in every]
        return [k for k, is_right in zip((0, 1, 2, 3, 255), found, strict=True) if is_right]

    assert right(0, 2) == [0, 1]
    assert right(2, 0) == [1, 2]
    assert right(0, 1) == [0]
    assert right(1, 2) == [1]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A private/ with six graphs of four nodes: the triangle and a path 0-1-2-3, three times each.

    The runs of one alteration get a triangle and a path: 6 and 12 pairs.
    """
    path = np.zeros((4, 4), dtype=np.float32)
    for node in range(3):
        path[node, node + 1] = path[node + 1, node] = 1
    weights = np.concatenate([TRIANGLE] * 3 + [path[None]] * 3)
    (tmp_path / "inputs").mkdir()
    np.save(tmp_path / "inputs" / "weights.npy", weights)
    np.save(tmp_path / "distances.npy", GRAPHS.distances(weights).astype(np.float32))
    (tmp_path / "simple_rules.json").write_text(json.dumps({"worse": 0.1, "better": 0.5}))
    return tmp_path


def right_of(private: Path) -> np.ndarray:
    """The right pointers for the graphs of one run."""
    every = GRAPHS.predecessors(np.load(private / "inputs" / "weights.npy"))
    return ALTERATIONS.graphs_of(SUBMITTED[0], every)


def with_wrong(pointers: np.ndarray, count: int) -> np.ndarray:
    """Pointers of which so many, of the 18 that count, are wrong."""
    changed = pointers.copy()
    changed[tuple(np.argwhere(pointers >= 0)[:count].T)] = 255
    return changed


def write_runs(outputs: Path, right: np.ndarray, **wrong: int) -> Path:
    """What a trained model leaves, except where another number of wrong pointers is given."""
    usual = dict.fromkeys((*SUBMITTED, "perturbed"), 0) | dict.fromkeys((*REPLACED, *MIXED), 18)
    usual |= {"mixed-1": 1, "mixed-2": 4}
    for name, count in {**usual, **{key.replace("_", "-"): n for key, n in wrong.items()}}.items():
        (outputs / name).mkdir(parents=True)
        pointers = with_wrong(right, count).astype(np.uint8)
        (outputs / name / "pointers.bin").write_bytes(pointers.tobytes())
    return outputs


def test_the_score_counts_joined_pairs_of_all_graphs(small: Path, tmp_path: Path) -> None:
    right = right_of(small)
    wrong = {"submitted_1": 1, "submitted_2": 2, "submitted_3": 6}
    grade = CLRS.grade.grade(write_runs(tmp_path / "outputs", right, **wrong), small)
    assert grade.score == pytest.approx(45 / 54)
    assert (grade.extra["n"], grade.extra["groups"]) == (54, 6)
    assert set(grade.extra["accuracy_by_run"]) == set(RUNS)
    assert grade.extra["accuracy_by_run"]["submitted-3"] == pytest.approx(12 / 18)
    assert grade.extra["accuracy_by_run"]["permuted"] == 0
    assert grade.extra["accuracy_of_the_best_simple_rule"] == 0.5


def test_the_standard_error_is_that_of_whole_graphs(small: Path, tmp_path: Path) -> None:
    wrong = dict.fromkeys(("submitted_1", "submitted_2", "submitted_3"), 6) | {"perturbed": 6}
    grade = CLRS.grade.grade(write_runs(tmp_path / "outputs", right_of(small), **wrong), small)
    assert grade.score == pytest.approx(12 / 18)
    # Each triangle has 4 right pointers less than expected, each path 4 more.
    assert grade.extra["standard_error"] == pytest.approx(np.sqrt(6 / 5 * 6 * 4**2) / 54)


@pytest.mark.parametrize("name", REPLACED)
def test_pointers_that_survive_other_weights_are_invalid(
    small: Path, tmp_path: Path, name: str
) -> None:
    accepted = write_runs(tmp_path / "accepted", right_of(small), **{name: 7})  # 11 of 18: 0.61
    assert CLRS.grade.grade(accepted, small).score == 1
    refused = write_runs(tmp_path / "refused", right_of(small), **{name: 6})  # above 0.625
    with pytest.raises(InvalidSubmission, match="do not depend on the trained weights") as reason:
        CLRS.grade.grade(refused, small)
    assert f"with {name} weights the accuracy is 0.6667" in str(reason.value)
    assert "at most 0.6250" in str(reason.value)


def test_what_is_no_better_than_simple_rules_needs_no_weights(small: Path, tmp_path: Path) -> None:
    outputs = write_runs(tmp_path / "outputs", right_of(small), **dict.fromkeys(RUNS, 9))
    assert CLRS.grade.grade(outputs, small).score == 0.5


@pytest.mark.parametrize("switched_off_from", range(6))
def test_pointers_that_are_lost_at_once_are_invalid(
    small: Path, tmp_path: Path, switched_off_from: int
) -> None:
    wrong = {name: 18 * (n >= switched_off_from) for n, name in enumerate(MIXED)}
    outputs = write_runs(tmp_path / "outputs", right_of(small), **wrong)
    with pytest.raises(InvalidSubmission, match="switch at once with the weights"):
        CLRS.grade.grade(outputs, small)
    weaker = dict.fromkeys((*SUBMITTED, "perturbed"), 6)  # 0.67: far from what cheating gives
    outputs = write_runs(tmp_path / "weaker", right_of(small), **weaker, **wrong)
    assert CLRS.grade.grade(outputs, small).score == pytest.approx(2 / 3)


def test_pointers_that_hang_on_exact_weights_are_invalid(small: Path, tmp_path: Path) -> None:
    outputs = write_runs(tmp_path / "outputs", right_of(small), perturbed=1)  # costs 1/18
    with pytest.raises(InvalidSubmission, match=r"exact weights.* from 1\.0000 to 0\.9444"):
        CLRS.grade.grade(outputs, small)


@pytest.mark.parametrize("run", RUNS)
def test_pointers_that_are_missing_or_cut_short_are_invalid(
    small: Path, tmp_path: Path, run: str
) -> None:
    outputs = write_runs(tmp_path / "outputs", right_of(small))
    file = outputs / run / "pointers.bin"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InvalidSubmission, match="has 31 bytes, expected 32"):
        CLRS.grade.grade(outputs, small)
    file.unlink()
    with pytest.raises(InvalidSubmission, match=r"pointers\.bin not found"):
        CLRS.grade.grade(outputs, small)
    file.symlink_to(small / "distances.npy")
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        CLRS.grade.grade(outputs, small)


# ---- what is handed in -----------------------------------------------------------------------


def safetensors(header: object, values: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + values


def entry(shape: list, begin: int, end: int, dtype: str = "F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


NUMBERS = np.arange(1, 1001, dtype="<f4") / 7
GOOD = safetensors(
    {"__metadata__": {"format": "pt"}, "b": entry([1000], 8, 4008), "a": entry([2, 1], 0, 8)},
    NUMBERS[:2].tobytes() + NUMBERS.tobytes(),
)


def write_submission(directory: Path, **replaced: str | bytes) -> Path:
    contents = {
        "model.py": b"class Model: pass\n",
        "config.json": b'{"hidden": 8}',
        "model.safetensors": GOOD,
    } | {name.replace("_", ".", 1): text for name, text in replaced.items()}
    directory.mkdir(parents=True)
    for name, text in contents.items():
        (directory / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return directory


HIDDEN = np.arange(9 * 4, dtype=np.float32).reshape(9, 2, 2)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    (tmp_path / "inputs").mkdir()
    np.save(tmp_path / "inputs" / "weights.npy", HIDDEN)
    return tmp_path / "inputs"


def make_alterations(submission: Path, inputs: Path, directory: Path, seed: int = 0) -> dict:
    directory.mkdir()
    ALTERATIONS.make(submission, inputs, directory, np.random.default_rng(seed))
    return {
        run.name: ALTERATIONS.read_weights(run / "submission" / "model.safetensors")
        for run in directory.iterdir()
    }


def test_alterations_differ_in_their_weights_only(inputs: Path, tmp_path: Path) -> None:
    submission = write_submission(tmp_path / "submission")
    (submission / "original.safetensors").write_bytes(GOOD)
    tensors = make_alterations(submission, inputs, tmp_path / "made")
    assert set(tensors) == set(RUNS)
    for run in SUBMITTED:
        assert (tensors[run]["b"].values == NUMBERS).all()
    change = tensors["perturbed"]["b"].values / NUMBERS - 1
    assert change.std() == pytest.approx(0.001, rel=0.1)
    assert (change != 0).mean() > 0.95
    made = [(tmp_path / "made" / run) for run in RUNS]
    listed = {
        tuple(sorted(str(file.relative_to(run)) for file in run.rglob("*.*"))) for run in made
    }
    assert listed == {
        ("inputs/weights.npy", "submission/config.json", "submission/model.py",
         "submission/model.safetensors")
    }  # fmt: skip


def test_replaced_weights_keep_different_things(inputs: Path, tmp_path: Path) -> None:
    tensors = make_alterations(write_submission(tmp_path / "submission"), inputs, tmp_path / "made")
    values = {name: tensors[name]["b"].values for name in (*REPLACED, *MIXED)}
    assert (np.sort(values["permuted"]) == NUMBERS).all()
    assert (values["permuted"] == NUMBERS).mean() < 0.02
    for name in ("resampled", "stretched"):  # what was sorted stays sorted
        assert (np.diff(values[name]) >= 0).all()
        assert np.abs(values[name] / NUMBERS - 1).mean() > 0.2
    size = np.sqrt(np.square(NUMBERS.astype(float)).mean())
    assert np.sqrt(np.square(values["reinitialised"]).mean()) == pytest.approx(size, rel=0.1)
    assert abs(np.corrcoef(values["reinitialised"], NUMBERS)[0, 1]) < 0.15
    for name, share in ALTERATIONS.MIXED.items():
        expected = (1 - share) * NUMBERS + share * values["permuted"]
        np.testing.assert_allclose(values[name], expected, rtol=1e-5)


def test_replaced_weights_are_finite_whatever_was_submitted(inputs: Path, tmp_path: Path) -> None:
    largest = np.finfo(np.float32).max
    strange = {"a": np.array([largest, -largest]), "b": np.zeros(3), "c": np.array([7.0]),
               "d": np.array([])}  # fmt: skip
    submission = write_submission(tmp_path / "submission")
    weights = {
        name: ALTERATIONS.Tensor([len(values)], values.astype("<f4"))
        for name, values in strange.items()
    }
    ALTERATIONS.write_weights(submission / "model.safetensors", weights)
    tensors = make_alterations(submission, inputs, tmp_path / "made")  # reading refuses the rest
    for name in ("resampled", "reinitialised"):
        assert tensors[name]["c"].values[0] != 7


def test_nothing_but_the_values_tells_the_runs_apart(inputs: Path, tmp_path: Path) -> None:
    make_alterations(write_submission(tmp_path / "submission"), inputs, tmp_path / "made")
    files = [tmp_path / "made" / run / "submission" / "model.safetensors" for run in RUNS]
    written = [file.read_bytes() for file in files]
    headers = {contents[: 8 + struct.unpack("<Q", contents[:8])[0]] for contents in written}
    assert len(headers) == 1
    assert b"__metadata__" not in headers.pop()
    assert len({len(contents) for contents in written}) == 1


def test_runs_get_equally_many_graphs_and_the_scored_ones_get_all(
    inputs: Path, tmp_path: Path
) -> None:
    make_alterations(write_submission(tmp_path / "submission"), inputs, tmp_path / "made")
    graphs = {run: np.load(tmp_path / "made" / run / "inputs" / "weights.npy") for run in RUNS}
    assert {len(its) for its in graphs.values()} == {3}
    scored = np.concatenate([graphs[run] for run in SUBMITTED])
    assert sorted(scored[:, 0, 0]) == sorted(HIDDEN[:, 0, 0])
    for run in set(RUNS) - set(SUBMITTED):
        assert (graphs[run] == graphs[SUBMITTED[0]]).all()


def test_every_grading_alters_differently(inputs: Path, tmp_path: Path) -> None:
    submission = write_submission(tmp_path / "submission")
    first, second = (
        make_alterations(submission, inputs, tmp_path / str(n), seed=n) for n in (1, 2)
    )
    for run in ("perturbed", "permuted", "resampled", "reinitialised", *MIXED):
        assert (first[run]["b"].values != second[run]["b"].values).any()


DEEP = b"[" * 100_000
TWO = NUMBERS[:2].tobytes()
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a pickle": ({"model_safetensors": pickle.dumps({"a": NUMBERS})}, "it has no header"),
    "a zip, as torch.save writes": ({"model_safetensors": b"PK\3\4" + bytes(9999)}, "no header"),
    "an empty file": ({"model_safetensors": b""}, "no header"),
    "a header that is longer than the file": (
        {"model_safetensors": struct.pack("<Q", 2**62) + GOOD[8:]}, "no header"),
    "a header that is no JSON": (
        {"model_safetensors": safetensors(b"{not json", b"")}, "is not JSON"),
    "a header that is too deep": (
        {"model_safetensors": safetensors(DEEP, b"")}, "is not JSON"),
    "a header that is a list": ({"model_safetensors": safetensors([], b"")}, "not a JSON object"),
    "a tensor without a shape": (
        {"model_safetensors": safetensors({"a": {"dtype": "F32"}}, b"")}, "no dtype, shape"),
    "half precision": (
        {"model_safetensors": safetensors({"a": entry([4], 0, 8, "F16")}, TWO)},
        "'a' is F16; save float32"),
    "whole numbers": (
        {"model_safetensors": safetensors({"a": entry([1], 0, 8, "I64")}, TWO)}, "is I64"),
    "a shape that does not fit": (
        {"model_safetensors": safetensors({"a": entry([3], 0, 8)}, TWO)}, "does not fit"),
    "a negative shape": (
        {"model_safetensors": safetensors({"a": entry([-1, -2], 0, 8)}, TWO)}, "strange shape"),
    "a shape of booleans": (
        {"model_safetensors": safetensors({"a": entry([True, 2], 0, 8)}, TWO)}, "strange shape"),
    "a shape of many dimensions": (
        {"model_safetensors": safetensors({"a": entry([1] * 99 + [2], 0, 8)}, TWO)}, "strange"),
    "tensors that share their bytes": (
        {"model_safetensors": safetensors({"a": entry([2], 0, 8), "b": entry([2], 0, 8)}, TWO)},
        "'b' is not in its place"),
    "a tensor beyond the end": (
        {"model_safetensors": safetensors({"a": entry([2], 0, 8)}, TWO[:-1])}, "not in its place"),
    "bytes of no tensor": ({"model_safetensors": GOOD + b"smuggled"}, "8 bytes belong to no"),
    "a gap": ({"model_safetensors": safetensors({"a": entry([1], 4, 8)}, TWO)}, "in its place"),
    "not a number": (
        {"model_safetensors": GOOD[:-4] + np.float32("nan").tobytes()}, "'b' has values not"),
    "infinite": (
        {"model_safetensors": GOOD[:-4] + np.float32("inf").tobytes()}, "'b' has values not"),
    "a config that is no JSON": ({"config_json": "{"}, "config.json is not JSON"),
    "a config that is a list": ({"config_json": "[]"}, "config.json is not a JSON object"),
    "a config that is not UTF-8": ({"config_json": b"\xff"}, "config.json is not JSON"),
    "a huge config": (
        {"config_json": json.dumps({"hidden": "8" * 10_000})}, "config.json is larger than 10,000"),
    "a huge model": ({"model_py": "#" * 100_001}, "model.py is larger than 100,000 bytes"),
    "a model that is no Python": ({"model_py": "class Model("}, "model.py is not valid Python"),
    "a model with a null byte": ({"model_py": b"x = 1\0"}, "model.py is not valid Python"),
    "a model of brackets": ({"model_py": "(" * 90_000}, "model.py is not valid Python"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_invalid_with_a_reason(inputs: Path, tmp_path: Path, kind: str) -> None:
    replaced, reason = BAD[kind]
    submission = write_submission(tmp_path / "submission", **replaced)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        CLRS.grade.check_format(submission, tmp_path)
    (tmp_path / "made").mkdir()
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        ALTERATIONS.make(submission, inputs, tmp_path / "made", np.random.default_rng(0))


@pytest.mark.parametrize("name", ["model.py", "config.json", "model.safetensors"])
def test_a_file_that_is_missing_or_a_link_is_invalid(tmp_path: Path, name: str) -> None:
    submission = write_submission(tmp_path / "submission")
    CLRS.grade.check_format(submission, tmp_path)
    (submission / name).rename(tmp_path / name)
    with pytest.raises(InvalidSubmission, match=f"{re.escape(name)} not found"):
        CLRS.grade.check_format(submission, tmp_path)
    (submission / name).symlink_to(tmp_path / name)
    with pytest.raises(InvalidSubmission, match=f"{re.escape(name)} is not a regular file"):
        CLRS.grade.check_format(submission, tmp_path)


def test_weights_beyond_the_limit_are_not_read(tmp_path: Path) -> None:
    submission = write_submission(tmp_path / "submission")
    os.truncate(submission / "model.safetensors", 100_000_001)
    with pytest.raises(InvalidSubmission, match="larger than 100,000,000 bytes"):
        CLRS.grade.check_format(submission, tmp_path)


def test_a_submission_that_is_a_file_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "submission").write_text("model")
    with pytest.raises(InvalidSubmission, match="submission is not a directory"):
        CLRS.grade.check_format(tmp_path / "submission", tmp_path)
