"""Parts the patients into public training patients and test patients, of whom little is shown.

Of a test patient's visit the public files say what was known on that day: the month, the months of
the earlier visits, the proteins. Every visit has a random id of its own and nothing says which
visits belong to one patient: a list of all visits of a patient would tell which of the later ones
took place, and that tells how ill somebody is. For the same reason every rating is asked for at
every visit, now and 6, 12 and 24 months later; what never took place is not scored.
"""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from mlagentbench_task import Findings, read_table

PATIENT, VISIT, MONTH = "patient_id", "visit_id", "visit_month"
TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]
ID, RATING = "prediction_id", "rating"
TEST_SHARE = 0.20
HELD_SHARE = 0.20
TESTED_AGAIN = 0.50
"""In another split, the share of the given test patients that are for testing."""
CLINICAL, PROTEINS = "train_clinical_data.csv", "train_proteins.csv"
SUPPLEMENT = "supplemental_clinical_data.csv"
RATED = [VISIT, PATIENT, MONTH, *TARGETS, "upd23b_clinical_state_on_medication"]
MEASURED = [VISIT, MONTH, PATIENT, "UniProt", "NPX"]
OFFICIAL_ROWS = {CLINICAL: 2_615, SUPPLEMENT: 2_223, PROTEINS: 232_741}
MOST_POINTS = dict(zip(TARGETS, (52, 52, 132, 24), strict=True))
"""The scale of each rating begins with 0."""
LEAST_PATIENTS = 10


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    tables = {name: _read(raw / name) for name in (CLINICAL, PROTEINS, SUPPLEMENT)}
    patients = pd.unique(pd.concat([tables[CLINICAL][PATIENT], tables[SUPPLEMENT][PATIENT]]))
    new_ids = dict(zip(patients, new_numbers(len(patients), 5, rng), strict=True))
    tables = {name: _renamed(table, new_ids) for name, table in tables.items()}
    tested = _some_patients(tables[CLINICAL], TEST_SHARE, rng)

    for name, table in tables.items():
        write_table(shuffled(table[~table[PATIENT].isin(tested)], rng), public / name)
    asked = ask_ratings(tables[CLINICAL], tables[PROTEINS], tested, public, "test", rng)
    write_answers(asked, private)

    mapping = pd.DataFrame({PATIENT: list(new_ids.values()), "original": list(new_ids)})
    part = np.where(mapping[PATIENT].isin(tested), "test", "train")
    write_table(mapping.assign(part=part), private / "mapping.csv")
    if (raw / "noise_free.csv").is_file():
        noise_free = _renamed(_read(raw / "noise_free.csv"), new_ids)
        best = look_up(asked, noise_free)
        write_table(
            asked[[ID]].assign(**{RATING: best})[asked[RATING] != ""], private / "ceiling.csv"
        )


def check_raw(raw: Path) -> Findings:
    """What is different from the official tables of ratings and proteins."""
    findings = Findings()
    patients: dict[str, set[str]] = {}
    for name, rows in OFFICIAL_ROWS.items():
        columns, ids = (MEASURED, [VISIT, "UniProt"]) if name == PROTEINS else (RATED, [VISIT])
        table = findings.read_columns(raw / name, columns, rows, ids=ids)
        for target in TARGETS if name != PROTEINS else ():
            cells = table.get(target, [])
            findings.check_numbers(f"{target} of {name}", cells, 0, MOST_POINTS[target], gaps=True)
        if not {VISIT, PATIENT, MONTH} <= table.keys():
            continue
        patients[name] = set(table[PATIENT])
        wrong = sum(not month.isdecimal() for month in table[MONTH])
        findings.require(f"{MONTH} in {name} that is no whole number", wrong, 0)
        visits = zip(table[VISIT], table[PATIENT], table[MONTH], strict=True)
        wrong = sum(visit != f"{patient}_{month}" for visit, patient, month in visits)
        findings.require(f"{VISIT} in {name} that is not {PATIENT}_{MONTH}", wrong, 0)
    if len(patients) == len(OFFICIAL_ROWS):
        unknown = patients[PROTEINS] - patients[CLINICAL] - patients[SUPPLEMENT]
        findings.require(f"patients in {PROTEINS} without ratings", len(unknown), 0)
        findings.require_at_least(
            f"patients in {CLINICAL}", len(patients[CLINICAL]), LEAST_PATIENTS
        )
    return findings


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the given test patients one half is for testing, the other for training."""
    clinical, proteins = _read(given_public / CLINICAL), _read(given_public / PROTEINS)
    ratings, samples = _test_patients(given_public, given_private)
    tested = _some_patients(ratings, TESTED_AGAIN, rng)
    for name, table, more in ((CLINICAL, clinical, ratings), (PROTEINS, proteins, samples)):
        joined = more[~more[PATIENT].isin(tested)].reindex(columns=table.columns, fill_value="")
        write_table(shuffled(pd.concat([table, joined]), rng), public / name)
    shutil.copyfile(given_public / SUPPLEMENT, public / SUPPLEMENT)
    write_answers(ask_ratings(ratings, samples, tested, public, "test", rng), private)


def _test_patients(public: Path, private: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ratings and proteins of the test patients; the ratings of a visit are asked for at it."""
    asked = pd.DataFrame(read_table(private / "asked.csv", [ID, PATIENT]))
    answers = pd.DataFrame(read_table(private / "answers.csv", [ID, RATING]))
    asked = _read(public / "test.csv").merge(asked, on=ID).merge(answers, on=ID, how="left")
    asked = asked[asked["plus_months"] == "0"].fillna("")
    patient = dict(zip(asked[VISIT], asked[PATIENT], strict=True))
    visits = _read(public / "test_visits.csv")
    month = dict(zip(visits[VISIT], visits[MONTH], strict=True))
    names = {visit: patient[visit] + "_" + month[visit] for visit in patient}
    ratings = asked.pivot(index=VISIT, columns="updrs_test", values=RATING).reset_index()
    ratings = ratings.assign(
        **{PATIENT: ratings[VISIT].map(patient), MONTH: ratings[VISIT].map(month)}
    )
    samples = _read(public / "test_proteins.csv")
    samples = samples.assign(**{PATIENT: samples[VISIT].map(patient)})
    return tuple(  # type: ignore[return-value]
        table.assign(**{VISIT: table[VISIT].map(names)}) for table in (ratings, samples)
    )


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold a part of the training patients back, to be asked for a score on them during a run."""
    clinical, proteins = _read(public / CLINICAL), _read(public / PROTEINS)
    held = _some_patients(clinical, HELD_SHARE, rng)
    for file in sorted(public.iterdir()):
        if file.name not in (CLINICAL, PROTEINS):
            shutil.copyfile(file, held_public / file.name)
    for name, table in ((CLINICAL, clinical), (PROTEINS, proteins)):
        write_table(table[~table[PATIENT].isin(held)], held_public / name)
    write_answers(
        ask_ratings(clinical, proteins, held, held_public, "validation", rng), held_private
    )


def ask_ratings(
    clinical: pd.DataFrame, proteins: pd.DataFrame, patients: set[str],
    public: Path, part: str, rng: np.random.Generator,
) -> pd.DataFrame:  # fmt: skip
    """Write what is shown of these patients' visits and what is asked; return it with answers."""
    visits = shuffled(clinical[clinical[PATIENT].isin(patients)], rng)
    new_names = dict(zip(visits[VISIT], new_numbers(len(visits), 6, rng), strict=True))
    visits = visits.assign(**{VISIT: visits[VISIT].map(new_names)})
    shown = visits[[VISIT, MONTH]].assign(earlier_visits=_earlier_visits(visits))
    samples = proteins[proteins[VISIT].isin(new_names)].drop(columns=PATIENT)
    samples = samples.assign(**{VISIT: samples[VISIT].map(new_names)})

    asked = visits[[VISIT, PATIENT, MONTH]]
    asked = asked.merge(pd.DataFrame({"updrs_test": TARGETS}), how="cross")
    asked = asked.merge(pd.DataFrame({"plus_months": HORIZONS}), how="cross")
    asked = shuffled(asked, rng).reset_index(drop=True)
    asked.insert(0, ID, new_numbers(len(asked), 8, rng))
    asked[RATING] = look_up(asked, clinical)

    write_table(shown, public / f"{part}_visits.csv")
    write_table(shuffled(samples, rng), public / f"{part}_proteins.csv")
    write_table(asked[[ID, VISIT, MONTH, "updrs_test", "plus_months"]], public / f"{part}.csv")
    sample = "sample_submission.csv" if part == "test" else f"{part}_sample_submission.csv"
    write_table(asked[[ID]].assign(**{RATING: 0}), public / sample)
    return asked


def write_answers(asked: pd.DataFrame, private: Path) -> None:
    write_table(asked[[ID, PATIENT]], private / "asked.csv")
    write_table(asked.loc[asked[RATING] != "", [ID, RATING]], private / "answers.csv")


def look_up(asked: pd.DataFrame, ratings: pd.DataFrame) -> list[str]:
    """The asked ratings, as text; empty where the visit did not take place or was not rated."""
    known = {
        (patient, int(month), target): value
        for target in TARGETS
        for patient, month, value in zip(
            ratings[PATIENT], ratings[MONTH], ratings[target], strict=True
        )
    }
    later = asked[MONTH].astype(int) + asked["plus_months"]
    keys = zip(asked[PATIENT], later, asked["updrs_test"], strict=True)
    return [known.get(key, "") for key in keys]


def _earlier_visits(visits: pd.DataFrame) -> list[str]:
    """For each visit the months of the same patient's visits before it, like "0 6 12"."""
    months = visits[MONTH].astype(int).groupby(visits[PATIENT]).apply(sorted).to_dict()
    return [
        " ".join(str(earlier) for earlier in months[patient] if earlier < int(month))
        for patient, month in zip(visits[PATIENT], visits[MONTH], strict=True)
    ]


def _some_patients(clinical: pd.DataFrame, share: float, rng: np.random.Generator) -> set[str]:
    patients = sorted(set(clinical[PATIENT]))
    order = rng.permutation(len(patients))
    return {patients[place] for place in order[: round(share * len(patients))]}


def _renamed(table: pd.DataFrame, new_ids: dict[str, str]) -> pd.DataFrame:
    patients = table[PATIENT].map(new_ids)
    return table.assign(**{PATIENT: patients, VISIT: patients + "_" + table[MONTH]})


def new_numbers(count: int, digits: int, rng: np.random.Generator) -> list[str]:
    """Different random numbers of so many digits."""
    lowest = 10 ** (digits - 1)
    return [str(lowest + n) for n in rng.choice(9 * lowest, count, replace=False)]


def shuffled(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return table.iloc[rng.permutation(len(table))]


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False).astype(object)


def write_table(table: pd.DataFrame, file: Path) -> None:
    table.to_csv(file, index=False, lineterminator="\n")
