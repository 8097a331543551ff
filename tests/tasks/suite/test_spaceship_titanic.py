"""The task spaceship-titanic: its data, its trivial predictors, its starter and its grader."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tabular_tasks import Prepared, TaskModules, rank_correlation, read_text_table

from mlagentbench.guest.mlagentbench_task import InvalidSubmission

SHIP = TaskModules("spaceship-titanic")
COLUMNS = [
    "PassengerId", "HomePlanet", "CryoSleep", "Cabin", "Destination", "Age", "VIP", "RoomService",
    "FoodCourt", "ShoppingMall", "Spa", "VRDeck", "Name", "Transported",
]  # fmt: skip
SPENDING = COLUMNS[7:12]


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return SHIP.prepare_mini(tmp_path_factory.mktemp("ship"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A private/ and public/ with three passengers, two of them in one group."""
    answers = "PassengerId,Transported\n0100_07,True\n0100_31,False\n2345_01,True\n"
    (tmp_path / "answers.csv").write_text(answers)
    (tmp_path / "sample_submission.csv").write_text(
        "PassengerId,Transported\n2345_01,False\n0100_07,False\n0100_31,False\n"
    )
    (tmp_path / "copies.csv").write_text("PassengerId\n")
    return tmp_path


def official_like(directory: Path, groups: int = 60) -> Path:
    """A raw directory as a user has it: groups of one to three, cells of every kind."""
    directory.mkdir()
    ids = [f"{g:04d}_{m:02d}" for g in range(1, groups + 1) for m in range(1, g % 3 + 2)]
    table = pd.DataFrame(dict.fromkeys(COLUMNS, ""), index=range(len(ids)))
    table["PassengerId"] = ids
    table["Cabin"] = [f"F/{n}/S" for n in range(len(ids))]
    table["Name"] = [f"Ab Cd{n}" for n in range(len(ids))]
    table["Age"] = [f"{n % 80}.0" for n in range(len(ids))]
    table["CryoSleep"] = "NA"
    table["Transported"] = ["True" if n % 2 else "False" for n in range(len(ids))]
    table.to_csv(directory / "train.csv", index=False)
    return directory


def group(ids: pd.Series) -> pd.Series:
    return ids.str.split("_").str[0]


def test_mini_has_the_official_columns_and_sizes(mini: Prepared) -> None:
    train, test = (read_text_table(mini.public / name) for name in ("train.csv", "test.csv"))
    assert list(train.columns) == COLUMNS
    assert list(test.columns) == COLUMNS[:-1]
    assert len(train) + len(test) == 3000
    assert 890 <= len(test) <= 900
    assert set(train["Transported"]) == {"True", "False"}
    assert sorted(path.name for path in mini.public.iterdir()) == [
        "sample_submission.csv", "test.csv", "train.csv",
    ]  # fmt: skip


def test_mini_sleepers_and_children_spend_nothing(mini: Prepared) -> None:
    train = pd.read_csv(mini.public / "train.csv")
    spent = train[SPENDING].sum(axis=1)
    sleepers = train["CryoSleep"].astype(str) == "True"
    assert sleepers.sum() > 500
    assert (spent[sleepers | (train["Age"] < 13)] == 0).all()
    assert (spent[~sleepers & (train["Age"] > 12)] > 0).mean() > 0.9
    assert train[COLUMNS[1:-1]].isna().mean().between(0.005, 0.04).all()


def test_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    again = SHIP.prepare_mini(tmp_path / "again")
    other = SHIP.prepare_mini(tmp_path / "other", seed=6)
    assert again.files() == mini.files()
    assert other.files()["public/train.csv"] != mini.files()["public/train.csv"]


def test_cells_are_copied_as_they_are(tmp_path: Path) -> None:
    raw = official_like(tmp_path / "raw")
    prepared = SHIP.prepare_from(raw, tmp_path)
    train, test = (read_text_table(prepared.public / n) for n in ("train.csv", "test.csv"))
    answers = read_text_table(prepared.private / "answers.csv")
    rows = pd.concat([train, test.merge(answers, on="PassengerId")])
    mapping = read_text_table(prepared.private / "mapping.csv")
    restored = rows.merge(mapping, on="PassengerId").drop(columns=["PassengerId", "part"])
    restored = restored.rename(columns={"original": "PassengerId"}).set_index("PassengerId")
    original = read_text_table(raw / "train.csv").set_index("PassengerId")
    pd.testing.assert_frame_equal(restored.loc[original.index, original.columns], original)
    assert SHIP.grade.ceiling(prepared.private) is None


def test_groups_stay_together_under_new_names(mini: Prepared) -> None:
    mapping = read_text_table(mini.private / "mapping.csv")
    pairs = pd.DataFrame(
        {"new": group(mapping["PassengerId"]), "old": group(mapping["original"])}
    ).assign(part=mapping["part"])
    assert (pairs.groupby("old")["new"].nunique() == 1).all()
    assert (pairs.groupby("new")["old"].nunique() == 1).all()
    assert (pairs.groupby("new")["part"].nunique() == 1).all()
    assert mapping["PassengerId"].is_unique
    assert mapping["PassengerId"].str.fullmatch(r"\d{4}_\d{2}").all()


def test_ids_and_order_say_nothing(mini: Prepared) -> None:
    train = pd.read_csv(mini.public / "train.csv")
    test = pd.read_csv(mini.public / "test.csv").merge(pd.read_csv(mini.private / "answers.csv"))
    mapping = pd.read_csv(mini.private / "mapping.csv").set_index("PassengerId")
    for part in (train, test):
        limit = 4 / math.sqrt(group(part["PassengerId"]).nunique())
        sizes = group(part["PassengerId"]).map(group(part["PassengerId"]).value_counts())
        boarding = group(part["PassengerId"].map(mapping["original"])).astype(int)
        told = {
            "group": group(part["PassengerId"]).astype(int),
            "member": part["PassengerId"].str.split("_").str[1].astype(int),
            "position": pd.Series(np.arange(len(part))),
        }
        for values in told.values():
            assert abs(rank_correlation(values, part["Transported"])) < limit
            assert abs(rank_correlation(values, boarding)) < limit
            assert abs(rank_correlation(values, sizes)) < limit


def test_sample_submission_is_valid_and_constant(mini: Prepared) -> None:
    sample = read_text_table(mini.public / "sample_submission.csv")
    assert set(sample["Transported"]) == {"False"}
    SHIP.grade.check_format(mini.public / "sample_submission.csv", mini.public)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_single_field_tells_half_of_what_can_be_known(tmp_path: Path, seed: int) -> None:
    data = SHIP.prepare_mini(tmp_path / "data", seed)
    scores = {
        name: SHIP.score(text, data.private, tmp_path / "outputs").score
        for name, text in SHIP.trivial.predictors(data.public).items()
    }
    ceiling = SHIP.grade.ceiling(data.private)
    closed = (max(scores.values()) - scores["majority"]) / (ceiling - scores["majority"])
    assert set(scores) == {"majority", "CryoSleep_alone", "best_single_feature"}
    assert 0.1 < closed < 0.45
    assert 0.8 < ceiling < 0.9


def test_best_single_feature_looks_into_the_cabin() -> None:
    rng = np.random.default_rng(0)
    sides = rng.choice(["P", "S"], 300)
    train = pd.DataFrame(dict.fromkeys(COLUMNS, 0), index=range(300))
    train["PassengerId"] = [f"{n:04d}_01" for n in range(300)]
    train["Cabin"] = [f"A/{n}/{side}" for n, side in enumerate(sides)]
    train["Name"] = "Ab Cd"
    train["Transported"] = (sides == "S") ^ (rng.random(300) < 0.05)
    assert SHIP.trivial.best_single_feature(train) == "Side"


def test_a_copy_of_a_training_row_is_listed_and_scored_apart(tmp_path: Path) -> None:
    raw = official_like(tmp_path / "raw", groups=40)
    table = read_text_table(raw / "train.csv")
    twin = table.head(30).assign(PassengerId=[f"{900 + n}_01" for n in range(30)], VIP="True")
    pd.concat([table, twin]).to_csv(raw / "train.csv", index=False)
    prepared = SHIP.prepare_from(raw, tmp_path)
    names = pd.concat([table, twin]).set_index("PassengerId")["Name"]
    mapping = read_text_table(prepared.private / "mapping.csv")
    name = names[mapping["original"]].reset_index(drop=True)
    in_train = set(name[mapping["part"] == "train"])
    tests = mapping[mapping["part"] == "test"]
    expected = set(tests["PassengerId"][name[tests.index].isin(in_train)])
    listed = set(read_text_table(prepared.private / "copies.csv")["PassengerId"])
    assert listed == expected
    assert 0 < len(listed) < len(tests)

    answers = read_text_table(prepared.private / "answers.csv")
    right = answers["PassengerId"].isin(listed)
    other = answers["Transported"].map({"True": "False", "False": "True"})
    submission = answers.assign(Transported=answers["Transported"].where(right, other))
    grade = SHIP.score(submission.to_csv(index=False), prepared.private, tmp_path / "outputs")
    assert grade.score == len(listed) / len(tests)
    assert grade.extra["score_without_copies"] == 0
    assert grade.extra["copies_of_training_rows"] == len(listed)


@pytest.mark.parametrize(
    ("values", "hits"),
    [
        (["True", "False", "True"], 3),
        (["true", "FALSE", "tRuE"], 3),
        (["1", "0", " 1 "], 3),
        (["False", "True", "1"], 1),
    ],
)
def test_score_is_the_share_of_hits(small: Path, values: list[str], hits: int) -> None:
    ids = ["0100_07", "0100_31", "2345_01"]
    rows = [f"{row},{value}\n" for row, value in zip(ids, values, strict=True)]
    submission = "PassengerId,Transported\n" + "".join(reversed(rows))
    assert SHIP.score(submission, small, small / "outputs").score == hits / 3


def test_standard_error_counts_groups(small: Path) -> None:
    """Two wrong in one group of two, one right alone: surpluses of -2/3 and 2/3."""
    submission = "PassengerId,Transported\n0100_07,0\n0100_31,1\n2345_01,1\n"
    grade = SHIP.score(submission, small, small / "outputs")
    assert grade.extra["n"] == 3
    assert grade.extra["groups"] == 2
    assert grade.extra["standard_error"] == pytest.approx(math.sqrt(2 * (4 / 9 + 4 / 9)) / 3)


def test_the_test_sets_interval_draws_whole_groups(tmp_path: Path) -> None:
    """Eight groups of eight: half of the groups are right, so single passengers say little."""
    ids = [f"{group:04d}_{place:02d}" for group in range(8) for place in range(8)]
    rows = "".join(f"{one},{one < '0004'}\n" for one in ids)
    (tmp_path / "answers.csv").write_text("PassengerId,Transported\n" + rows)
    (tmp_path / "copies.csv").write_text("PassengerId\n")
    submission = "PassengerId,Transported\n" + "".join(f"{one},True\n" for one in ids)
    grade = SHIP.score(submission, tmp_path, tmp_path / "outputs")
    assert grade.score == 0.5
    low, high = grade.extra["test_set_interval"]
    assert low <= 0.25 and high >= 0.75


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("0100_07,1\n2345_01,1\n", "row ids differ: 1 missing, first: 0100_31"),
        ("0100_07,1\n0100_31,1\n2345_01,1\n9_9,1\n", "1 unknown, first: 9_9"),
        ("0100_07,1\n0100_07,1\n0100_31,1\n2345_01,1\n", "1 too many, first: 0100_07"),
        ("0100_07,1\n0100_31,\n2345_01,1\n", "row 2: '' is neither True nor False"),
        ("0100_07,1\n0100_31,nan\n2345_01,1\n", "row 2: 'nan' is neither True nor False"),
        ("0100_07,0.7\n0100_31,0\n2345_01,1\n", "row 1: '0.7' is neither True nor False"),
        ("0100_07,1,1\n0100_31,0\n2345_01,1\n", "line 2: 3 values, expected 2"),
    ],
)
def test_invalid_submissions_get_a_reason(small: Path, rows: str, reason: str) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    (outputs / "submission.csv").write_text("PassengerId,Transported\n" + rows)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        SHIP.grade.grade(outputs, small)
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        SHIP.grade.check_format(outputs / "submission.csv", small)


def test_a_symbolic_link_is_no_submission(small: Path) -> None:
    outputs = small / "outputs"
    outputs.mkdir()
    (outputs / "submission.csv").symlink_to(small / "answers.csv")
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        SHIP.grade.grade(outputs, small)


def test_held_out_part_is_scored_by_the_same_grader(mini: Prepared, tmp_path: Path) -> None:
    held_public, held_private = tmp_path / "public", tmp_path / "private"
    held_public.mkdir()
    held_private.mkdir()
    SHIP.prepare.hold_out(mini.public, held_public, held_private, np.random.default_rng(1))
    train, all_train = (read_text_table(p / "train.csv") for p in (held_public, mini.public))
    held = read_text_table(held_public / "validation.csv")
    assert set(train["PassengerId"]) | set(held["PassengerId"]) == set(all_train["PassengerId"])
    assert len(train) + len(held) == len(all_train)
    assert not set(group(train["PassengerId"])) & set(group(held["PassengerId"]))
    assert 0.18 < len(held) / len(all_train) <= 0.2
    assert "Transported" not in held
    for name in ("test.csv", "sample_submission.csv"):
        assert (held_public / name).read_bytes() == (mini.public / name).read_bytes()

    sample = (held_public / "validation_sample_submission.csv").read_text()
    fates = all_train.set_index("PassengerId")["Transported"][held["PassengerId"]]
    grade = SHIP.score(sample, held_private, tmp_path / "outputs")
    assert grade.score == (fates == "False").mean()


@pytest.mark.slow
def test_starter_writes_the_commoner_fate_whatever_the_seed(mini: Prepared, tmp_path: Path) -> None:
    texts = []
    for seed in (0, 1):
        workspace = tmp_path / f"workspace{seed}"
        result = SHIP.run_starter(mini, workspace, seed=seed)
        assert result.returncode == 0, result.stderr
        assert re.fullmatch(r"validation accuracy=0\.\d{4}\n", result.stdout)
        SHIP.grade.check_format(workspace / "submission.csv", mini.public)
        texts.append((result.stdout, (workspace / "submission.csv").read_text()))
    assert texts[0][0] != texts[1][0]
    assert texts[0][1] == texts[1][1] == SHIP.trivial.predictors(mini.public)["majority"]


def test_starter_has_a_quick_run(mini: Prepared, tmp_path: Path) -> None:
    result = SHIP.run_starter(mini, tmp_path / "workspace", "--sample")
    assert result.returncode == 0, result.stderr
    SHIP.grade.check_format(tmp_path / "workspace" / "submission.csv", mini.public)
