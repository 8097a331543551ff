"""A part of the cheats, in the tests: those that need neither torch nor a clock.

`make soak ONLY=cheats` tries all of them.
"""

from pathlib import Path

import pytest
from cheats import (
    bibtex_generation,
    feedback,
    house_price,
    literature_review_tool,
    parkinsons_disease,
    spaceship_titanic,
)
from cheats.given import Cheat
from cheats.runner import CHEATS, try_cheat

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import load_task, task_folders

QUICK: tuple[tuple[str, Cheat, str], ...] = (
    ("house-price", house_price.every_house_twice_in_wide_digits, "row ids differ: 450 unknown"),
    ("house-price", house_price.price_of_the_nearest_id, ""),
    ("spaceship-titanic", spaceship_titanic.both_fates_in_one_cell, "neither True nor False"),
    ("spaceship-titanic", spaceship_titanic.fate_of_the_nearest_group, ""),
    ("parkinsons-disease", parkinsons_disease.denominators_below_zero, "-500 is no rating"),
    ("feedback", feedback.ratings_in_a_second_row, "row ids differ"),
    ("literature-review-tool", literature_review_tool.answers_from_the_disk, ""),
    ("bibtex-generation", bibtex_generation.one_paper_under_many_keys, ""),
)
"""Each with a part of the reason why it is invalid; empty if it is scored."""


def test_every_task_has_cheats_of_its_own() -> None:
    assert set(CHEATS) == set(task_folders())
    for task, cheats in CHEATS.items():
        names = {cheat.__name__ for cheat in cheats}
        assert len(names) == len(cheats) >= 2, task
        assert all(cheat.__doc__ for cheat in cheats), task


@pytest.mark.slow
@pytest.mark.parametrize(("task", "cheat", "reason"), QUICK)
def test_a_cheat_does_not_reach_the_bar(
    task: str, cheat: Cheat, reason: str, with_shared_home: Path, tmp_path: Path
) -> None:
    loaded = load_task(task)
    outcome = try_cheat(loaded, ensure_ready(loaded, "mini", call=call_task), cheat, tmp_path)
    assert not outcome.reached_bar
    assert (outcome.reason is None) == (not reason)
    assert reason in (outcome.reason or "")
    assert (outcome.score is None) == bool(reason)
    assert outcome.normalised is None or outcome.normalised < 0.5


@pytest.mark.slow
def test_answers_would_reach_the_bar(with_shared_home: Path, tmp_path: Path) -> None:
    """That no cheat reaches it says something only if the right answers do."""
    task = load_task("house-price")
    ready = ensure_ready(task, "mini", call=call_task)
    copied = (ready.data.private / "ceiling.csv").read_text()
    _canary, answers = copied.split("\n", maxsplit=1)
    found_out = try_cheat(task, ready, lambda _: {"submission.csv": copied}, tmp_path / "copied")
    assert found_out.reason is not None and "canary" in found_out.reason
    outcome = try_cheat(task, ready, lambda _: {"submission.csv": answers}, tmp_path / "answers")
    assert outcome.reached_bar and outcome.reason is None
