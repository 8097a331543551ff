"""Which columns are asked for, and how texts are."""

from pathlib import Path

import numpy as np
import pandas as pd
from prepared import table, write_data

from mlagentbench.task_checks.memorisation.memory_guesses import GuessingTable
from mlagentbench.task_checks.memorisation.memory_questions import (
    SHOWN_WORDS,
    DataSet,
    has_distinct_labels,
    text_column,
    text_questions,
    why_no_questions,
    words_of,
)
from mlagentbench.task_checks.memorisation.memory_verdict import check_reply
from mlagentbench.task_checks.memorisation.source_tables import SourceTable, source_tables

ROWS = 300


def numbers(**columns: object) -> SourceTable:
    rows = pd.DataFrame(columns).astype(str)
    return SourceTable("train.csv", rows, ("id",), [False] * len(rows), None)


def test_a_column_that_follows_from_others_is_not_asked_for() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 10_000, (2, ROWS))
    kinds = rng.integers(0, 20, ROWS)
    made = {"id": range(ROWS), "count": range(7, 7 + ROWS), "kind": kinds}
    guessable = numbers(**made, first=first, second=second, total=first + second)
    assert GuessingTable(guessable).hardest_column() is None
    hard = GuessingTable(numbers(**made, first=first, second=second)).hardest_column()
    assert hard is not None and hard.name in ("first", "second") and hard.chance < 0.05


def test_a_table_of_repeated_rows_is_not_asked_for() -> None:
    values = np.random.default_rng(2).integers(0, 10_000, ROWS)
    key = np.arange(ROWS) % 100
    repeated = numbers(id=range(ROWS), kind=key, value=values[key])
    assert GuessingTable(repeated).hardest_column() is None


def test_ids_that_begin_with_the_mapped_one_are_restored(tmp_path: Path) -> None:
    data = write_data(
        tmp_path,
        {
            "train_visits.csv": table(
                "visit,patient,month", ["90_12", "91_0", "90_3"], [90, 91, 90], [12, 0, 3]
            ),
            "test_visits.csv": table("visit,month", [5], [0]),
        },
        {"mapping.csv": table("patient,original,part", [91, 90], [1, 2], ["train"] * 2)},
    )
    (visits,) = source_tables(data.public, data.private)
    assert visits.rows.to_csv(index=False) == "visit,patient,month\n1_0,1,0\n2_3,2,3\n2_12,2,12\n"
    assert visits.keys == ("patient", "visit") and not any(visits.held_out)


def test_few_labels_are_not_asked_for() -> None:
    rows = numbers(id=range(ROWS))
    assert not has_distinct_labels(rows._replace(labels=pd.DataFrame({"y": ["0", "1"] * 150})))
    many = pd.DataFrame({"y": list(map(str, range(ROWS)))})
    assert has_distinct_labels(rows._replace(labels=many))


def test_the_reason_why_nothing_is_asked_is_the_real_one() -> None:
    texts = ["word " * 20 + str(number) for number in range(ROWS)]
    assert why_no_questions([numbers(id=range(ROWS), text=texts)]) == (
        "the texts in train.csv are too short: half of them should have 100 words or more (median: "
        "text (21)); no other column has values that are hard to guess"
    )
    few = numbers(id=[7], text=["word " * 200])
    assert why_no_questions([few]) == "train.csv has only 1 row, and 50 are needed"
    easy = numbers(id=range(ROWS), count=range(ROWS))
    hard_to_find = "no column of train.csv has values that are hard to guess"
    assert why_no_questions([easy]) == hard_to_find
    assert why_no_questions([few, easy]).endswith(f"50 are needed; {hard_to_find}")
    assert why_no_questions([]) == "no public file train*.csv has rows"


def test_rows_follow_from_the_seed() -> None:
    data = DataSet("one", "One", numbers(id=range(ROWS)), control=False)
    places = data.eligible()
    first = data.sample("feature", places, 20, seed=0)
    assert first == data.sample("feature", places, 20, seed=0) and len(set(first)) == 20
    assert first != data.sample("feature", places, 20, seed=1)
    assert first != data._replace(task="two").sample("feature", places, 20, seed=0)


def test_texts_are_continued() -> None:
    rng = np.random.default_rng(3)
    texts = [" ".join(f"Word{n}," for n in rng.integers(0, 900, 150)) for _ in range(40)]
    texts[30] = texts[31]
    rows = pd.DataFrame({"id": map(str, range(40)), "text": texts})
    essays = SourceTable("train.csv", rows, ("id",), [place >= 20 for place in range(40)], None)
    assert text_column(essays) == "text"
    data = DataSet("one", "One", essays, control=False)
    found = list(text_questions(data, "text", 20, seed=0))
    assert [one.row for one in found] == [f"row {place + 1} {place}" for place in range(20, 40)]
    for place, one in enumerate(found, start=20):
        words = words_of(texts[place])
        assert words_of(one.shown[0]) == words[:SHOWN_WORDS] and one.shown[0] in one.prompt
        assert check_reply(one, " ".join(words)).matched
        assert not check_reply(one, " ".join(words[SHOWN_WORDS + 1 :])).matched
        assert (one.guesses["as in another text"] == one.expected) == (place in (30, 31))
