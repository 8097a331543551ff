"""The tables of tasks by agents: what each cell says beside its number."""

import pytest
from made_runs import graded, on_measured_data, run, runs_of

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.report.published_results import published_rows
from mlagentbench.report.site.pages.heatmap import HeatTable, heat_tables
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards


def tables_of(*summaries: RunSummary) -> dict[str, HeatTable]:
    [leaderboard] = leaderboards(cell_statistics(summaries))
    return {table.key: table for table in heat_tables(leaderboard, ())}


def test_each_rule_s_table_has_its_own_bounds_for_missing_runs() -> None:
    """0.2 is more than 10 % better than the starter, but below the bar."""
    lost = run(4, None, outcome=None, task="a", agent="react")
    tables = tables_of(*runs_of("react", {"a": [0.2, 0.2, 0.9]}), lost)
    [ours] = tables["success"].parts[0].rows[0].cells
    [papers] = tables["paper-success"].parts[0].rows[0].cells
    assert ours.below[-2:] == ("1 of 4 missing", "bounds [25, 50] %")
    assert papers.below[-2:] == ("1 of 4 missing", "bounds [75, 100] %")


def test_published_columns_have_the_mean_over_the_tasks_shown_and_the_paper_s_apart() -> None:
    runs = runs_of("react", {task: [0.9, 0.2] for task in ("cifar10", "imdb", "my-task")})
    [leaderboard] = leaderboards(cell_statistics(runs))
    for table in heat_tables(leaderboard, published_rows()):
        if table.key not in ("paper-success", "paper-improvement"):
            assert [row.task for row in table.parts[0].summaries] == ["mean over the tasks shown"]
            continue
        [part] = table.parts
        shown, own = part.summaries
        opus = [column.name for column in part.columns].index("Claude v3 Opus")
        over_shown = (62.5 + 25.0, 18.5 + 82.0)[table.key == "paper-improvement"] / 2
        assert shown.task == "mean over the tasks shown"
        assert shown.cells[opus].value == pytest.approx(over_shown / 100)
        assert shown.cells[opus].below == ("2 tasks",)
        assert own.task == "the paper's mean over its 13 tasks"
        assert own.cells[opus].text == ("37.5 %", "26.1 %")[table.key == "paper-improvement"]
        assert own.cells[0].text == "" and own.cells[0].value is None


def test_our_agents_have_a_mean_improvement() -> None:
    tables = tables_of(*runs_of("react", {"a": [0.5], "b": [0.25]}))
    [mean] = tables["paper-improvement"].parts[0].summaries
    assert mean.cells[0].value == pytest.approx((0.4 + 0.2) / 2)
    assert mean.cells[0].below[0] == "2 tasks"


def test_what_nobody_ran_was_measured_beforehand() -> None:
    facts = on_measured_data("house-price")
    [leaderboard] = leaderboards(cell_statistics([run(1, graded(0.9), **facts)]))
    for table in heat_tables(leaderboard, ()):
        [part] = table.parts
        for column, cell in zip(part.columns, part.rows[0].cells, strict=True):
            if column.kind == "reference-agent":
                assert "measured beforehand" in column.below
                told = " ".join(cell.below)
                assert "measured beforehand" in told or cell.text == "-"
                assert " of 0" not in told and "1 run" not in told and "0 run" not in told
