"""The task feedback: its data, its trivial predictors, its starter and its grader."""

import asyncio
import math
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tabular_tasks import Prepared, TaskModules, rank_correlation, read_text_table

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather, require_files
from mlagentbench.tasks.task import load_folder

FEEDBACK = TaskModules("feedback")
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
HEADER = "text_id," + ",".join(TARGETS) + "\n"


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return FEEDBACK.prepare_mini(tmp_path_factory.mktemp("feedback"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A private/ and public/ with two essays."""
    answers = HEADER + "A1,3.0,3.0,3.0,3.0,3.0,3.0\nB2,2.0,2.0,2.0,2.0,2.0,2.0\n"
    (tmp_path / "answers.csv").write_text(answers)
    (tmp_path / "sample_submission.csv").write_text(answers)
    (tmp_path / "copies.csv").write_text("text_id\n")
    return tmp_path


def official_like(directory: Path, essays: int = 50) -> Path:
    """A raw directory as a user has it: texts with commas, quotes, line breaks of both kinds."""
    directory.mkdir()
    rng = np.random.default_rng(0)
    words = [f"word{n}" for n in range(200)]
    texts = [
        f'He said, "number {n}".\r\n\r\n' + " ".join(rng.choice(words, 60)) + "\n\nNA, the end"
        for n in range(essays)
    ]
    table = pd.DataFrame({"text_id": [f"{n:012X}" for n in range(essays)], "full_text": texts})
    for target in TARGETS:
        table[target] = rng.integers(2, 11, essays) / 2
    table.to_csv(directory / "train.csv", index=False)
    return directory


@pytest.mark.slow
def test_mini_has_the_official_columns_and_half_points(mini: Prepared) -> None:
    train, test = (read_text_table(mini.public / name) for name in ("train.csv", "test.csv"))
    assert list(train.columns) == ["text_id", "full_text", *TARGETS]
    assert list(test.columns) == ["text_id", "full_text"]
    assert (len(train), len(test)) == (1600, 400)
    assert set(train[TARGETS].to_numpy().ravel()) == {str(n / 2) for n in range(2, 11)}
    assert train["full_text"].is_unique
    assert sorted(path.name for path in mini.public.iterdir()) == [
        "sample_submission.csv", "test.csv", "train.csv",
    ]  # fmt: skip


def test_every_skill_shows_in_the_text() -> None:
    """One skill at a time: what strong writers do and weak ones do not."""
    wording = FEEDBACK.mini.draw_wording(np.random.default_rng(4))

    def any_of(phrases: Iterable[str]) -> str:
        return rf"\b({'|'.join(phrases)})\b"

    signs = {
        "cohesion": any_of(wording.strong_links),
        "syntax": any_of(wording.subordinators),
        "vocabulary": any_of(finer for word in wording.adjectives for finer in wording.finer[word]),
        "phraseology": any_of(f"{verb} {noun}" for verb, noun in wording.pairs),
        "grammar": rf"\b(people|we|they) {any_of(wording.verbs)}",
        "conventions": r"(?m)^[A-Z]",
    }
    for skill, sign in signs.items():
        found = {}
        for level in (-2.0, 2.0):
            rng = np.random.default_rng(3)
            skills = dict.fromkeys(TARGETS, 0.0) | {skill: level}
            texts = [FEEDBACK.mini.Writer(skills, wording, rng).essay() for _ in range(60)]
            found[level] = len(re.findall(sign, "\n".join(texts), flags=re.MULTILINE))
        assert found[2.0] > 1.2 * found[-2.0], skill


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert FEEDBACK.prepare_mini(tmp_path / "again").files() == mini.files()
    other = FEEDBACK.prepare_mini(tmp_path / "other", seed=6)
    assert other.files()["public/train.csv"] != mini.files()["public/train.csv"]


def test_texts_and_ratings_are_copied_as_they_are(tmp_path: Path) -> None:
    raw = official_like(tmp_path / "raw")
    prepared = FEEDBACK.prepare_from(raw, tmp_path)
    train, test = (read_text_table(prepared.public / n) for n in ("train.csv", "test.csv"))
    answers = read_text_table(prepared.private / "answers.csv")
    mapping = read_text_table(prepared.private / "mapping.csv").set_index("text_id")
    rows = pd.concat([train, test.merge(answers, on="text_id")])
    assert not set(rows["text_id"]) & set(mapping["original"])
    restored = rows.set_index(rows["text_id"].map(mapping["original"])).drop(columns="text_id")
    original = read_text_table(raw / "train.csv").set_index("text_id")
    pd.testing.assert_frame_equal(restored.loc[original.index], original, check_names=False)
    assert len(test) == 10
    assert FEEDBACK.grade.ceiling(prepared.private) is None


def test_ids_and_order_say_nothing(mini: Prepared) -> None:
    train = pd.read_csv(mini.public / "train.csv")
    test = pd.read_csv(mini.public / "test.csv").merge(pd.read_csv(mini.private / "answers.csv"))
    for part in (train, test):
        rating = part[TARGETS].mean(axis=1)
        number = part["text_id"].map(lambda text: int(text, 16))
        for told in (number, pd.Series(np.arange(len(part)))):
            assert abs(rank_correlation(told, rating)) < 4 / math.sqrt(len(part))
    ids = pd.concat([train["text_id"], test["text_id"]])
    assert ids.is_unique
    assert ids.str.fullmatch("[0-9A-F]{12}").all()


def test_essays_that_are_mostly_copied_are_found() -> None:
    rng = np.random.default_rng(0)
    essays = [" ".join(rng.choice([f"w{n}" for n in range(300)], 100)) for _ in range(5)]
    copied = essays[1].upper() + " " + essays[4][:80]
    quoting = essays[0] + " " + " ".join(essays[2].split()[:40])
    assert FEEDBACK.prepare.copies([copied, quoting, "short"], essays[1:4]) == [True, False, False]
    assert FEEDBACK.prepare.copies(["short"], ["Short!"]) == [True]


def test_a_copy_is_listed_and_scored_apart(tmp_path: Path) -> None:
    raw = official_like(tmp_path / "raw")
    table = read_text_table(raw / "train.csv")
    twins = table.head(25).assign(text_id=[f"F{n:011X}" for n in range(25)])
    pd.concat([table, twins]).to_csv(raw / "train.csv", index=False)
    prepared = FEEDBACK.prepare_from(raw, tmp_path)
    train, test = (read_text_table(prepared.public / n) for n in ("train.csv", "test.csv"))
    listed = set(read_text_table(prepared.private / "copies.csv")["text_id"])
    assert listed == set(test["text_id"][test["full_text"].isin(train["full_text"])])
    assert 0 < len(listed) < len(test)

    answers = pd.read_csv(prepared.private / "answers.csv")
    wrong = answers.copy()
    wrong.loc[~wrong["text_id"].isin(listed), TARGETS] += 0.5
    grade = FEEDBACK.score(wrong.to_csv(index=False), prepared.private, tmp_path / "outputs")
    assert grade.extra["score_without_copies"] == pytest.approx(0.5)
    assert grade.extra["copies_of_training_rows"] == len(listed)
    assert 0 < grade.score < 0.5


def test_score_is_the_mean_of_the_column_errors(small: Path) -> None:
    """Cohesion is off by 3 and 4, grammar by 1 in one essay, the rest is right."""
    submission = HEADER + "B2,6,2,2,2,2,2\nA1,0,3,3,3,4,3\n"
    grade = FEEDBACK.score(submission, small, small / "outputs")
    cohesion, grammar = math.sqrt(12.5), math.sqrt(0.5)
    assert grade.score == pytest.approx((cohesion + grammar) / 6)
    assert grade.extra["root_mean_squared_errors"]["cohesion"] == pytest.approx(cohesion)
    assert grade.extra["root_mean_squared_errors"]["syntax"] == 0
    assert grade.extra["n"] == 2


def test_a_perfect_submission_has_no_error(small: Path) -> None:
    grade = FEEDBACK.score((small / "answers.csv").read_text(), small, small / "outputs")
    assert grade.score == grade.extra["standard_error"] == 0


def test_standard_error_is_that_of_repeated_draws(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores, errors = [], []
    for _ in range(60):
        table = pd.DataFrame(rng.normal(3, 1, (150, 6)), columns=TARGETS)
        table.insert(0, "text_id", [f"T{n}" for n in range(150)])
        table.to_csv(tmp_path / "answers.csv", index=False)
        (tmp_path / "copies.csv").write_text("text_id\n")
        constant = table.assign(**dict.fromkeys(TARGETS, 3.0)).to_csv(index=False)
        grade = FEEDBACK.score(constant, tmp_path, tmp_path / "outputs")
        scores.append(grade.score)
        errors.append(grade.extra["standard_error"])
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.35)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("A1,1,1,1,1,1,1\n", "row ids differ: 1 missing, first: B2"),
        ("A1,1,1,1,1,1,1\nB2,1,1,1,1,1,1\nC3,1,1,1,1,1,1\n", "1 unknown, first: C3"),
        ("A1,1,1,1,1,1,1\nA1,1,1,1,1,1,1\nB2,1,1,1,1,1,1\n", "1 too many, first: A1"),
        ("A1,1,1,1,1,1,1\nB2,1,good,1,1,1,1\n", "syntax, row 2: 'good' is not a number"),
        ("A1,1,1,1,1,1,nan\nB2,1,1,1,1,1,1\n", "conventions, row 1: 'nan' is not finite"),
        ("A1,1,1,1e9,1,1,1\nB2,1,1,1,1,1,1\n", "vocabulary, row 1: 1e+09 is no rating"),
        ("A1,1,1,1,1,1\nB2,1,1,1,1,1,1\n", "line 2: 6 values, expected 7"),
    ],
)
def test_invalid_submissions_get_a_reason(small: Path, rows: str, reason: str) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    (outputs / "submission.csv").write_text(HEADER + rows)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        FEEDBACK.grade.grade(outputs, small)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        FEEDBACK.grade.check_format(outputs / "submission.csv", small)


def test_what_is_no_table_is_no_submission(small: Path) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    file = outputs / "submission.csv"
    with pytest.raises(InvalidSubmission, match="not found"):
        FEEDBACK.grade.grade(outputs, small)
    file.symlink_to(small / "answers.csv")
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        FEEDBACK.grade.grade(outputs, small)
    file.unlink()
    file.write_bytes(HEADER.encode() + b"A1,\xff\n")
    with pytest.raises(InvalidSubmission, match="not a UTF-8 CSV file"):
        FEEDBACK.grade.grade(outputs, small)


def test_counting_closes_little_of_what_can_be_known(mini: Prepared, tmp_path: Path) -> None:
    scores = {
        name: FEEDBACK.score(text, mini.private, tmp_path / "outputs").score
        for name, text in FEEDBACK.trivial.predictors(mini.public).items()
    }
    ceiling = FEEDBACK.grade.ceiling(mini.private)
    assert set(scores) == {
        "middle_of_the_scale", "mean", "median", "best_single_statistic",
        "line_on_surface_statistics",
    }  # fmt: skip
    way = scores["mean"] - ceiling
    assert 0.3 < ceiling < 0.4
    assert (scores["mean"] - scores["best_single_statistic"]) / way < 0.25
    assert (scores["mean"] - min(scores.values())) / way < 0.35


def test_held_out_part_is_scored_by_the_same_grader(mini: Prepared, tmp_path: Path) -> None:
    held = Prepared(tmp_path)
    FEEDBACK.prepare.hold_out(mini.public, held.public, held.private, np.random.default_rng(1))
    train, all_train = (read_text_table(p / "train.csv") for p in (held.public, mini.public))
    shown = read_text_table(held.public / "validation.csv")
    assert list(shown.columns) == ["text_id", "full_text"]
    assert len(shown) == 320
    assert sorted([*train["text_id"], *shown["text_id"]]) == sorted(all_train["text_id"])
    sample = (held.public / "validation_sample_submission.csv").read_text()
    ratings = all_train.set_index("text_id").loc[shown["text_id"], TARGETS].astype(float)
    expected = np.sqrt(((ratings - 3) ** 2).mean()).mean()
    grade = FEEDBACK.score(sample, held.private, tmp_path / "outputs")
    assert grade.score == pytest.approx(expected)


@pytest.mark.slow
def test_starter_writes_the_means_whatever_the_seed(mini: Prepared, tmp_path: Path) -> None:
    texts: list[tuple[str, str]] = []
    for seed, arguments in ((0, []), (1, []), (0, ["--sample"])):
        workspace = tmp_path / f"workspace{len(texts)}"
        result = FEEDBACK.run_starter(mini, workspace, *arguments, seed=seed)
        assert result.returncode == 0, result.stderr
        assert re.fullmatch(r"validation MCRMSE=0\.\d{4}\n", result.stdout)
        FEEDBACK.grade.check_format(workspace / "submission.csv", mini.public)
        texts.append((result.stdout, (workspace / "submission.csv").read_text()))
    assert texts[0][0] != texts[1][0]
    assert texts[0][1] == texts[1][1]
    written = pd.read_csv(tmp_path / "workspace0" / "submission.csv")[TARGETS]
    means = pd.read_csv(mini.public / "train.csv")[TARGETS].mean()
    assert np.allclose(written, means.to_numpy())


@pytest.mark.parametrize("packed", [True, False])
def test_official_files_are_taken_from_archive_or_folder(tmp_path: Path, packed: bool) -> None:
    task = load_folder(FEEDBACK.folder)
    raw = official_like(tmp_path / "own")
    if packed:
        with zipfile.ZipFile(raw / f"{task.spec.sources[0].ref}.zip", "w") as archive:
            archive.write(raw / "train.csv", "train.csv")
        (raw / "train.csv").unlink()
    taken = asyncio.run(
        gather(task, tmp_path / "raw", from_dir=raw, accept_unverified=True, progress=Silent())
    )
    assert [text.partition(":")[0] for text in taken.accepted] == ["train.csv"]
    assert len(read_text_table(tmp_path / "raw" / "train.csv")) == 50
    refused = asyncio.run(
        gather(task, tmp_path / "r", from_dir=raw, accept_unverified=False, progress=Silent())
    ).refused
    assert "train.csv is not the file of Kaggle's feedback-prize" in refused[0]


def test_a_wrong_archive_is_refused_by_the_missing_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("test.csv", "text_id,full_text\n")
    with pytest.raises(UsageError, match=r"feedback: train\.csv not found in"):
        require_files(load_folder(FEEDBACK.folder), tmp_path)
