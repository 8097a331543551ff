"""Turns the official reviews into two tables; the test reviews get new names and lose all else.

The official file names hold the rating, and the lists of urls the film; whoever knows the order of
the official files knows the labels. None of this goes into public/.
"""

import re
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from mlagentbench_task import Findings, read_table

ARCHIVE, FOLDER = "aclImdb_v1.tar.gz", "aclImdb"
SENTIMENTS = {"neg": 0, "pos": 1}
CHECKPOINT = "distilbert"
CHECKPOINT_FILES = [
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
]  # fmt: skip
HELD_SHARE = 0.2
OFFICIAL_REVIEWS = 12_500
"""Of each sentiment in each part."""
RATINGS = {"neg": (1, 4), "pos": (7, 10)}
"""The official file names hold the rating; reviews in between were left out."""

_REVIEW = re.compile(r"(train|test)/(pos|neg)/(\d+)_\d+\.txt")
_URLS = re.compile(r"(train|test)/urls_(pos|neg)\.txt")


@dataclass(frozen=True)
class Review:
    file: str
    text: str
    sentiment: int
    film: str


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    reviews = read_reviews(raw)
    train, test = (
        pd.DataFrame(reviews[part]).iloc[rng.permutation(len(reviews[part]))]
        for part in ("train", "test")
    )
    write_tables(train, test, public, private)
    (public / CHECKPOINT).mkdir()
    for name in CHECKPOINT_FILES:
        shutil.copyfile(raw / name, public / CHECKPOINT / name)
    if (raw / "noise_free.csv").is_file():
        truth = pd.read_csv(raw / "noise_free.csv").set_index("file")["sentiment"]
        said = truth[test["file"]].to_numpy()
        _write(test[["id"]].assign(sentiment=said), private / "ceiling.csv")


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the given test films one half is for testing, the other for training."""
    train, test = (
        pd.read_csv(given_public / f"{part}.csv", dtype=str, keep_default_na=False)
        for part in ("train", "test")
    )
    for name, column in (("answers", "sentiment"), ("films", "film"), ("original", "file")):
        table = read_table(given_private / f"{name}.csv", ["id", column])
        test[column] = test["id"].map(dict(zip(table["id"], table[column], strict=True)))
    films = test["film"].value_counts().sort_index()
    films = films.iloc[rng.permutation(len(films))]
    tested = test["film"].isin(films.index[films.cumsum() <= len(test) / 2])
    train = pd.concat([train, test.loc[~tested, list(train.columns)]])
    write_tables(
        train.iloc[rng.permutation(len(train))],
        test[tested].drop(columns="id").iloc[rng.permutation(tested.sum())],
        public,
        private,
    )
    shutil.copytree(given_public / CHECKPOINT, public / CHECKPOINT)


def write_tables(train: pd.DataFrame, test: pd.DataFrame, public: Path, private: Path) -> None:
    test.insert(0, "id", np.arange(len(test)))

    _write(train[["text", "sentiment"]], public / "train.csv")
    _write(test[["id", "text"]], public / "test.csv")
    _write(test[["id"]].assign(sentiment=0), public / "sample_submission.csv")

    _write_answers(test, train, private)
    _write(test[["id", "film"]], private / "films.csv")
    _write(test[["id", "file"]], private / "original.csv")


def check_raw(raw: Path) -> Findings:
    """What is different from the official reviews."""
    findings, contents, files = Findings(), {}, {}
    with findings.reading(ARCHIVE):
        contents = _read_contents(raw)
    for name in sorted(contents):
        with findings.reading(f"{FOLDER}/{name}"):
            files[name] = _text(contents[name])
    if not contents:
        return findings
    for part in ("train", "test"):
        for name, (least, most) in RATINGS.items():
            folder, urls = f"{part}/{name}", f"{part}/urls_{name}.txt"
            reviews = [file for file in files if file.startswith(f"{folder}/")]
            findings.expect_count(f"reviews in {folder}", len(reviews), OFFICIAL_REVIEWS)
            ratings = [int(file.rpartition("_")[2].removesuffix(".txt")) for file in reviews]
            others = sum(not least <= rating <= most for rating in ratings)
            findings.expect(f"reviews in {folder} not rated {least} to {most}", others, 0)
            empty = sum(not files[file] for file in reviews)
            findings.expect(f"empty reviews in {folder}", empty, 0)
            films = len(files.get(urls, "").split())
            findings.expect(f"lines in {urls}", films, OFFICIAL_REVIEWS)
            numbers = [int(file.rpartition("/")[2].partition("_")[0]) for file in reviews]
            unknown = sum(number >= films for number in numbers)
            findings.require(f"reviews in {folder} without a line in {urls}", unknown, 0)
    return findings


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold a part of the training reviews back, to be asked for a score on it during a run."""
    reviews = pd.read_csv(public / "train.csv", keep_default_na=False)
    order = rng.permutation(len(reviews))
    size = int(len(reviews) * HELD_SHARE)
    held, train = reviews.iloc[order[:size]].copy(), reviews.iloc[order[size:]]
    held.insert(0, "id", np.arange(size))
    shutil.copytree(
        public, held_public, ignore=shutil.ignore_patterns("train.csv"), dirs_exist_ok=True
    )
    _write(train, held_public / "train.csv")
    _write(held[["id", "text"]], held_public / "validation.csv")
    _write(held[["id"]].assign(sentiment=0), held_public / "validation_sample_submission.csv")
    _write_answers(held, train, held_private)


def read_reviews(raw: Path) -> dict[str, list[Review]]:
    """All labelled reviews, by part, in the order of their names."""
    files = _read_files(raw)
    reviews: dict[str, list[Review]] = {"train": [], "test": []}
    for part in reviews:
        for name, sentiment in SENTIMENTS.items():
            if f"{part}/urls_{name}.txt" not in files:
                raise FileNotFoundError(f"{FOLDER}/{part}/urls_{name}.txt not found")
            films = files[f"{part}/urls_{name}.txt"].split()
            found = [match for match in map(_REVIEW.fullmatch, sorted(files)) if match]
            found = [match for match in found if match[1] == part and match[2] == name]
            if not found:
                raise FileNotFoundError(f"no reviews found in {FOLDER}/{part}/{name}")
            for match in found:
                film = films[int(match[3])]  # the number of a review is its line among the urls
                reviews[part].append(Review(match[0], files[match[0]], sentiment, film))
    return reviews


def _read_files(raw: Path) -> dict[str, str]:
    """The labelled reviews and the lists of urls, by path below the official folder."""
    return {name: _text(contents) for name, contents in _read_contents(raw).items()}


def _read_contents(raw: Path) -> dict[str, bytes]:
    if (raw / FOLDER).is_dir():
        root = raw / FOLDER
        paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*.txt")}
        return {name: path.read_bytes() for name, path in paths.items() if _wanted(name)}
    if not (raw / ARCHIVE).is_file():
        raise FileNotFoundError(f"neither {ARCHIVE} nor {FOLDER}/ found among the raw files")
    files = {}
    with tarfile.open(raw / ARCHIVE) as archive:
        for member in archive:
            name = member.name.removeprefix("./").removeprefix(f"{FOLDER}/")
            contents = archive.extractfile(member) if _wanted(name) else None
            if contents is not None:
                files[name] = contents.read()
    return files


def _wanted(name: str) -> bool:
    return bool(_REVIEW.fullmatch(name) or _URLS.fullmatch(name))


def _text(contents: bytes) -> str:
    return contents.decode("utf-8").strip()


def _write_answers(test: pd.DataFrame, train: pd.DataFrame, private: Path) -> None:
    _write(test[["id", "sentiment"]], private / "answers.csv")
    known = set(train["text"].map(_essence))
    _write(test.loc[test["text"].map(_essence).isin(known), ["id"]], private / "copies.csv")


def _essence(text: str) -> str:
    """Texts that differ in case and white space only are copies of each other."""
    return " ".join(text.lower().split())


def _write(table: pd.DataFrame, file: Path) -> None:
    table.to_csv(file, index=False, lineterminator="\n")
