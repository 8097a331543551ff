"""Other splits of full data: only rows whose labels the agent was never given are tested."""

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tabular_tasks import Prepared, TaskModules

from mlagentbench.tasks.data.prepared_files import mark_answers
from mlagentbench.tasks.task import SUITE, load_folder


def splits_of(
    task_id: str, directory: Path, **sizes: int
) -> tuple[TaskModules, Prepared, Prepared]:
    """The official split of generated files in the official layout, and another one."""
    task = TaskModules(task_id)
    raw = directory / "raw"
    raw.mkdir()
    mini = task.mini
    for name, size in sizes.items():
        setattr(mini, name, size)
    mini.make(raw, np.random.default_rng(7))
    official = task.prepare_from(raw, directory / "official")
    mark_answers(official.private)
    other = Prepared(directory / "other")
    rng = np.random.default_rng(5)
    task.prepare.resplit(raw, official.public, official.private, other.public, other.private, rng)
    assert {path.name for path in other.public.iterdir()} == {
        path.name for path in official.public.iterdir()
    }
    return task, official, other


def images(prepared: Prepared, part: str) -> list[bytes]:
    return [image.tobytes() for image in np.load(prepared.public / f"{part}_images.npy")]


def rows(prepared: Prepared, part: str, *without: str) -> list[tuple[str, ...]]:
    """The rows of a table, without ids and labels."""
    table = pd.read_csv(prepared.public / f"{part}.csv", dtype=str, keep_default_na=False)
    return list(table.drop(columns=[*without], errors="ignore").itertuples(index=False, name=None))


def require_half(official: tuple[list, list], other: tuple[list, list], spare: int = 1) -> None:
    """About half of the official test rows are tested, and all others are for training."""
    assert sorted(chain(*official)) == sorted(chain(*other))
    assert not Counter(other[1]) - Counter(official[1]), "rows with known labels are tested"
    assert abs(2 * len(other[1]) - len(official[1])) <= 2 * spare


@pytest.mark.parametrize(
    ("task_id", "without", "spare"),
    [
        ("house-price", ["Id", "SalePrice"], 1),
        ("spaceship-titanic", ["PassengerId", "Transported"], 8),
        ("feedback", ["text_id", *(TaskModules("feedback").prepare.TARGETS)], 1),
        ("imdb", ["id", "sentiment"], 30),
    ],
)
def test_half_of_the_test_rows_are_tested_again(
    task_id: str, without: list[str], spare: int, tmp_path: Path
) -> None:
    task, official, other = splits_of(task_id, tmp_path)
    parts = [
        (rows(one, "train", *without), rows(one, "test", *without)) for one in (official, other)
    ]
    require_half(parts[0], parts[1], spare)
    answers = pd.read_csv(other.private / "answers.csv", dtype=str)
    known = pd.read_csv(official.public / "train.csv", dtype=str, keep_default_na=False)
    label = answers.columns[-1]
    joined = pd.read_csv(other.public / "train.csv", dtype=str, keep_default_na=False)
    assert len(joined) > len(known) and (joined[label] != "").all()
    columns = [column for column in known.columns if column not in without] + [label]
    assert set(known[columns].itertuples(index=False, name=None)) <= set(
        joined[columns].itertuples(index=False, name=None)
    )
    text = (other.private / "answers.csv").read_text()
    perfect = task.score(text, other.private, tmp_path / "outputs").score
    assert perfect == {"house-price": 0, "feedback": 0}.get(task_id, 1)


def test_a_table_of_the_given_labels_is_worth_nothing_on_another_split(tmp_path: Path) -> None:
    task, official, other = splits_of("house-price", tmp_path)
    known = pd.read_csv(official.public / "train.csv", dtype=str, keep_default_na=False)
    features = [column for column in known.columns if column not in ("Id", "SalePrice")]
    table = dict(zip(known[features].itertuples(index=False, name=None), known["SalePrice"],
                     strict=True))  # fmt: skip
    middle = str(known["SalePrice"].astype(float).median())
    test = pd.read_csv(other.public / "test.csv", dtype=str, keep_default_na=False)
    cheat = [table.get(row, middle) for row in test[features].itertuples(index=False, name=None)]
    submission = test[["Id"]].assign(SalePrice=cheat).to_csv(index=False)
    constant = test[["Id"]].assign(SalePrice=middle).to_csv(index=False)
    scores = [
        task.score(text, other.private, tmp_path / "outputs").score
        for text in (submission, constant)
    ]
    assert scores[0] == scores[1], "the table knows no row of the new test part"


def test_no_group_of_spaceship_titanic_is_in_both_parts(tmp_path: Path) -> None:
    _, official, other = splits_of("spaceship-titanic", tmp_path)
    ids = {
        part: pd.read_csv(other.public / f"{part}.csv")["PassengerId"] for part in ("train", "test")
    }
    groups = {part: set(found.str.partition("_")[0]) for part, found in ids.items()}
    assert groups["train"].isdisjoint(groups["test"])
    given = pd.concat(
        pd.read_csv(official.public / f"{part}.csv")["PassengerId"] for part in ("train", "test")
    )
    sizes = [
        sorted(Counter(found.str.partition("_")[0]).values())
        for found in (given, pd.concat(ids.values()))
    ]
    assert sizes[0] == sizes[1]


def test_no_film_of_imdb_is_in_both_halves(tmp_path: Path) -> None:
    task, _, other = splits_of("imdb", tmp_path)
    texts = {part: list(pd.read_csv(other.public / f"{part}.csv")["text"])
             for part in ("train", "test")}  # fmt: skip
    reviews = task.prepare.read_reviews(tmp_path / "raw")
    film = {one.text: one.film for part in reviews.values() for one in part}
    films = {part: {film[text] for text in found} for part, found in texts.items()}
    assert films["train"].isdisjoint(films["test"])
    told = pd.read_csv(other.private / "films.csv")["film"]
    assert told.tolist() == [film[text] for text in texts["test"]]


def test_half_of_parkinsons_test_patients_are_tested_again(tmp_path: Path) -> None:
    task, official, other = splits_of("parkinsons-disease", tmp_path)
    patient, clinical = task.prepare.PATIENT, task.prepare.CLINICAL
    given = set(pd.read_csv(official.private / "asked.csv", comment="#")[patient])
    tested = set(pd.read_csv(other.private / "asked.csv")[patient])
    assert tested < given and abs(2 * len(tested) - len(given)) <= 1
    tables = [
        pd.read_csv(one.public / clinical, dtype=str, keep_default_na=False)
        for one in (official, other)
    ]
    patients = [set(table[patient].astype(int)) for table in tables]
    assert patients[1] == patients[0] | (given - tested)
    proteins = pd.read_csv(other.public / task.prepare.PROTEINS, dtype=str)
    assert set(proteins["visit_id"]) <= set(tables[1]["visit_id"])
    assert not proteins.isna().any(axis=None)
    raw = pd.read_csv(tmp_path / "raw" / clinical, dtype=str, keep_default_na=False)
    columns = ["visit_month", *task.prepare.TARGETS]
    original = Counter(raw[columns].itertuples(index=False, name=None))
    assert not Counter(tables[1][columns].itertuples(index=False, name=None)) - original


def test_half_of_cifar10s_test_images_of_each_class_are_tested_again(tmp_path: Path) -> None:
    _, official, other = splits_of("cifar10", tmp_path, TRAIN=1000, TEST=200)
    parts = [(images(one, "train"), images(one, "test")) for one in (official, other)]
    require_half(parts[0], parts[1], spare=5)
    labels = [np.load(one.private / "labels.npy") for one in (official, other)]
    assert (np.bincount(labels[0]) // 2).tolist() == np.bincount(labels[1]).tolist()
    known = dict(zip(parts[0][1], labels[0], strict=True))
    trained = zip(parts[1][0], np.load(other.public / "train_labels.npy"), strict=True)
    found = chain(zip(parts[1][1], labels[1], strict=True), trained)
    assert all(known.get(image, label) == label for image, label in found)


def test_half_of_the_contrail_records_are_tested_again(tmp_path: Path) -> None:
    task, official, other = splits_of("identify-contrails", tmp_path, TRAIN=40, TEST=30)
    parts = [(images(one, "train"), images(one, "test")) for one in (official, other)]
    require_half(parts[0], parts[1])
    text = (other.private / "answers.csv").read_text()
    assert task.score(text, other.private, tmp_path / "outputs").score == 1


def test_half_of_fathomnets_test_dives_are_tested_again(tmp_path: Path) -> None:
    task, official, other = splits_of("fathomnet", tmp_path, PICTURES_PER_DIVE=8)
    parts = [
        [
            [path.read_bytes() for path in sorted((one.public / f"{part}_images").iterdir())]
            for part in ("train", "test")
        ]
        for one in (official, other)
    ]
    require_half(
        (parts[0][0], parts[0][1]), (parts[1][0], parts[1][1]), spare=len(parts[0][1]) // 4
    )
    boxes = [pd.read_csv(one.public / "train_boxes.csv") for one in (official, other)]
    rows = pd.read_csv(other.public / "train.csv")
    assert len(boxes[1]) > len(boxes[0]) and set(boxes[1]["id"]) <= set(rows["id"])
    dives = [
        set(pd.read_csv(one.private / "dives.csv", comment="#")["dive"])
        for one in (official, other)
    ]
    assert dives[1] < dives[0]
    assert rows["dive"].nunique() == (
        pd.read_csv(official.public / "train.csv")["dive"].nunique() + len(dives[0] - dives[1])
    )
    text = (other.private / "answers.csv").read_text()
    assert task.score(text, other.private, tmp_path / "outputs").score == 1


def test_half_of_ogbn_arxivs_test_papers_are_tested_again(tmp_path: Path) -> None:
    task, official, other = splits_of("ogbn-arxiv", tmp_path)
    original = pd.read_csv(other.private / "mapping.csv")["original"].to_numpy()
    graph = task.prepare.read_graph(tmp_path / "raw")
    tested = original[np.load(other.public / "test_nodes.npy")]
    assert np.isin(tested, graph.test).all() and len(tested) == len(graph.test) // 2
    labelled = np.load(other.public / "train_nodes.npy")
    assert len(labelled) + len(tested) == len(graph.features)
    assert np.array_equal(
        graph.labels[original[labelled]], np.load(other.public / "train_labels.npy")
    )
    assert len(np.load(other.public / "edges.npy")) == len(np.load(official.public / "edges.npy"))


def test_babylm_scores_other_passages_of_the_test_text(tmp_path: Path) -> None:
    task, official, other = splits_of("babylm", tmp_path)
    files = task.prepare.read_files(tmp_path / "raw")
    documents = [
        json.loads((one.private / "documents.json").read_text()) for one in (official, other)
    ]
    assert [one["text"] for one in documents[0]] != [one["text"] for one in documents[1]]
    for source in task.prepare.SOURCES:
        name = task.prepare.official_name(source, "train")
        given, train = (one.public / name for one in (official, other))
        joined = train.read_bytes().removeprefix(given.read_bytes()).decode()
        test = files[task.prepare.official_name(source, "test")].decode()
        passages = task.prepare.scored_passages(files, source)
        assert bool(joined) == (len(passages) > 1)
        assert set(joined.split("\n")) <= set(test.split("\n"))
        scored = [one["text"] for one in documents[1] if one["source"] == source]
        assert scored and all(text in test and text not in joined for text in scored)


def test_all_tasks_with_real_labels_have_other_splits() -> None:
    tasks = [load_folder(file.parent) for file in SUITE.glob("*/task.toml")]
    without = {task.id for task in tasks if not task.defines("prepare.resplit")}
    assert without == {
        "bibtex-generation", "clrs", "literature-review-tool", "llama-inference", "vectorization",
    }  # fmt: skip
