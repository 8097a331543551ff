"""When a task is saturated or untouched, and when that is not known."""

import pytest
from made_runs import runs_of

from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.task_standing import task_standing


@pytest.mark.parametrize(
    ("react", "research", "kind"),
    [
        ("+", "", "too few runs"),
        ("++++++++++++++++", "", "too few runs"),
        ("++++", "+++", "too few runs"),
        ("++++", "++++", "saturated"),
        ("++++", "+++-", "saturated"),
        ("++++", "++--", "between"),
        ("+---", "----", "untouched"),
        ("----", "----", "untouched"),
        ("----", "---", "too few runs"),
        ("++++++++", "--------", "between"),
    ],
)
def test_it_takes_eight_runs_by_two_agents(react: str, research: str, kind: str) -> None:
    runs = [
        one
        for agent, signs in (("react", react), ("research", research))
        for one in runs_of(agent, {"a": [0.9 if sign == "+" else 0.1 for sign in signs]})
    ]
    assert task_standing(cell_statistics(runs)).kind == kind
