"""The task imdb: official archive and tree, invented reviews, the checkpoint, the grader."""

import asyncio
import io
import json
import math
import re
import shutil
import struct
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_tasks import plain_call
from tabular_tasks import Prepared, TaskModules, rank_correlation

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_folder

IMDB = TaskModules("imdb")
CHECKPOINT = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
]
PER_FOLDER = 12
COPIED = "This one is in BOTH parts.<br /><br />Really."


def official_files() -> dict[str, str]:
    """Few reviews in the official layout, with all that must not become public."""
    files = {"README": "about", "imdb.vocab": "the", "imdbEr.txt": "0.04"}
    for part in ("train", "test"):
        files[f"{part}/labeledBow.feat"] = "9 0:9 1:1"
        for name, rating in (("pos", 9), ("neg", 2)):
            urls = []
            for number in range(PER_FOLDER):
                text = f'{part} {name} "{number}", she said.<br /><br />Ça va, {number % 3}?'
                files[f"{part}/{name}/{number}_{rating}.txt"] = text
                urls.append(f"http://www.imdb.com/title/{part}{number % 3}/usercomments")
            files[f"{part}/urls_{name}.txt"] = "\n".join(urls) + "\n"
    files["train/unsup/0_0.txt"] = "nobody says what this is"
    files["train/urls_unsup.txt"] = "http://www.imdb.com/title/unsup/usercomments\n"
    files["train/pos/3_9.txt"] = COPIED
    files["test/neg/5_2.txt"] = COPIED.lower() + " \n"
    return files


def write_checkpoint(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in CHECKPOINT:
        (directory / name).write_text(f"contents of {Path(name).stem}")


def official_tree(directory: Path) -> Path:
    for name, text in official_files().items():
        file = directory / "aclImdb" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return directory


def official_archive(directory: Path, prefix: str = "") -> Path:
    directory.mkdir(parents=True)
    with tarfile.open(directory / "aclImdb_v1.tar.gz", "w:gz") as archive:
        for name, text in reversed(official_files().items()):
            contents = text.encode()
            info = tarfile.TarInfo(f"{prefix}aclImdb/{name}")
            info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents))
    return directory


def all_files(prepared: Prepared) -> dict[str, bytes]:
    root = prepared.public.parent
    files = [*prepared.public.rglob("*"), *prepared.private.rglob("*")]
    return {str(file.relative_to(root)): file.read_bytes() for file in files if file.is_file()}


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    directory = tmp_path_factory.mktemp("official")
    raw = official_tree(directory / "raw")
    write_checkpoint(raw)
    return IMDB.prepare_from(raw, directory)


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return IMDB.prepare_mini(tmp_path_factory.mktemp("imdb"))


def read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False)


def test_official_reviews_keep_text_and_label(official: Prepared) -> None:
    files = official_files()
    train, test = read(official.public / "train.csv"), read(official.public / "test.csv")
    assert list(train.columns) == ["text", "sentiment"]
    assert list(test.columns) == ["id", "text"]
    expected = {
        text.strip(): int("/pos/" in name)
        for name, text in files.items()
        if re.match(r"train/(pos|neg)/", name)
    }
    assert dict(zip(train["text"], train["sentiment"], strict=True)) == expected
    answers = read(official.private / "answers.csv")
    original = read(official.private / "original.csv")
    assert answers["id"].tolist() == test["id"].tolist() == list(range(2 * PER_FOLDER))
    for row, file in enumerate(original["file"]):
        assert files[file].strip() == test["text"][row]
        assert answers["sentiment"][row] == int("/pos/" in file)


def test_the_film_of_a_review_is_the_line_of_its_number(official: Prepared) -> None:
    films = read(official.private / "films.csv")["film"]
    numbers = read(official.private / "original.csv")["file"].str.extract(r"/(\d+)_")[0].astype(int)
    wanted = [f"http://www.imdb.com/title/test{n % 3}/usercomments" for n in numbers]
    assert films.tolist() == wanted


def test_only_texts_training_labels_and_the_checkpoint_are_public(official: Prepared) -> None:
    names = sorted(name for name in all_files(official) if name.startswith("public/"))
    assert names == [
        *(f"public/distilbert/{name}" for name in CHECKPOINT),
        "public/sample_submission.csv", "public/test.csv", "public/train.csv",
    ]  # fmt: skip
    everything = b"".join(
        contents for name, contents in all_files(official).items() if name in names
    )
    for secret in (b"imdb.com", b".txt", b"nobody says", b"_9", b"_2"):
        assert secret not in everything


def test_both_parts_have_a_new_order(official: Prepared) -> None:
    for part in ("train", "test"):
        texts = read(official.public / f"{part}.csv")["text"].tolist()
        assert texts != sorted(texts)
    answers = read(official.private / "answers.csv")["sentiment"]
    assert 0 < answers[:PER_FOLDER].mean() < 1


@pytest.mark.parametrize("prefix", ["", "./"])
def test_the_archive_gives_the_same_as_the_tree(
    official: Prepared, tmp_path: Path, prefix: str
) -> None:
    raw = official_archive(tmp_path / "raw", prefix)
    write_checkpoint(raw)
    assert all_files(IMDB.prepare_from(raw, tmp_path)) == all_files(official)


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("test/neg", "no reviews found in aclImdb/test/neg"),
        ("train/urls_pos.txt", "aclImdb/train/urls_pos.txt not found"),
        (".", "neither aclImdb_v1.tar.gz nor aclImdb/ found"),
    ],
)
def test_what_a_tree_lacks_is_named(tmp_path: Path, gone: str, said: str) -> None:
    raw = official_tree(tmp_path / "raw")
    path = raw / "aclImdb" / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(FileNotFoundError, match=re.escape(said)):
        IMDB.prepare_from(raw, tmp_path)


def gathered(directory: Path, raw: Path, accept: bool = False):
    raw.mkdir(exist_ok=True)
    task = load_folder(IMDB.folder)
    return asyncio.run(
        gather(task, raw, from_dir=directory, accept_unverified=accept, progress=Silent())
    )


def test_own_files_may_be_a_tree_beside_a_clone_of_the_checkpoint(
    official: Prepared, tmp_path: Path
) -> None:
    own = official_tree(tmp_path / "own")
    write_checkpoint(own / "distilbert-base-uncased")
    found = gathered(own, tmp_path / "raw", accept=True)
    wrong = {text.partition(":")[0] for text in found.accepted}
    folders = {f"aclImdb/{part}/{name}" for part in ("train", "test") for name in ("pos", "neg")}
    assert wrong == {*CHECKPOINT, *folders}
    assert "aclImdb/test/neg" in found.unverified
    assert not (tmp_path / "raw/aclImdb/train/unsup").exists()
    assert all_files(IMDB.prepare_from(tmp_path / "raw", tmp_path)) == all_files(official)


def test_wrong_own_files_are_refused(tmp_path: Path) -> None:
    own = official_archive(tmp_path / "own")
    write_checkpoint(own)
    refused = "\n".join(gathered(own, tmp_path / "raw").refused)
    assert re.search(r"aclImdb_v1\.tar\.gz is not the file of .* bytes, exp", refused)
    (own / "aclImdb_v1.tar.gz").unlink()
    with pytest.raises(UsageError, match=r"imdb: aclImdb_v1\.tar\.gz not found in"):
        gathered(own, tmp_path / "raw")
    official_tree(own)
    shutil.rmtree(own / "aclImdb/test/pos")
    with pytest.raises(UsageError, match="imdb: aclImdb/test/pos not found in"):
        gathered(own, tmp_path / "raw")


def test_all_problems_are_reported_before_reviews_are_copied(tmp_path: Path) -> None:
    own = official_tree(tmp_path / "own")
    write_checkpoint(own)
    found = gathered(own, tmp_path / "raw")
    said = "\n".join(found.refused)
    assert len(found.refused) == 4 + len(CHECKPOINT) and not found.is_complete
    assert "aclImdb/train/pos is not the folder of" in said and "12 files, expected 12,500" in said
    assert all(f"{name} is not the file of Hugging Face's" in said for name in CHECKPOINT)
    assert not (tmp_path / "raw/aclImdb/train/pos").exists()


def prepared(own: Path, env: PythonEnv) -> PreparedData:
    return asyncio.run(
        prepare(
            load_folder(IMDB.folder),
            "full",
            call=plain_call,
            python_env=env,
            from_dir=own,
            accept_unverified=True,
        )
    )


def test_more_reviews_and_an_emptied_file_are_other_data(
    tmp_path: Path, this_env: PythonEnv
) -> None:
    own = official_tree(tmp_path / "own")
    write_checkpoint(own)
    few = prepared(own, this_env)
    assert "reviews in train/pos: 12, expected 12,500" in few.accepted
    (own / "aclImdb/train/pos/3_10.txt").write_text("One more.", encoding="utf-8")
    more = prepared(own, this_env)
    assert more.directory != few.directory and "train/pos: 13, expected" in str(more.accepted)
    (own / "aclImdb/train/pos/3_10.txt").write_text("")
    emptied = prepared(own, this_env)
    assert emptied.directory not in (few.directory, more.directory)
    assert "empty reviews in train/pos: 1, expected 0" in emptied.accepted
    (own / "aclImdb/train/pos/3_10.txt").unlink()
    assert prepared(own, this_env).created == few.created


def test_own_files_without_the_checkpoint_are_refused(tmp_path: Path) -> None:
    own = official_tree(tmp_path / "own")
    with pytest.raises(
        UsageError, match=r"config\.json, .*, vocab\.txt not found in .* Hugging Face's distilbert/"
    ):
        gathered(own, tmp_path / "raw")


def test_a_test_review_that_is_also_in_train_is_scored_apart(
    official: Prepared, tmp_path: Path
) -> None:
    copies = read(official.private / "copies.csv")["id"].tolist()
    original = read(official.private / "original.csv").set_index("id")["file"]
    assert [original[row] for row in copies] == ["test/neg/5_2.txt"]
    answers = read(official.private / "answers.csv")
    wrong = answers.assign(sentiment=1 - answers["sentiment"])
    wrong.loc[wrong["id"].isin(copies), "sentiment"] = 0
    grade = IMDB.score(wrong.to_csv(index=False), official.private, tmp_path / "outputs")
    assert grade.score == pytest.approx(1 / 24)
    assert grade.extra["copies_of_training_reviews"] == 1
    assert grade.extra["score_without_copies"] == 0


def test_the_ceiling_of_real_reviews_is_unknown(official: Prepared) -> None:
    assert IMDB.grade.ceiling(official.private) is None


def test_mini_is_balanced_and_has_wrong_labels(mini: Prepared) -> None:
    train, test = read(mini.public / "train.csv"), read(mini.public / "test.csv")
    assert (len(train), len(test)) == (IMDB.mini.TRAIN, IMDB.mini.TEST)
    assert train["sentiment"].mean() == 0.5
    assert read(mini.private / "answers.csv")["sentiment"].mean() == 0.5
    words = pd.concat([train["text"], test["text"]]).str.split().str.len()
    assert words.between(60, 90).all()
    assert 0.89 < IMDB.grade.ceiling(mini.private) < 0.95
    assert read(mini.private / "copies.csv").empty
    assert 100 < read(mini.private / "films.csv")["film"].nunique() < len(test) / 2


def test_mini_follows_its_rules() -> None:
    """What clauses say, with negation taken into account, adds up to the sentiment."""
    rng = np.random.default_rng(3)
    generator = IMDB.mini
    wording = generator.draw_wording(rng)
    surface_hits, negated, clauses = 0, 0, 0
    for row in range(300):
        text = generator.write_review(row % 2 == 0, wording, rng).lower()
        total, surface = 0, 0
        for clause in text.strip(".").split(". "):
            words = clause.split()
            said = sum((w in wording.praise) - (w in wording.blame) for w in words)
            turned = bool({"not", "never", "hardly", "scarcely"} & set(words)) and not (
                {"only", "less", "short"} & set(words)
            )
            total += -said if turned else said
            surface += said
            clauses += said != 0
            negated += turned and said != 0
        assert total >= 3 if row % 2 == 0 else total <= -3
        surface_hits += (surface > 0) == (row % 2 == 0)
    assert abs(negated / clauses - generator.NEGATED) < 0.03
    assert surface_hits / 300 < 0.85


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    again, other = IMDB.prepare_mini(tmp_path / "a"), IMDB.prepare_mini(tmp_path / "b", seed=6)
    assert all_files(again) == all_files(mini)
    assert all_files(other)["public/test.csv"] != all_files(mini)["public/test.csv"]


def test_position_and_id_say_nothing(mini: Prepared) -> None:
    test = read(mini.public / "test.csv").merge(read(mini.private / "answers.csv"), on="id")
    for part in (test, read(mini.public / "train.csv")):
        place = pd.Series(np.arange(len(part)))
        assert abs(rank_correlation(place, part["sentiment"])) < 4 / math.sqrt(len(part))


def test_the_checkpoint_is_small_and_only_weights(mini: Prepared) -> None:
    folder = mini.public / "distilbert"
    assert sorted(file.name for file in folder.iterdir()) == CHECKPOINT
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
    contents = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", contents[:8])
    tensors = json.loads(contents[8 : 8 + length])
    kinds = {tensor["dtype"] for name, tensor in tensors.items() if name != "__metadata__"}
    assert kinds == {"F32"}
    assert not any("classifier" in name for name in tensors)
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "distilbert"
    assert config["vocab_size"] == len((folder / "vocab.txt").read_text().split("\n")) - 1


def test_another_checkpoint_is_not_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(IMDB.mini.CHECKPOINT, "vocab.txt", "0" * 64)
    with pytest.raises(ValueError, match=r"checkpoint/vocab\.txt is another file"):
        IMDB.mini.copy_checkpoint(tmp_path)


@pytest.mark.slow
def test_trivial_predictors_stay_far_below_the_ceiling(
    mini: Prepared, torch_env: PythonEnv, tmp_path: Path
) -> None:
    task = load_folder(IMDB.folder)
    call = call_task(
        task, torch_env, "trivial.predictors", read={"public": mini.public}, write={"out": tmp_path}
    )
    scores = {
        name: IMDB.grade.grade(tmp_path / name, mini.private).score for name in asyncio.run(call)
    }
    assert set(scores) == {"majority", "length", "word_list", "bag_of_words", "runs_of_words"}
    assert scores["majority"] == 0.5
    assert abs(scores["length"] - 0.5) < 0.07
    assert 0.53 < scores["word_list"] < 0.7
    assert 0.6 < scores["bag_of_words"] < 0.75
    assert 0.7 < scores["runs_of_words"] < 0.8


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A private/ and public/ with four reviews of three films."""
    (tmp_path / "answers.csv").write_text("id,sentiment\n0,1\n1,0\n2,1\n3,1\n")
    (tmp_path / "films.csv").write_text("id,film\n3,b\n0,a\n1,a\n2,c\n")
    (tmp_path / "copies.csv").write_text("id\n")
    (tmp_path / "sample_submission.csv").write_text("id,sentiment\n0,0\n1,0\n2,0\n3,0\n")
    return tmp_path


def test_score_is_the_share_of_hits(small: Path) -> None:
    text = "sentiment,id\n1,3\n0,2\n1.0,1\n1,0\n"
    grade = IMDB.score(text, small, small / "outputs")
    assert grade.score == 0.5
    assert grade.extra["n"] == 4
    assert grade.extra["predicted_positive"] == 0.75
    assert "score_without_copies" not in grade.extra


def test_standard_error_counts_films(small: Path) -> None:
    """Hits 1, 0 of film a, 0 of c, 1 of b: surpluses of 0, -1/2 and 1/2."""
    grade = IMDB.score("id,sentiment\n0,1\n1,1\n2,0\n3,1\n", small, small / "outputs")
    assert grade.extra["films"] == 3
    assert grade.extra["standard_error"] == pytest.approx(math.sqrt(3 / 2 * 0.5) / 4)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("0,1\n1,1\n2,1\n", "row ids differ: 1 missing, first: 3"),
        ("0,1\n1,1\n2,1\n3,1\n4,1\n", "1 unknown, first: 4"),
        ("0,1\n0,1\n1,1\n2,1\n3,1\n", "1 too many, first: 0"),
        ("0,1\n1,\n2,1\n3,1\n", "row 2: '' is neither 0 nor 1"),
        ("0,1\n1,nan\n2,1\n3,1\n", "row 2: 'nan' is neither 0 nor 1"),
        ("0,0.7\n1,1\n2,1\n3,1\n", "row 1: '0.7' is neither 0 nor 1"),
        ("0,1,1\n1,1\n2,1\n3,1\n", "line 2: 3 values, expected 2"),
    ],
)
def test_invalid_submissions_get_a_reason(small: Path, rows: str, reason: str) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    (outputs / "submission.csv").write_text("id,sentiment\n" + rows)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        IMDB.grade.grade(outputs, small)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        IMDB.grade.check_format(outputs / "submission.csv", small)


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "bytes", "columns"])
def test_what_is_no_table_is_no_submission(small: Path, kind: str) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    file = outputs / "submission.csv"
    if kind == "folder":
        file.mkdir()
    elif kind == "link":
        file.symlink_to(small / "answers.csv")
    elif kind == "bytes":
        file.write_bytes(b"id,sentiment\n0,\xff\n")
    elif kind == "columns":
        file.write_text("id,label\n0,1\n")
    with pytest.raises(InvalidSubmission):
        IMDB.grade.grade(outputs, small)


def test_the_sample_submission_is_valid_and_constant(mini: Prepared) -> None:
    sample = mini.public / "sample_submission.csv"
    IMDB.grade.check_format(sample, mini.public)
    assert set(read(sample)["sentiment"]) == {0}


def test_a_part_can_be_held_back_for_feedback(mini: Prepared, tmp_path: Path) -> None:
    held = Prepared(tmp_path)
    IMDB.prepare.hold_out(mini.public, held.public, held.private, np.random.default_rng(1))
    before = read(mini.public / "train.csv").set_index("text")["sentiment"]
    kept, shown = read(held.public / "train.csv"), read(held.public / "validation.csv")
    assert len(shown) == int(0.2 * len(before))
    assert list(shown.columns) == ["id", "text"]
    assert {*kept["text"], *shown["text"]} == set(before.index)
    assert len(kept) + len(shown) == len(before)
    assert kept["sentiment"].tolist() == before[kept["text"]].tolist()
    answers = read(held.private / "answers.csv")
    assert answers["sentiment"].tolist() == before[shown["text"]].tolist()
    grade = IMDB.score(answers.to_csv(index=False), held.private, tmp_path / "outputs")
    assert grade.score == 1
    for name in ("test.csv", "sample_submission.csv", "distilbert/model.safetensors"):
        assert (held.public / name).read_bytes() == (mini.public / name).read_bytes()


@pytest.mark.slow
def test_the_starter_counts_words_and_says_how_well(mini: Prepared, tmp_path: Path) -> None:
    texts = []
    for seed in (0, 1):
        workspace = tmp_path / f"workspace{seed}"
        data = Prepared(tmp_path / f"data{seed}")
        for name in ("train.csv", "test.csv"):
            shutil.copyfile(mini.public / name, data.public / name)
        result = IMDB.run_starter(data, workspace, seed=seed)
        assert result.returncode == 0, result.stderr
        assert re.fullmatch(r"validation accuracy=0\.\d{4}\n", result.stdout)
        texts.append((result.stdout, (workspace / "submission.csv").read_text()))
    assert texts[0][0] != texts[1][0]
    assert texts[0][1] == texts[1][1]
    assert 0.55 < IMDB.score(texts[0][1], mini.private, tmp_path / "outputs").score < 0.7
