"""Other splits of full data, for tasks whose official split is fixed."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from tabular_tasks import Prepared, TaskModules

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
    other = Prepared(directory / "other")
    task.prepare.resplit(raw, other.public, other.private, np.random.default_rng(5))
    assert {path.name for path in other.public.iterdir()} == {
        path.name for path in official.public.iterdir()
    }
    return task, official, other


def images(prepared: Prepared, part: str) -> list[bytes]:
    return [image.tobytes() for image in np.load(prepared.public / f"{part}_images.npy")]


def test_cifar10_has_as_many_test_images_of_each_class(tmp_path: Path) -> None:
    _, official, other = splits_of("cifar10", tmp_path, TRAIN=1000, TEST=200)
    labels = [np.load(one.private / "labels.npy") for one in (official, other)]
    assert np.bincount(labels[0]).tolist() == np.bincount(labels[1]).tolist()
    both = [sorted(images(one, "train") + images(one, "test")) for one in (official, other)]
    assert both[0] == both[1]
    shared = set(images(official, "test")) & set(images(other, "test"))
    assert 0.1 < len(shared) / len(labels[0]) < 0.25  # a sixth, by chance
    known = dict(
        zip(images(official, "train"), np.load(official.public / "train_labels.npy"), strict=True)
    )
    for image, label in zip(images(other, "test"), labels[1], strict=True):
        assert known.get(image, label) == label


def test_contrails_keep_the_number_of_test_records(tmp_path: Path) -> None:
    task, official, other = splits_of("identify-contrails", tmp_path, TRAIN=40, TEST=30)
    sizes = [(len(images(one, "train")), len(images(one, "test"))) for one in (official, other)]
    assert sizes[0] == sizes[1]
    assert set(images(official, "test")) != set(images(other, "test"))
    answers = pd.read_csv(other.private / "answers.csv")
    assert len(answers) == sizes[1][1]
    text = (other.private / "answers.csv").read_text()
    assert task.score(text, other.private, tmp_path / "outputs").score == 1


def test_no_film_of_imdb_is_in_both_parts(tmp_path: Path) -> None:
    task, official, other = splits_of("imdb", tmp_path)
    texts = [
        {part: list(pd.read_csv(one.public / f"{part}.csv")["text"]) for part in ("train", "test")}
        for one in (official, other)
    ]
    assert sorted(chain(*texts[0].values())) == sorted(chain(*texts[1].values()))
    assert set(texts[0]["test"]) != set(texts[1]["test"])
    size = len(texts[0]["test"])
    assert 0.95 * size < len(texts[1]["test"]) <= size
    reviews = task.prepare.read_reviews(tmp_path / "raw")
    film = {one.text: one.film for part in reviews.values() for one in part}
    films = [{film[text] for text in texts[1][part]} for part in ("train", "test")]
    assert films[0].isdisjoint(films[1])


def test_ogbn_arxiv_is_split_by_an_earlier_year(tmp_path: Path) -> None:
    task, official, other = splits_of("ogbn-arxiv", tmp_path)
    years = {
        part: np.load(other.public / "node_years.npy")[np.load(other.public / f"{part}_nodes.npy")]
        for part in ("train", "test")
    }
    first = np.load(official.public / "node_years.npy")[
        np.load(official.public / "test_nodes.npy")
    ].min()
    [year] = set(years["test"].tolist())
    assert first - 3 <= year < first and years["train"].max() < year
    features = np.load(other.public / "node_features.npy")
    edges = np.load(other.public / "edges.npy")
    assert edges.min() >= 0 and edges.max() < len(features)
    graph = task.prepare.read_graph(tmp_path / "raw")
    assert len(features) == round(0.9 * (graph.years <= year).sum())
    original = pd.read_csv(other.private / "mapping.csv")["original"].to_numpy()
    assert np.array_equal(graph.features[original], features)
    cited = {tuple(edge) for edge in graph.edges.tolist()}
    assert all(tuple(edge) in cited for edge in original[edges].tolist())


def test_babylm_cuts_the_ring_of_each_text_elsewhere(tmp_path: Path) -> None:
    task, official, other = splits_of("babylm", tmp_path)
    for source in task.prepare.SOURCES:
        name = task.prepare.official_name(source, "train")
        lines = [(one.public / name).read_text().split("\n") for one in (official, other)]
        assert len(lines[0]) == len(lines[1]) and lines[0] != lines[1]
    files = task.prepare.read_files(tmp_path / "raw")
    given = {line for text in files.values() for line in text.decode().split("\n")}
    documents = json.loads((other.private / "documents.json").read_text())
    assert all(set(one["text"].split("\n")[:-1]) <= given for one in documents)


def test_tasks_with_a_drawn_split_need_no_other_function() -> None:
    fixed = {"babylm", "cifar10", "identify-contrails", "imdb", "ogbn-arxiv"}
    tasks = [load_folder(file.parent) for file in SUITE.glob("*/task.toml")]
    assert {task.id for task in tasks if task.defines("prepare.resplit")} == fixed
