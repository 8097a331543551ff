"""The task house-price: its data, its trivial predictors, its starter and its grader."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tabular_tasks import Prepared, TaskModules, rank_correlation, read_text_table

from mlagentbench.guest.mlagentbench_task import InvalidSubmission

HOUSE = TaskModules("house-price")


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return HOUSE.prepare_mini(tmp_path_factory.mktemp("house"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A private/ and public/ with three houses."""
    (tmp_path / "answers.csv").write_text("Id,SalePrice\n11,100\n12,200\n13,300\n")
    (tmp_path / "sample_submission.csv").write_text("Id,SalePrice\n12,0\n11,0\n13,0\n")
    (tmp_path / "copies.csv").write_text("Id\n")
    return tmp_path


def official_like(directory: Path, rows: int = 40) -> Path:
    """A raw directory as a user has it: the official columns, cells of every kind."""
    directory.mkdir()
    columns = HOUSE.mini.COLUMNS.split()
    rng = np.random.default_rng(0)
    table = pd.DataFrame({column: rng.integers(0, 10**6, rows) for column in columns})
    table["Id"] = np.arange(1, rows + 1)
    table["MasVnrType"], table["PoolQC"] = "None", "NA"
    table["LotFrontage"] = [f"{width}.50" for width in range(rows)]
    table.to_csv(directory / "train.csv", index=False)
    (directory / "test.csv").write_text("Id\n1461\n")
    return directory


def test_mini_has_the_official_columns_and_sizes(mini: Prepared) -> None:
    train, test = (read_text_table(mini.public / name) for name in ("train.csv", "test.csv"))
    assert train.shape == (1050, 81)
    assert test.shape == (450, 80)
    assert list(train.columns) == [*test.columns, "SalePrice"]
    assert sorted(path.name for path in mini.public.iterdir()) == [
        "sample_submission.csv", "test.csv", "train.csv",
    ]  # fmt: skip


def test_mini_hides_houses_of_known_kinds_behind_na(mini: Prepared) -> None:
    train = read_text_table(mini.public / "train.csv")
    assert (train["PoolQC"] == "NA").mean() > 0.9
    assert (train["MasVnrType"] == "None").any()
    assert ((train["GarageCars"] == "0") == (train["GarageType"] == "NA")).all()
    floors = train[["1stFlrSF", "2ndFlrSF", "LowQualFinSF"]].astype(int).sum(axis=1)
    assert (floors == train["GrLivArea"].astype(int)).all()


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    again = HOUSE.prepare_mini(tmp_path / "again")
    other = HOUSE.prepare_mini(tmp_path / "other", seed=6)
    assert again.files() == mini.files()
    assert other.files()["public/train.csv"] != mini.files()["public/train.csv"]


def test_cells_are_copied_as_they_are(tmp_path: Path) -> None:
    raw = official_like(tmp_path / "raw")
    prepared = HOUSE.prepare_from(raw, tmp_path)
    train, test = (read_text_table(prepared.public / n) for n in ("train.csv", "test.csv"))
    answers = read_text_table(prepared.private / "answers.csv")
    rows = pd.concat([train, test.merge(answers, on="Id")])
    mapping = read_text_table(prepared.private / "mapping.csv")
    restored = rows.merge(mapping, on="Id").drop(columns=["Id", "part"])
    restored = restored.rename(columns={"original": "Id"}).set_index("Id")
    original = read_text_table(raw / "train.csv").set_index("Id")
    pd.testing.assert_frame_equal(restored.loc[original.index, original.columns], original)
    assert len(test) == 12
    assert not (prepared.private / "ceiling.csv").exists()
    assert HOUSE.grade.ceiling(prepared.private) is None


def test_ids_and_order_say_nothing(mini: Prepared) -> None:
    train = pd.read_csv(mini.public / "train.csv")
    test = pd.read_csv(mini.public / "test.csv").merge(pd.read_csv(mini.private / "answers.csv"))
    mapping = pd.read_csv(mini.private / "mapping.csv")
    for part in (train, test):
        limit = 4 / math.sqrt(len(part))
        position = pd.Series(np.arange(len(part)))
        original = part["Id"].map(mapping.set_index("Id")["original"])
        for told in (part["Id"], position):
            assert abs(rank_correlation(told, part["SalePrice"])) < limit
            assert abs(rank_correlation(told, original)) < limit
    ids = pd.concat([train["Id"], test["Id"]])
    assert ids.is_unique
    assert ids.between(100_000, 999_999).all()


def test_sample_submission_is_valid_and_constant(mini: Prepared) -> None:
    sample = read_text_table(mini.public / "sample_submission.csv")
    assert sample["SalePrice"].nunique() == 1
    HOUSE.grade.check_format(mini.public / "sample_submission.csv", mini.public)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_single_column_tells_half_of_what_can_be_known(tmp_path: Path, seed: int) -> None:
    data = HOUSE.prepare_mini(tmp_path / "data", seed)
    scores = {
        name: HOUSE.score(text, data.private, tmp_path / "outputs").score
        for name, text in HOUSE.trivial.predictors(data.public).items()
    }
    ceiling = HOUSE.grade.ceiling(data.private)
    closed = (scores["median"] - min(scores.values())) / (scores["median"] - ceiling)
    assert set(scores) == {
        "median", "mean", "line_on_GrLivArea", "medians_by_OverallQual", "best_single_feature",
    }  # fmt: skip
    assert 0.1 < closed < 0.4
    assert 0.1 < ceiling / scores["median"] < 0.25


def test_best_single_feature_is_found_among_all_columns() -> None:
    rng = np.random.default_rng(0)
    street = rng.choice(["a", "b", "c"], 300)
    train = pd.DataFrame({"Id": range(300), "Noise": rng.normal(size=300), "Street": street})
    train["SalePrice"] = train["Street"].map({"a": 1.0, "b": 9.0, "c": 4.0})
    column, rule = HOUSE.trivial.best_single_feature(train)
    assert column == "Street"
    unseen = pd.Series(["b", "z", None])
    assert list(rule(train["Street"], train["SalePrice"], unseen)) == [9.0, 4.0, 4.0]


def test_a_copy_of_a_training_row_is_listed_and_scored_apart(tmp_path: Path) -> None:
    raw = official_like(tmp_path / "raw", rows=60)
    table = read_text_table(raw / "train.csv")
    twin = table.assign(MoSold="13", Id=[str(1000 + row) for row in range(60)])
    pd.concat([table.head(20), twin.head(20), table.tail(20)]).to_csv(
        raw / "train.csv", index=False
    )
    prepared = HOUSE.prepare_from(raw, tmp_path)
    mapping = read_text_table(prepared.private / "mapping.csv")
    house = mapping["original"].astype(int).where(lambda n: n < 1000, lambda n: n - 999)
    in_train = set(house[mapping["part"] == "train"])
    tests = mapping[mapping["part"] == "test"]
    expected = set(tests["Id"][house[tests.index].isin(in_train)])
    listed = set(read_text_table(prepared.private / "copies.csv")["Id"])
    assert listed == expected
    assert 0 < len(listed) < len(tests)

    answers = pd.read_csv(prepared.private / "answers.csv", dtype={"Id": str})
    wrong_by_5 = answers.assign(SalePrice=answers["SalePrice"] + 5 * ~answers["Id"].isin(listed))
    grade = HOUSE.score(wrong_by_5.to_csv(index=False), prepared.private, tmp_path / "outputs")
    assert grade.extra["score_without_copies"] == 5
    assert grade.extra["copies_of_training_rows"] == len(listed)
    assert 0 < grade.score < 5


def test_score_is_the_mean_absolute_error(small: Path) -> None:
    grade = HOUSE.score("SalePrice,Id\n330,13\n100,11\n-10,12\n", small, small / "outputs")
    assert grade.score == pytest.approx((0 + 210 + 30) / 3)
    assert grade.extra["n"] == 3
    assert grade.extra["standard_error"] == pytest.approx(np.std([0, 210, 30], ddof=1) / 3**0.5)
    assert "root_mean_squared_log_error" not in grade.extra


@pytest.mark.parametrize(
    ("submission", "reason"),
    [
        (None, "submission.csv not found"),
        ("", "submission.csv is empty"),
        ("Id,Price\n11,1\n12,2\n13,3\n", "has the columns Id, Price; expected Id, SalePrice"),
        ("Id,SalePrice\n11,1\n13,3\n", "1 missing, first: 12"),
        ("Id,SalePrice\n11,1\n12,2\n13,3\n14,4\n", "1 unknown, first: 14"),
        ("Id,SalePrice\n11,1\n11,1\n12,2\n13,3\n", "row ids repeat: 1 too many, first: 11"),
        ("Id,SalePrice\n11,1\n12,two\n13,3\n", "SalePrice, row 2: 'two' is not a number"),
        ("Id,SalePrice\n11,1\n12,\n13,3\n", "SalePrice, row 2: '' is not a number"),
        ("Id,SalePrice\n11,1\n12,2\n13,nan\n", "SalePrice, row 3: 'nan' is not finite"),
        ("Id,SalePrice\n11,inf\n12,2\n13,3\n", "SalePrice, row 1: 'inf' is not finite"),
        ("Id,SalePrice\n11,1e308\n12,2\n13,3\n", "SalePrice, row 1: 1e+308 is no price"),
        ("Id,SalePrice\n11,1\n12\n13,3\n", "line 3: 1 values, expected 2"),
    ],
)
def test_invalid_submissions_get_a_reason(small: Path, submission: str | None, reason: str) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    if submission is not None:
        (outputs / "submission.csv").write_text(submission)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        HOUSE.grade.grade(outputs, small)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        HOUSE.grade.check_format(outputs / "submission.csv", small)


def test_held_out_part_is_scored_by_the_same_grader(mini: Prepared, tmp_path: Path) -> None:
    held_public, held_private = tmp_path / "public", tmp_path / "private"
    held_public.mkdir()
    held_private.mkdir()
    HOUSE.prepare.hold_out(mini.public, held_public, held_private, np.random.default_rng(1))
    train, all_train = (read_text_table(p / "train.csv") for p in (held_public, mini.public))
    held = read_text_table(held_public / "validation.csv")
    assert set(train["Id"]) | set(held["Id"]) == set(all_train["Id"])
    assert len(train) + len(held) == len(all_train)
    assert len(held) == 210
    assert "SalePrice" not in held
    for name in ("test.csv", "sample_submission.csv"):
        assert (held_public / name).read_bytes() == (mini.public / name).read_bytes()

    sample = (held_public / "validation_sample_submission.csv").read_text()
    prices = all_train.set_index("Id")["SalePrice"].astype(float)
    grade = HOUSE.score(sample, held_private, tmp_path / "outputs")
    assert grade.score == pytest.approx(prices[held["Id"]].mean())


@pytest.mark.slow
def test_starter_writes_the_median_whatever_the_seed(mini: Prepared, tmp_path: Path) -> None:
    texts = []
    for seed in (0, 1):
        workspace = tmp_path / f"workspace{seed}"
        result = HOUSE.run_starter(mini, workspace, seed=seed)
        assert result.returncode == 0, result.stderr
        assert re.fullmatch(r"validation MAE=\d+\.\d\n", result.stdout)
        HOUSE.grade.check_format(workspace / "submission.csv", mini.public)
        texts.append((result.stdout, (workspace / "submission.csv").read_text()))
    assert texts[0][0] != texts[1][0]
    assert texts[0][1] == texts[1][1] == HOUSE.trivial.predictors(mini.public)["median"]


def test_starter_has_a_quick_run(mini: Prepared, tmp_path: Path) -> None:
    result = HOUSE.run_starter(mini, tmp_path / "workspace", "--sample")
    assert result.returncode == 0, result.stderr
    HOUSE.grade.check_format(tmp_path / "workspace" / "submission.csv", mini.public)


def test_a_column_in_which_all_values_are_equal_has_a_level_line() -> None:
    prices = pd.Series([100.0, 200.0, 600.0])
    for values in ([5, 5, 5], [None, None, None], [5, None, 5]):
        found = HOUSE.trivial.line(pd.Series(values, dtype=float), prices, pd.Series([5, 7, None]))
        assert found == pytest.approx([300.0] * 3), values
    rising = HOUSE.trivial.line(pd.Series([1.0, 2.0, 6.0]), prices, pd.Series([4.0, None]))
    assert rising == pytest.approx([400.0, 300.0])
