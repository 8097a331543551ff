"""Families of runs: the sets of branches, and their differences from the parent and each other."""

from typing import Any

import pytest
from made_records import made_record, made_summary

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.records import BranchPoint, GradeRecord
from mlagentbench.statistics.branches import branch_sets, set_comparisons

PARENT = "runs/house-price/full/react-00000000/openai_small/1"


def made(
    folder: str,
    number: int,
    normalised: float | None,
    step: int | None = None,
    edited: str | None = None,
    **facts: Any,
) -> RunSummary:
    point = None if step is None else BranchPoint(run=PARENT, step=step, edited=edited)
    update = {"branched_from": point, "seed": 100 + number}
    record = made_record(epoch=number, **facts).model_copy(update=update)
    grade = GradeRecord(
        step=9,
        valid=normalised is not None,
        score=None if normalised is None else 10 * normalised,
        normalised=normalised,
        success=(normalised or 0.0) >= 0.5,
    )
    summary = made_summary(record=record, grade=grade)
    path = PARENT if step is None else f"runs/house-price/full/{folder}/openai_small/{number}"
    return summary.model_copy(update={"result": summary.result.model_copy(update={"path": path})})


def test_branches_are_compared_with_their_parent() -> None:
    parent = made("", 1, 0.5)
    same = [made("react-1", number, 0.5 + number / 10, 3) for number in (1, 2, 3, 4, 5)]
    edited = [made("react-2", 1, None, 7, edited="abcdef0123")]
    first, second = branch_sets(parent, [*reversed(same), *edited])
    assert (first.name, first.point.step) == ("react; with openai/small", 3)
    assert [run.path.rpartition("/")[2] for run in first.runs] == ["1", "2", "3", "4", "5"]
    assert (first.successes, first.decided) == (5, 5)
    gained = first.against_parent
    assert gained.normalised == pytest.approx(0.3) and gained.score == pytest.approx(3.0)
    assert gained.normalised_interval is not None
    assert gained.normalised_interval.low < 0.3 < gained.normalised_interval.high
    assert second.name == "react; with openai/small; observation edited (abcdef)"
    lost = second.against_parent
    assert (lost.normalised, lost.normalised_pairs) == (-0.5, 1)
    assert (lost.score, lost.score_pairs, lost.score_interval) == (None, 0, None)


def test_sets_of_one_step_are_compared_seed_by_seed() -> None:
    parent = made("", 1, 0.5)
    react = [made("react-1", number, number / 10, 3) for number in (1, 2, 3)]
    act = [made("act-1", number, 0.1, 3, agent="act") for number in (2, 3, 4)]
    later = [made("react-3", 1, 0.9, 4)]
    [found] = set_comparisons(parent, [*react, *act, *later])
    assert (found.first, found.second) == ("act; with openai/small", "react; with openai/small")
    assert found.step == 3 and found.difference.normalised_pairs == 2
    assert found.difference.normalised == pytest.approx(-0.15)
