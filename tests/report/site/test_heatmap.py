"""The tables of tasks by agents: what each cell says beside its number."""

from made_runs import run, runs_of

from mlagentbench.analysis.run_summary import RunSummary
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
