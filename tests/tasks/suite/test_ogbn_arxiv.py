"""The task ogbn-arxiv: the official archive, the generated graph, the grader."""

import asyncio
import csv
import gzip
import json
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather
from mlagentbench.tasks.task import load_folder

ARXIV = TaskModules("ogbn-arxiv")
NODES = 60
OFFICIAL = [
    "raw/edge", "raw/node-feat", "raw/node-label", "raw/node_year",
    "split/time/train", "split/time/valid", "split/time/test",
]  # fmt: skip


def write_gz(file: Path, rows: np.ndarray) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt") as handle:
        np.savetxt(handle, rows, fmt="%d" if rows.dtype.kind == "i" else "%.6f", delimiter=",")


def official_tree(directory: Path) -> dict[str, np.ndarray]:
    """The official folder with few nodes; returns its tables."""
    rng = np.random.default_rng(0)
    years = np.sort(rng.integers(2010, 2021, size=NODES))
    features = np.round(rng.normal(size=(NODES, 128)), 6)
    features[NODES - 1] = features[0]  # a test paper with the words of a training paper
    tables = {
        "raw/edge": rng.integers(NODES, size=(150, 2)),
        "raw/node-feat": features,
        "raw/node-label": rng.integers(40, size=NODES),
        "raw/node_year": years,
        "split/time/train": np.flatnonzero(years < 2018),
        "split/time/valid": np.flatnonzero(years == 2018),
        "split/time/test": np.flatnonzero(years > 2018),
    }
    for name, rows in tables.items():
        write_gz(directory / "arxiv" / f"{name}.csv.gz", rows)
    mapping = directory / "arxiv/mapping"
    mapping.mkdir()
    (mapping / "nodeidx2paperid.csv.gz").write_bytes(
        gzip.compress(b"node idx,paper id\n0,9657784\n")
    )
    return tables


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return ARXIV.prepare_mini(tmp_path_factory.mktemp("arxiv"))


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, np.ndarray], Prepared]:
    directory = tmp_path_factory.mktemp("official")
    tables = official_tree(directory / "raw")
    return tables, ARXIV.prepare_from(directory / "raw", directory)


def read_rows(file: Path) -> dict[int, int]:
    with file.open() as handle:
        return {int(node): int(value) for node, value in list(csv.reader(handle))[1:]}


def as_csv(labels: dict[int, int]) -> str:
    return "\n".join(["node,label", *(f"{node},{label}" for node, label in labels.items())]) + "\n"


def test_nodes_are_renumbered_and_keep_all_that_is_theirs(
    official: tuple[dict[str, np.ndarray], Prepared],
) -> None:
    tables, prepared = official
    original = read_rows(prepared.private / "mapping.csv")
    new = {old: node for node, old in original.items()}
    assert sorted(original.values()) == list(range(NODES)) and new != original
    features = np.load(prepared.public / "node_features.npy")
    years = np.load(prepared.public / "node_years.npy")
    for node, old in original.items():
        assert features[node] == pytest.approx(tables["raw/node-feat"][old])
        assert years[node] == tables["raw/node_year"][old]
    edges = np.load(prepared.public / "edges.npy").tolist()
    assert edges == sorted([new[a], new[b]] for a, b in tables["raw/edge"].tolist())
    train = np.load(prepared.public / "train_nodes.npy")
    labels = np.load(prepared.public / "train_labels.npy")
    assert labels.tolist() == [tables["raw/node-label"][original[node]] for node in train]
    assert {original[node] for node in train} == {
        *tables["split/time/train"], *tables["split/time/valid"],
    }  # fmt: skip
    answers = read_rows(prepared.private / "answers.csv")
    assert list(answers) == np.load(prepared.public / "test_nodes.npy").tolist()
    assert {original[node] for node in answers} == {*tables["split/time/test"]}
    assert all(tables["raw/node-label"][original[node]] == answers[node] for node in answers)


def test_the_full_tier_has_the_papers_settings_and_no_known_ceiling(
    official: tuple[dict[str, np.ndarray], Prepared],
) -> None:
    prepared = official[1]
    settings = json.loads((prepared.public / "training.json").read_text())
    assert settings == {"learning_rate": 1.0, "epochs": 4, "batch_size": 128}
    assert ARXIV.grade.ceiling(prepared.private) is None


def test_public_files_hold_nothing_else(official: tuple[dict[str, np.ndarray], Prepared]) -> None:
    prepared = official[1]
    assert sorted(file.name for file in prepared.public.iterdir()) == [
        "edges.npy", "node_features.npy", "node_years.npy", "sample_submission.csv",
        "test_nodes.npy", "train_labels.npy", "train_nodes.npy", "training.json",
    ]  # fmt: skip
    rows = read_rows(prepared.public / "sample_submission.csv")
    assert set(rows.values()) == {0}
    ARXIV.grade.check_format(prepared.public / "sample_submission.csv", prepared.public)


def test_a_test_paper_with_the_words_of_a_training_paper_is_counted_apart(
    official: tuple[dict[str, np.ndarray], Prepared], tmp_path: Path
) -> None:
    prepared = official[1]
    answers = read_rows(prepared.private / "answers.csv")
    original = read_rows(prepared.private / "mapping.csv")
    copy = next(node for node in answers if original[node] == NODES - 1)
    assert (prepared.private / "copies.csv").read_text() == f"node\n{copy}\n"
    wrong_but_for_the_copy = {
        node: label if node == copy else (label + 1) % 40 for node, label in answers.items()
    }
    grade = ARXIV.score(as_csv(wrong_but_for_the_copy), prepared.private, tmp_path)
    assert grade.score == pytest.approx(1 / len(answers))
    assert grade.extra["score_without_copies"] == 0
    assert grade.extra["copies_of_training_papers"] == 1


def zipped(tree: Path, file: Path, but: str = "") -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(tree.rglob("*.gz")):
            if path.name != but:
                archive.write(path, path.relative_to(tree))


def taken(directory: Path, raw: Path) -> None:
    """What `prepare --from` brings together."""
    raw.mkdir()
    task = load_folder(ARXIV.folder)
    asyncio.run(gather(task, raw, from_dir=directory, accept_unverified=False, progress=Silent()))


@pytest.mark.parametrize("form", ["archive", "tree", "inside of the tree"])
def test_archive_and_tree_give_the_same(
    official: tuple[dict[str, np.ndarray], Prepared], tmp_path: Path, form: str
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    if form == "archive":
        zipped(official[1].raw, own / "arxiv.zip")
    else:
        shutil.copytree(official[1].raw / "arxiv", own / "arxiv")
    taken(own / "arxiv" if form == "inside of the tree" else own, tmp_path / "raw")
    assert not (tmp_path / "raw/arxiv/mapping").exists()
    assert ARXIV.prepare_from(tmp_path / "raw", tmp_path).files() == official[1].files()


@pytest.mark.parametrize("name", OFFICIAL)
def test_a_missing_file_is_named(
    official: tuple[dict[str, np.ndarray], Prepared], tmp_path: Path, name: str
) -> None:
    shutil.copytree(official[1].raw, tmp_path / "own")
    (tmp_path / "own/arxiv" / f"{name}.csv.gz").unlink()
    with pytest.raises(UsageError, match=f"arxiv/{name}.csv.gz not found in"):
        taken(tmp_path / "own", tmp_path / "raw")
    (tmp_path / "packed").mkdir()
    zipped(tmp_path / "own", tmp_path / "packed/arxiv.zip")
    with pytest.raises(FileNotFoundError, match=f"arxiv.zip lacks arxiv/{name}.csv.gz"):
        ARXIV.prepare_from(tmp_path / "packed", tmp_path)


def test_tables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    official_tree(tmp_path / "raw")
    write_gz(tmp_path / "raw/arxiv/raw/node-label.csv.gz", np.arange(NODES - 1))
    with pytest.raises(ValueError, match=r"node-label\.csv\.gz has 59 rows"):
        ARXIV.prepare.read_graph(tmp_path / "raw")
    tables = official_tree(tmp_path / "other")
    write_gz(tmp_path / "other/arxiv/split/time/test.csv.gz", tables["split/time/test"][1:])
    with pytest.raises(ValueError, match="do not hold every node once"):
        ARXIV.prepare.read_graph(tmp_path / "other")


def test_mini_is_a_small_arxiv(mini: Prepared) -> None:
    features, edges, years = (
        np.load(mini.public / f"{name}.npy") for name in ("node_features", "edges", "node_years")
    )
    assert (features.shape, features.dtype) == ((3000, 128), np.float32)
    assert np.array_equal(features, np.round(features, 3))
    train, test = (np.load(mini.public / f"{part}_nodes.npy") for part in ("train", "test"))
    assert sorted([*train, *test]) == list(range(3000)) and len(test) >= 1000
    assert years[train].max() < years[test].min()
    assert (years[edges[:, 0]] >= years[edges[:, 1]]).all()
    labels = np.full(3000, -1)
    labels[train] = np.load(mini.public / "train_labels.npy")
    both = labels[edges][(labels[edges] >= 0).all(axis=1)]
    assert 0.25 < (both[:, 0] == both[:, 1]).mean() < 0.40
    assert np.bincount(labels[train]).min() > 5 and labels.max() == 39
    assert 0.92 < ARXIV.grade.ceiling(mini.private) < 0.98


def test_the_numbers_of_nodes_say_nothing(mini: Prepared) -> None:
    years = np.load(mini.public / "node_years.npy")
    assert abs(np.corrcoef(np.arange(len(years)), years)[0, 1]) < 0.06
    answers = read_rows(mini.private / "answers.csv")
    pairs = np.array(list(answers.values()))
    assert (pairs[1:] == pairs[:-1]).mean() < 0.05


def test_the_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert ARXIV.prepare_mini(tmp_path / "same").files() == mini.files()
    other = ARXIV.prepare_mini(tmp_path / "other", seed=6).files()
    assert other["public/node_features.npy"] != mini.files()["public/node_features.npy"]


def test_no_trivial_predictor_goes_far(mini: Prepared, tmp_path: Path) -> None:
    scores = {
        name: ARXIV.score(text, mini.private, tmp_path).score
        for name, text in ARXIV.trivial.predictors(mini.public).items()
    }
    assert scores["majority"] < 0.1 and scores["best_single_feature"] < 0.15
    assert 0.3 < scores["neighbours_vote"] < 0.5


def test_features_alone_stay_below_the_bar(mini: Prepared) -> None:
    """The nearest centre of a field, which is about the best that features allow."""
    features = np.load(mini.public / "node_features.npy")
    train, test = (np.load(mini.public / f"{part}_nodes.npy") for part in ("train", "test"))
    labels = np.load(mini.public / "train_labels.npy")
    centres = np.stack([features[train[labels == n]].mean(axis=0) for n in range(40)])
    distances = ((centres**2).sum(axis=1) - 2 * features[test] @ centres.T).argmin(axis=1)
    answers = read_rows(mini.private / "answers.csv")
    assert 0.4 < (distances == [answers[node] for node in test.tolist()]).mean() < 0.58


@pytest.fixture
def small(tmp_path: Path) -> Path:
    private = tmp_path / "private"
    private.mkdir()
    (private / "answers.csv").write_text("node,label\n7,3\n2,3\n9,3\n4,12\n5,39\n")
    (private / "copies.csv").write_text("node\n")
    return private


GOOD = "node,label\n2,3\n4,12\n5,39\n7,3\n9,3\n"


def test_accuracy(small: Path, tmp_path: Path) -> None:
    assert ARXIV.score(GOOD, small, tmp_path / "out").score == 1
    grade = ARXIV.score(GOOD.replace("4,12", "4,11").replace("9,3", "9,0.0"), small, tmp_path / "o")
    assert grade.score == pytest.approx(0.6)
    assert grade.extra["mean_class_accuracy"] == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert grade.extra["n"] == 5 and "score_without_copies" not in grade.extra
    assert grade.extra["standard_error"] == pytest.approx((0.6 * 0.4 / 5) ** 0.5)


BAD = {
    "a missing row": (GOOD.replace("5,39\n", ""), "1 missing, first: 5"),
    "a repeated row": (GOOD + "5,39\n", "row ids repeat"),
    "an unknown row": (GOOD + "6,1\n", "1 unknown, first: 6"),
    "another column": (GOOD.replace("label", "class"), "expected node, label"),
    "text": (GOOD.replace("12", "cs.LG"), "'cs.LG' is not a number"),
    "not a number": (GOOD.replace("12", "nan"), "is not finite"),
    "a fraction": (GOOD.replace("12", "1.5"), "node 4: label '1.5' is no whole number from 0 to"),
    "a negative one": (GOOD.replace("12", "-1"), "node 4: label '-1'"),
    "a class too many": (GOOD.replace("12", "40"), "node 4: label '40'"),
    "nothing": ("", "is empty"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_submissions_are_invalid_with_a_reason(small: Path, tmp_path: Path, kind: str) -> None:
    text, reason = BAD[kind]
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        ARXIV.score(text, small, tmp_path / "outputs")


def test_what_is_no_file_of_text_is_invalid(small: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    file = outputs / "submission.csv"
    with pytest.raises(InvalidSubmission, match="not found"):
        ARXIV.grade.grade(outputs, small)
    file.write_bytes(b"node,label\n\xff\xfe,1\n")
    with pytest.raises(InvalidSubmission, match="not a UTF-8 CSV file"):
        ARXIV.grade.grade(outputs, small)
    file.unlink()
    file.symlink_to(small / "answers.csv")
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        ARXIV.grade.grade(outputs, small)
    with (outputs / "huge.csv").open("wb") as handle:
        handle.truncate(30_000_000)
    with pytest.raises(InvalidSubmission, match="larger than"):
        ARXIV.grade.read_labels(outputs / "huge.csv", [])


def test_half_of_the_newest_papers_can_be_held_back(mini: Prepared, tmp_path: Path) -> None:
    held = Prepared(tmp_path)
    ARXIV.prepare.hold_out(mini.public, held.public, held.private, np.random.default_rng(1))
    before = dict(zip(np.load(mini.public / "train_nodes.npy").tolist(),
                      np.load(mini.public / "train_labels.npy").tolist(), strict=True))  # fmt: skip
    kept = np.load(held.public / "train_nodes.npy").tolist()
    shown = np.load(held.public / "validation_nodes.npy").tolist()
    assert sorted([*kept, *shown]) == sorted(before)
    years = np.load(mini.public / "node_years.npy")
    assert set(years[shown]) == {2018} and len(shown) == (years == 2018).sum() // 2
    assert np.load(held.public / "train_labels.npy").tolist() == [before[node] for node in kept]
    assert read_rows(held.private / "answers.csv") == {node: before[node] for node in shown}
    right = as_csv({node: before[node] for node in shown})
    assert ARXIV.score(right, held.private, tmp_path / "outputs").score == 1
    sample = (held.public / "validation_sample_submission.csv").read_text()
    assert ARXIV.score(sample, held.private, tmp_path / "outputs").score < 0.2
