"""The task parkinsons-disease: its data, what they must not tell, its starter and its grader."""

import asyncio
import math
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from tabular_tasks import Prepared, TaskModules, rank_correlation, read_text_table

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather, require_files
from mlagentbench.tasks.task import load_folder

PARKINSON = TaskModules("parkinsons-disease")
TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
CLINICAL = ["visit_id", "patient_id", "visit_month", *TARGETS,
            "upd23b_clinical_state_on_medication"]  # fmt: skip
OFFICIAL = ["train_clinical_data.csv", "supplemental_clinical_data.csv", "train_proteins.csv"]


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return PARKINSON.prepare_mini(tmp_path_factory.mktemp("parkinson"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A private/ and public/ with four questions about two patients; one has no answer."""
    (tmp_path / "asked.csv").write_text("prediction_id,patient_id\n1,a\n2,a\n3,b\n4,b\n")
    (tmp_path / "answers.csv").write_text("prediction_id,rating\n3,4\n1,0\n2,10\n")
    sample = "prediction_id,rating\n4,0\n3,0\n2,0\n1,0\n"
    (tmp_path / "sample_submission.csv").write_text(sample)
    return tmp_path


def official_like(directory: Path) -> Path:
    """Ten patients as in the official files; the rating tells patient, month and target."""
    directory.mkdir()
    rows, samples = [], []
    for patient in range(10):
        for month in (0, 3, 6, 12, 24) if patient % 2 else (0, 12, 24, 36):
            visit = f"{patient}_{month}"
            ratings = [f"{1000 * patient + 10 * month + k}" for k in range(3)]
            rows.append([visit, patient, month, *ratings, "" if month < 12 else "7.0", "On"])
            if month in (0, 12):
                samples.append([visit, month, patient, "P04180", f"{patient}{month:02d}.50"])
    clinical = pd.DataFrame(rows, columns=CLINICAL)
    clinical.to_csv(directory / OFFICIAL[0], index=False)
    other = clinical.head(4).assign(patient_id=77, visit_id=["77_0", "77_12", "77_24", "77_36"])
    other.to_csv(directory / OFFICIAL[1], index=False)
    columns = ["visit_id", "visit_month", "patient_id", "UniProt", "NPX"]
    pd.DataFrame(samples, columns=columns).to_csv(directory / OFFICIAL[2], index=False)
    return directory


def test_mini_has_the_official_columns(mini: Prepared) -> None:
    tables = {file.name: read_text_table(file) for file in mini.public.iterdir()}
    assert sorted(tables) == [
        "sample_submission.csv", "supplemental_clinical_data.csv", "test.csv",
        "test_proteins.csv", "test_visits.csv", "train_clinical_data.csv", "train_proteins.csv",
    ]  # fmt: skip
    for name in OFFICIAL[:2]:
        assert list(tables[name].columns) == CLINICAL
    assert list(tables[OFFICIAL[2]].columns) == [
        "visit_id", "visit_month", "patient_id", "UniProt", "NPX",
    ]  # fmt: skip
    assert tables[OFFICIAL[0]]["patient_id"].nunique() == 192
    assert len(tables["test.csv"]) == 16 * len(tables["test_visits.csv"])
    ratings = pd.to_numeric(tables[OFFICIAL[0]]["updrs_3"])
    assert (ratings == ratings.round()).all()


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert PARKINSON.prepare_mini(tmp_path / "again").files() == mini.files()
    other = PARKINSON.prepare_mini(tmp_path / "other", seed=6)
    assert other.files()["public/test.csv"] != mini.files()["public/test.csv"]


def test_no_patient_is_in_both_parts(mini: Prepared) -> None:
    mapping = read_text_table(mini.private / "mapping.csv")
    asked = read_text_table(mini.private / "asked.csv")
    tested = set(mapping["patient_id"][mapping["part"] == "test"])
    assert set(asked["patient_id"]) == tested
    for name in OFFICIAL:
        assert not set(read_text_table(mini.public / name)["patient_id"]) & tested


def test_every_rating_is_asked_for_whether_or_not_it_was_given(mini: Prepared) -> None:
    test = read_text_table(mini.public / "test.csv")
    combinations = test.groupby("visit_id")[["updrs_test", "plus_months"]].apply(
        lambda rows: len(rows.drop_duplicates())
    )
    assert (combinations == 16).all()
    asked, answers = (read_text_table(mini.private / n) for n in ("asked.csv", "answers.csv"))
    sample = read_text_table(mini.public / "sample_submission.csv")
    assert sorted(asked["prediction_id"]) == sorted(sample["prediction_id"])
    assert 0.4 < len(answers) / len(asked) < 0.8


def test_test_visits_show_what_was_known_and_nothing_else(tmp_path: Path) -> None:
    prepared = PARKINSON.prepare_from(official_like(tmp_path / "raw"), tmp_path)
    visits = read_text_table(prepared.public / "test_visits.csv")
    assert list(visits.columns) == ["visit_id", "visit_month", "earlier_visits"]
    schedules = {"often": "0 3 6 12 24", "yearly": "0 12 24 36"}
    for month, earlier in zip(visits["visit_month"], visits["earlier_visits"], strict=True):
        assert f"{earlier} {month}".strip() in {
            schedule[: len(f"{earlier} {month}".strip())] for schedule in schedules.values()
        }
    samples = read_text_table(prepared.public / "test_proteins.csv")
    assert list(samples.columns) == ["visit_id", "visit_month", "UniProt", "NPX"]
    assert set(samples["visit_id"]) == set(
        visits["visit_id"][visits["visit_month"].isin(["0", "12"])]
    )
    mapping = read_text_table(prepared.private / "mapping.csv").set_index("patient_id")
    tested = mapping["original"][mapping["part"] == "test"]
    expected = {f"{patient}{month:02d}.50" for patient in tested for month in (0, 12)}
    assert set(samples["NPX"]) == expected


def test_answers_are_the_ratings_of_the_right_visit(tmp_path: Path) -> None:
    prepared = PARKINSON.prepare_from(official_like(tmp_path / "raw"), tmp_path)
    mapping = read_text_table(prepared.private / "mapping.csv").set_index("patient_id")
    questions = read_text_table(prepared.public / "test.csv").merge(
        read_text_table(prepared.private / "asked.csv")
    )
    answers = read_text_table(prepared.private / "answers.csv").set_index("prediction_id")["rating"]
    for row in cast(Iterable[Any], questions.itertuples()):
        patient = int(mapping["original"][row.patient_id])
        month = int(row.visit_month) + int(row.plus_months)
        seen = (0, 3, 6, 12, 24) if patient % 2 else (0, 12, 24, 36)
        expected: str | None = str(1000 * patient + 10 * month + int(row.updrs_test[-1]) - 1)
        if row.updrs_test == "updrs_4":
            expected = "7.0" if month >= 12 else None
        assert answers.get(row.prediction_id) == (expected if month in seen else None)
    assert len(answers) > 50
    assert PARKINSON.grade.ceiling(prepared.private) is None


def test_ids_and_order_say_nothing(mini: Prepared) -> None:
    test = pd.read_csv(mini.public / "test.csv").merge(pd.read_csv(mini.private / "asked.csv"))
    answered = test.merge(pd.read_csv(mini.private / "answers.csv"))
    limit = 4 / math.sqrt(len(answered))
    for told in (answered["prediction_id"], pd.Series(np.arange(len(answered)))):
        assert abs(rank_correlation(told, answered["rating"])) < limit
        for column in ("patient_id", "visit_month", "plus_months", "visit_id"):
            assert abs(rank_correlation(told, answered[column])) < limit
    visits = test.drop_duplicates("visit_id")
    few = 4 / math.sqrt(visits["patient_id"].nunique())
    assert abs(rank_correlation(visits["visit_id"], visits["patient_id"])) < few
    assert abs(rank_correlation(visits["visit_id"], visits["visit_month"])) < few
    took_place = test["prediction_id"].isin(answered["prediction_id"])
    assert abs(rank_correlation(test["prediction_id"], took_place)) < limit


def test_score_is_the_error_over_what_took_place(small: Path) -> None:
    """Errors of 0, 2 of 11 + 1, and 4 of 2 + 1; the fourth question counts for nothing."""
    submission = "rating,prediction_id\n999,4\n0,1\n12,2\n0,3\n"
    grade = PARKINSON.score(submission, small, small / "outputs")
    errors = [0, 100 * 2 / 12, 100 * 4 / 3]
    mean = sum(errors) / 3
    assert grade.score == pytest.approx(mean)
    assert (grade.extra["n"], grade.extra["asked"], grade.extra["patients"]) == (3, 4, 2)
    first, second = errors[0] + errors[1] - 2 * mean, errors[2] - mean
    assert grade.extra["standard_error"] == pytest.approx(math.sqrt(2 * (first**2 + second**2)) / 3)
    assert grade.extra["test_set_interval"] is None  # two patients tell nothing of others


def test_the_test_sets_interval_draws_whole_patients(tmp_path: Path) -> None:
    """Ten patients with many ratings: all of a patient's are right, or all wrong by 100 percent."""
    ids = [(row, 10 + row // 30) for row in range(300)]
    asked = "".join(f"{row},{patient}\n" for row, patient in ids)
    (tmp_path / "asked.csv").write_text("prediction_id,patient_id\n" + asked)
    answers = "".join(f"{row},{0 if patient < 15 else 2}\n" for row, patient in ids)
    (tmp_path / "answers.csv").write_text("prediction_id,rating\n" + answers)
    submission = "prediction_id,rating\n" + "".join(f"{row},0\n" for row, _ in ids)
    grade = PARKINSON.score(submission, tmp_path, tmp_path / "outputs")
    assert grade.score == pytest.approx(50)
    low, high = grade.extra["test_set_interval"]
    assert 10 <= low <= 30 and 70 <= high <= 90


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("1,1\n2,1\n3,1\n", "row ids differ: 1 missing, first: 4"),
        ("1,1\n2,1\n3,1\n4,1\n5,1\n", "1 unknown, first: 5"),
        ("1,1\n1,1\n2,1\n3,1\n4,1\n", "1 too many, first: 1"),
        ("1,1\n2,\n3,1\n4,1\n", "rating, row 2: '' is not a number"),
        ("1,1\n2,1\n3,inf\n4,1\n", "rating, row 3: 'inf' is not finite"),
        ("1,-1\n2,1\n3,1\n4,1\n", "rating, row 1: -1 is no rating; expected 0 to 1000"),
        ("1,1\n2,1\n3,1\n4,1e6\n", "rating, row 4: 1e+06 is no rating"),
    ],
)
def test_invalid_submissions_get_a_reason(small: Path, rows: str, reason: str) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    (outputs / "submission.csv").write_text("prediction_id,rating\n" + rows)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        PARKINSON.grade.grade(outputs, small)
    order = [line.split(",")[0] for line in (small / "asked.csv").read_text().split()[1:]]
    sample = "prediction_id,rating\n" + "".join(f"{row},0\n" for row in order)
    (small / "sample_submission.csv").write_text(sample)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        PARKINSON.grade.check_format(outputs / "submission.csv", small)


def test_a_directory_is_no_submission(small: Path) -> None:
    (small / "outputs" / "submission.csv").mkdir(parents=True)
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        PARKINSON.grade.grade(small / "outputs", small)


def test_best_guess_is_the_best_of_all_constants() -> None:
    ratings = np.array([0, 0, 0, 2, 9, 30.0])
    guess = PARKINSON.trivial.best_guess(ratings)
    errors = {g: np.mean(np.abs(g - ratings) / ((g + ratings) / 2 + 1)) for g in range(31)}
    assert errors[min(errors, key=errors.__getitem__)] >= np.mean(
        np.abs(guess - ratings) / ((guess + ratings) / 2 + 1)
    )
    assert guess < ratings.mean()


def test_no_single_fact_tells_half_of_what_can_be_known(mini: Prepared, tmp_path: Path) -> None:
    scores = {
        name: PARKINSON.score(text, mini.private, tmp_path / "outputs").score
        for name, text in PARKINSON.trivial.predictors(mini.public).items()
    }
    assert set(scores) == {
        "best_constant", "constant_per_rating", "by_month_6_visit", "best_single_field",
    }  # fmt: skip
    ceiling = PARKINSON.grade.ceiling(mini.private)
    start = scores["constant_per_rating"]
    assert ceiling < 25
    assert (start - min(scores.values())) / (start - ceiling) < 0.4


def test_held_out_patients_are_scored_by_the_same_grader(mini: Prepared, tmp_path: Path) -> None:
    held = Prepared(tmp_path)
    PARKINSON.prepare.hold_out(mini.public, held.public, held.private, np.random.default_rng(1))
    patients = [
        set(read_text_table(folder / OFFICIAL[0])["patient_id"])
        for folder in (mini.public, held.public)
    ]
    asked = read_text_table(held.private / "asked.csv")
    assert patients[0] - patients[1] == set(asked["patient_id"])
    assert len(patients[0] - patients[1]) == 38
    assert set(read_text_table(held.public / OFFICIAL[2])["patient_id"]) <= patients[1]
    names = {file.name for file in held.public.iterdir()}
    assert {"validation.csv", "validation_visits.csv", "validation_proteins.csv"} <= names
    for name in ("test.csv", "test_visits.csv", "supplemental_clinical_data.csv"):
        assert (held.public / name).read_bytes() == (mini.public / name).read_bytes()
    sample = (held.public / "validation_sample_submission.csv").read_text()
    ratings = pd.read_csv(held.private / "answers.csv")["rating"]
    grade = PARKINSON.score(sample, held.private, tmp_path / "outputs")
    assert grade.score == pytest.approx((100 * ratings / (ratings / 2 + 1)).mean())


@pytest.mark.parametrize("packed", [True, False])
def test_official_files_are_taken_from_archive_or_folder(tmp_path: Path, packed: bool) -> None:
    task = load_folder(PARKINSON.folder)
    own = official_like(tmp_path / "own")
    (own / "train_peptides.csv").write_text("not used\n")
    if packed:
        with zipfile.ZipFile(own / f"{task.spec.sources[0].ref}.zip", "w") as archive:
            for name in OFFICIAL:
                archive.write(own / name, name)
                (own / name).unlink()
    taken = asyncio.run(
        gather(task, tmp_path / "raw", from_dir=own, accept_unverified=True, progress=Silent())
    )
    assert sorted(text.partition(":")[0] for text in taken.accepted) == sorted(OFFICIAL)
    prepared = PARKINSON.prepare_from(tmp_path / "raw", tmp_path)
    assert len(read_text_table(prepared.public / OFFICIAL[1])) == 4


@pytest.mark.parametrize("missing", OFFICIAL)
def test_a_wrong_folder_is_refused_by_the_missing_file(tmp_path: Path, missing: str) -> None:
    own = official_like(tmp_path / "own")
    (own / missing).unlink()
    with pytest.raises(UsageError, match=f"parkinsons-disease: {missing} not found in"):
        require_files(load_folder(PARKINSON.folder), own)
