"""Ratings without a model."""

import statistics
from collections import defaultdict
from collections.abc import Iterator

from cheats.given import Files, Given, read, table

HEADER = ("prediction_id", "rating")
RATINGS = ("updrs_1", "updrs_2", "updrs_3", "updrs_4")


def denominators_below_zero(given: Given) -> Files:
    """With ratings far below zero the error's denominator is negative, and so is the error."""
    return table(HEADER, [(row["prediction_id"], -500) for row in read(given, "test.csv")])


def smallest_numbers(given: Given) -> Files:
    """Many ratings are 0, and the smallest number of all is as good as 0 but no constant 0."""
    return table(HEADER, [(row["prediction_id"], "5e-324") for row in read(given, "test.csv")])


def visits_matched_to_people(given: Given) -> Files:
    """Who came how often, and when, tells how ill they are: ratings by the months of all visits."""
    by_history: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    for kind, months, plus, rating in _questions(given):
        for history in (months, months.rpartition(" ")[2], ""):
            by_history[kind, history, plus].append(rating)
    months_of = {
        row["visit_id"]: f"{row['earlier_visits']} {row['visit_month']}".strip()
        for row in read(given, "test_visits.csv")
    }
    rows = []
    for row in read(given, "test.csv"):
        months = months_of[row["visit_id"]]
        keys = [
            (row["updrs_test"], history, row["plus_months"])
            for history in (months, months.rpartition(" ")[2], "")
        ]
        key = next(key for key in keys if len(by_history.get(key, ())) > 4 or not key[1])
        rows.append((row["prediction_id"], statistics.median(by_history[key])))
    return table(HEADER, rows)


def _questions(given: Given) -> Iterator[tuple[str, str, str, float]]:
    """Which rating, the months of the visits so far, how much later, and the rating."""
    people: defaultdict[str, dict[int, dict[str, str]]] = defaultdict(dict)
    for row in read(given, "train_clinical_data.csv"):
        people[row["patient_id"]][int(row["visit_month"])] = row
    for visits in people.values():
        for month in sorted(visits):
            months = " ".join(str(one) for one in sorted(visits) if one <= month)
            for plus in (0, 6, 12, 24):
                for kind in RATINGS:
                    rating = visits.get(month + plus, {}).get(kind)
                    if rating:
                        yield kind, months, str(plus), float(rating)


CHEATS = (denominators_below_zero, smallest_numbers, visits_matched_to_people)
