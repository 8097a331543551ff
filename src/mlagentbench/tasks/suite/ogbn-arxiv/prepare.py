"""Turns OGB's tables into arrays; nodes get new numbers, and test nodes lose their labels.

The order of the official nodes is published together with the papers' ids (the archive's mapping/),
so that a node number of OGB's is as good as a title. All nodes are renumbered at random, and the
citations sorted by the new numbers; mapping/ is never read.
"""

import csv
import gzip
import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from mlagentbench_task import Findings

ARCHIVE = "arxiv.zip"
EDGES, FEATURES, LABELS, YEARS = (
    f"arxiv/raw/{name}.csv.gz" for name in ("edge", "node-feat", "node-label", "node_year")
)
TRAIN, VALID, TEST = (f"arxiv/split/time/{name}.csv.gz" for name in ("train", "valid", "test"))
COLUMNS = ["node", "label"]
HELD_SHARE = 0.5
OFFICIAL_ROWS = {
    FEATURES: 169_343, LABELS: 169_343, YEARS: 169_343, EDGES: 1_166_243,
    TRAIN: 90_941, VALID: 29_799, TEST: 48_603,
}  # fmt: skip
OFFICIAL_FEATURES = 128
OFFICIAL_CLASSES = 40
LAST_YEARS = {TRAIN: 2017, VALID: 2018}
"""The split is by time: each part ends with its year, and the test part comes after both."""
PAPERS_TRAINING = {"learning_rate": 1.0, "epochs": 4, "batch_size": 128}


class Graph(NamedTuple):
    """The official tables."""

    features: np.ndarray
    edges: np.ndarray
    labels: np.ndarray
    years: np.ndarray
    labelled: np.ndarray
    """The nodes of OGB's training and validation part."""
    test: np.ndarray


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    graph = read_graph(raw)
    write_parts(raw, graph, rng.permutation(len(graph.features)), public, private)


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the official test papers one half is for testing, the other for training.

    So both are of the official test years.
    """
    graph = read_graph(raw)
    test = rng.permutation(graph.test)
    half = len(test) // 2
    split = graph._replace(labelled=np.append(graph.labelled, test[half:]), test=test[:half])
    write_parts(raw, split, rng.permutation(len(graph.features)), public, private)


def write_parts(raw: Path, graph: Graph, original: np.ndarray, public: Path, private: Path) -> None:
    """Write the papers `original` of a graph, in this order, and the citations between them."""
    number = np.full(len(graph.features), -1)
    number[original] = np.arange(len(original))
    features, labels = graph.features[original], graph.labels[original]
    labelled, test = np.sort(number[graph.labelled]), np.sort(number[graph.test])
    edges = number[graph.edges]
    edges = edges[(edges >= 0).all(axis=1)]

    np.save(public / "node_features.npy", features)
    np.save(public / "node_years.npy", graph.years[original].astype(np.int16))
    np.save(public / "edges.npy", edges[np.lexsort(edges.T[::-1])].astype(np.int32))
    np.save(public / "train_nodes.npy", labelled)
    np.save(public / "train_labels.npy", labels[labelled])
    np.save(public / "test_nodes.npy", test)
    given = raw / "training.json"
    training = json.loads(given.read_text()) if given.is_file() else PAPERS_TRAINING
    (public / "training.json").write_text(json.dumps(training, indent=2) + "\n")
    write_table(public / "sample_submission.csv", COLUMNS, test, np.zeros_like(test))

    write_answers(private, test, labels[test], features, labelled)
    write_table(private / "mapping.csv", ["node", "original"], np.arange(len(original)), original)
    if (raw / "classes.npy").is_file():
        classes = np.load(raw / "classes.npy")[original]
        write_table(private / "classes.csv", ["node", "class"], test, classes[test])


def check_raw(raw: Path) -> Findings:
    """What is different from OGB's graph; features are only counted, which is quick."""
    findings = Findings()
    if (raw / ARCHIVE).is_file():
        with findings.reading(ARCHIVE):
            zipfile.ZipFile(raw / ARCHIVE).close()
        if findings.faults:
            return findings
    found: dict[str, int] = {}
    with findings.reading(FEATURES), open_table(raw, FEATURES) as rows:
        columns = Counter(row.count(b",") + 1 for row in rows)
        found[FEATURES] = columns.total()
        usual = max(columns, default=0)
        findings.expect(f"columns of {FEATURES}", usual, OFFICIAL_FEATURES)
        uneven = columns.total() - columns[usual]
        findings.require(f"rows of {FEATURES} with fewer columns than others", uneven, 0)
    tables: dict[str, np.ndarray] = {}
    for name in (LABELS, YEARS, EDGES, TRAIN, VALID, TEST):
        with findings.reading(name):
            tables[name] = read_numbers(raw, name, np.int64)
            found[name] = len(tables[name])
    for name, official in OFFICIAL_ROWS.items():
        if name in found:
            findings.expect_count(f"rows of {name}", found[name], official)
    if LABELS in tables:
        classes = len(np.unique(tables[LABELS]))
        findings.expect(f"classes in {LABELS}", classes, OFFICIAL_CLASSES)
    if not findings.faults:
        check_nodes(found[FEATURES], tables, findings)
    return findings


def check_nodes(nodes: int, tables: dict[str, np.ndarray], findings: Findings) -> None:
    """Whether the tables are about the same nodes, and the parts end with their years."""
    for name in (LABELS, YEARS):
        findings.require(f"numbers in {name}, one for each node", tables[name].size, nodes)
    edges = tables[EDGES]
    findings.require(f"columns of {EDGES}", edges.shape[1], 2)
    unknown = int(((edges < 0) | (edges >= nodes)).any(axis=1).sum())
    findings.require(f"rows of {EDGES} with a node that {FEATURES} lacks", unknown, 0)
    parts = np.concatenate([tables[name].ravel() for name in (TRAIN, VALID, TEST)])
    is_split = np.array_equal(np.sort(parts), np.arange(nodes))
    findings.require("the parts in arxiv/split/time hold every node once", is_split, True)
    if not findings.faults:
        years = tables[YEARS].ravel()
        for name, last in LAST_YEARS.items():
            newest = years[tables[name].ravel()].max().item()
            findings.expect(f"newest year in {name}", newest, last)


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold half of the newest labelled papers back, to be asked for a score on them in a run.

    The other half stays, for validation without asking.
    """
    nodes, labels = np.load(public / "train_nodes.npy"), np.load(public / "train_labels.npy")
    years = np.load(public / "node_years.npy")[nodes]
    newest = np.flatnonzero(years == years.max())
    held = np.sort(rng.permutation(newest)[: int(len(newest) * HELD_SHARE)])
    for file in sorted(public.iterdir()):
        if not file.name.startswith("train_"):
            shutil.copyfile(file, held_public / file.name)
    np.save(held_public / "train_nodes.npy", np.delete(nodes, held))
    np.save(held_public / "train_labels.npy", np.delete(labels, held))
    np.save(held_public / "validation_nodes.npy", nodes[held])
    sample = held_public / "validation_sample_submission.csv"
    write_table(sample, COLUMNS, nodes[held], np.zeros_like(held))
    features = np.load(public / "node_features.npy")
    write_answers(held_private, nodes[held], labels[held], features, np.delete(nodes, held))


def read_graph(raw: Path) -> Graph:
    graph = Graph(
        features=read_numbers(raw, FEATURES, np.float32),
        edges=read_numbers(raw, EDGES, np.int64),
        labels=read_numbers(raw, LABELS, np.int64).ravel(),
        years=read_numbers(raw, YEARS, np.int64).ravel(),
        labelled=np.concatenate([read_numbers(raw, part, np.int64).ravel()
                                 for part in (TRAIN, VALID)]),
        test=read_numbers(raw, TEST, np.int64).ravel(),
    )  # fmt: skip
    nodes = len(graph.features)
    for name, rows in ((LABELS, graph.labels), (YEARS, graph.years)):
        if len(rows) != nodes:
            raise ValueError(f"{name} has {len(rows)} rows, {FEATURES} has {nodes}")
    if graph.edges.shape[1] != 2 or graph.edges.min() < 0 or graph.edges.max() >= nodes:
        raise ValueError(f"{EDGES} is not a table of pairs of nodes below {nodes}")
    parts = np.concatenate([graph.labelled, graph.test])
    if not np.array_equal(np.sort(parts), np.arange(nodes)):
        raise ValueError("the parts in arxiv/split/time do not hold every node once")
    return graph


def read_numbers(raw: Path, name: str, dtype: type) -> np.ndarray:
    with open_table(raw, name) as rows:
        return np.loadtxt(rows, delimiter=",", dtype=dtype, ndmin=2)


@contextmanager
def open_table(raw: Path, name: str) -> Iterator[BinaryIO]:
    """The lines of an official table: in its place in the tree, or straight out of the archive."""
    if (raw / name).is_file():
        with gzip.open(raw / name) as rows:
            yield rows
        return
    if not (raw / ARCHIVE).is_file():
        raise FileNotFoundError(f"neither {ARCHIVE} nor {name} found among the raw files")
    with zipfile.ZipFile(raw / ARCHIVE) as archive:
        if name not in archive.namelist():
            raise FileNotFoundError(f"{ARCHIVE} lacks {name}")
        with archive.open(name) as packed, gzip.open(packed) as rows:
            yield rows


def write_answers(
    private: Path, test: np.ndarray, labels: np.ndarray, features: np.ndarray, labelled: np.ndarray
) -> None:
    """The labels, and which test papers have exactly the features of a labelled one."""
    write_table(private / "answers.csv", COLUMNS, test, labels)
    known = {features[node].tobytes() for node in labelled}
    copies = [node for node in test if features[node].tobytes() in known]
    write_table(private / "copies.csv", ["node"], copies)


def write_table(file: Path, columns: list[str], *values: np.ndarray | list[int]) -> None:
    with file.open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*values, strict=True))
