"""What `mlagentbench report` prints: the agents over all tasks, what is missing, where to look."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, islice

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from mlagentbench.grading.rungs import RUNGS
from mlagentbench.numeric.number_format import (
    NOTHING,
    counted,
    fixed,
    interval_text,
    normalised_text,
    p_text,
    percent_interval_text,
    percent_text,
    signed,
    tokens_text,
)
from mlagentbench.records import Rung
from mlagentbench.report import collect_runs
from mlagentbench.report.report import WrittenReport
from mlagentbench.report.report_data import Collection
from mlagentbench.statistics.comparison import Comparison
from mlagentbench.statistics.experimentation_gain import (
    ExperimentationGain,
    GainReport,
    GainStatistics,
)
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard, SuiteMean
from mlagentbench.statistics.reference_rows import FROM_MEASURED
from mlagentbench.statistics.tiers.mini_and_hard import MiniAndHard, notes_of
from mlagentbench.statistics.tiers.rank_agreement import RankAgreement
from mlagentbench.terminal import Terminal, print_json, text_block, text_line
from mlagentbench.untrusted_text import one_line, shown_path

MOST_LEADERBOARDS = 6
MOST_NAMED = 5
LEGEND = """
counted: of all runs; the others were lost to infrastructure failures
success: runs that reach the bar, mean over tasks; paper: by the paper's rule
[95 % interval]: how much other runs on these tasks would vary
normalised: mean over tasks; 0 = floor, 1 = reference
ceiling: share of the way from floor to ceiling, mean over tasks that have one
% of runs: by the highest rung that they reach, mean over tasks
""".rstrip()


GAIN_LEGEND = """
gain: normalised score with executions minus without, mean over pairs of
runs that differ in that alone; [95 % interval]: clustered by draw
successes: with and without executions, of as many pairs
""".rstrip()


TIERS_LEGEND = """
mini and hard: of each agent, over the tasks with counted runs in both tiers
"""
AGREEMENT_LEGEND = """
tau-b: of the agents' mean normalised scores in hard and in full, without
reference agents; 1 = the same order, 0 = unrelated, -1 = reversed
"""


@contextmanager
def reading_progress() -> Iterator[collect_runs.Progress]:
    """A bar on stderr while many runs are read; it leaves nothing behind."""
    console = Terminal(stderr=True)
    columns = (TextColumn("reading runs"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("reading")

    def show(done: int, total: int) -> None:
        if not bar.live.is_started:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


def print_report(written: WrittenReport, *, as_json: bool = False) -> None:
    if as_json:
        _print_json(written)
    else:
        _print_tables(written, Terminal())


def _print_tables(written: WrittenReport, console: Terminal) -> None:
    leaderboards = written.data.leaderboards
    shown = zip(leaderboards, written.data.comparisons, strict=True)
    for leaderboard, comparisons in islice(shown, MOST_LEADERBOARDS):
        tasks = counted(len(leaderboard.tasks), "task")
        console.heading(f"{leaderboard.name}: {tasks}")
        console.print(_table(leaderboard))
        console.print()
        console.print(_rungs(leaderboard))
        for line in _primary_pairs(comparisons):
            console.print(line)
        for note in leaderboard.notes:
            console.print(f"  {note}", style="dim")
    if len(leaderboards) > MOST_LEADERBOARDS:
        console.print()
        more = counted(len(leaderboards) - MOST_LEADERBOARDS, "more table")
        console.print(f"{more} in the report")
    console.print(text_block(LEGEND, "dim"))
    _print_tiers(written.data.mini_and_hard, console)
    for agreement in written.data.rank_agreement.agreements:
        _print_agreement(agreement, console)
    _print_gains(written.data.experimentation, console)
    console.print()
    for line in _counts(written.data.collection):
        console.print(line, soft_wrap=True)
    for folder in dict.fromkeys(file.parent for file in written.exports):
        console.print(f"{folder.name}: {shown_path(folder)}", soft_wrap=True)
    console.print(f"report: {shown_path(written.index)}", soft_wrap=True)


def _print_tiers(agents: Sequence[MiniAndHard], console: Terminal) -> None:
    """What agents reach in mini and in hard, one above the other."""
    if not agents:
        return
    console.heading("mini and hard")
    console.print(_tier_table(agents))
    console.print()
    rungs = _rung_table()
    for one in agents:
        for found in one.tiers:
            name = _name_block(f"{found.tier}: {one.agent}", one.model)
            rungs.add_row(name, *_shares(found.rungs), style="dim" if found.greyed else None)
    console.print(rungs)
    for note in notes_of(agents):
        console.print(f"  {note}", style="dim")
    console.print(text_block(TIERS_LEGEND.rstrip(), "dim"))


def _tier_table(agents: Sequence[MiniAndHard]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("agent", overflow="fold")
    for name in ("counted", "success %", "normalised", "ceiling %"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in agents:
        for found in one.tiers:
            table.add_row(
                _name_block(f"{found.tier}: {one.agent}", one.model),
                f"{found.counted}/{found.runs}",
                _percent(found.success),
                f"{normalised_text(found.normalised.mean)} "
                f"{interval_text(found.normalised.on_these_tasks)}".rstrip(),
                _percent(found.ceiling_share),
                style="dim" if found.greyed else None,
            )
    return table


def _print_agreement(found: RankAgreement, console: Terminal) -> None:
    """Whether hard and full rank agents alike, task by task."""
    console.heading(f"rank agreement: {found.hard}; {found.full}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("task", overflow="fold")
    for name in ("agents", "tau-b"):
        table.add_column(name, justify="right", no_wrap=True)
    for task in found.tasks:
        table.add_row(text_line(task.task), str(len(task.agents)), fixed(task.tau, 2))
    if len(found.tasks) > 1:
        mean = f"mean over {counted(found.tasks_with_tau, 'task')}"
        table.add_row(mean, str(found.agents), fixed(found.tau, 2))
    console.print(table)
    for task in found.tasks:
        if task.note:
            console.print(f"  {task.task}: {task.note}", style="dim")
    console.print(text_block(AGREEMENT_LEGEND.rstrip(), "dim"))
    console.print(found.caution, style="dim")


def _print_gains(report: GainReport, console: Terminal) -> None:
    """What executing is worth to each agent, and the runs without a pair."""
    for data, group in groupby(report.gains, key=lambda one: one.data):
        gains = list(group)
        console.heading(f"experimentation gain: {data}")
        console.print(_gain_table(gains))
        for one in gains:
            if one.note:
                console.print(f"  {one.name}: {one.note}", style="dim")
    if report.gains:
        console.print(text_block(GAIN_LEGEND, "dim"))
    unpaired = report.unpaired
    if unpaired:
        console.print()
        console.print(f"unpaired for the experimentation gain: {counted(len(unpaired), 'run')}")
        for run in unpaired[:MOST_NAMED]:
            console.print(f"  {run.path}: {run.reason}", soft_wrap=True)
        if len(unpaired) > MOST_NAMED:
            console.print(f"  and {len(unpaired) - MOST_NAMED} more; the report lists them")


def _gain_table(gains: Sequence[ExperimentationGain]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("agent", overflow="fold")
    table.add_column("task", overflow="fold")
    for name in ("pairs", "with", "without", "gain [95 %]", "successes"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in gains:
        lines: list[tuple[str, GainStatistics]] = [(task.task, task) for task in one.tasks]
        if len(lines) > 1:
            lines.append(("mean over tasks", one))
        for task, found in lines:
            table.add_row(text_line(one.name), text_line(task), *_gain_texts(found))
    return table


def _gain_texts(found: GainStatistics) -> Iterator[str]:
    yield str(found.pairs)
    yield normalised_text(found.with_execution)
    yield normalised_text(found.without_execution)
    yield f"{signed(found.gain, 2)} {interval_text(found.interval)}".rstrip()
    yield f"{found.successes_with}, {found.successes_without}"


def _primary_pairs(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """The pairs that the study is about, each with both p values."""
    primary = [one for one in comparisons if one.primary]
    for title in dict.fromkeys(map(_pair_title, primary)):
        yield title
        for one in (one for one in primary if _pair_title(one) == title):
            interval = f" {interval_text(one.interval, 3)}" if one.interval else ""
            p_values = f"p {p_text(one.p)}, corrected for all pairs {p_text(one.p_holm)}"
            yield f"  {one.measure} {signed(one.difference, 3)}{interval}, {p_values}"


def _pair_title(one: Comparison) -> str:
    return f"primary pair, {one.primary}: {one.first} minus {one.second}"


def _table(leaderboard: Leaderboard) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("agent", overflow="fold")
    for name in ("counted", "success %", "paper %", "normalised", "ceiling %", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in leaderboard.rows:
        table.add_row(_who(row), *_statistics(row), style="dim" if row.greyed else None)
    return table


def _rungs(leaderboard: Leaderboard) -> Table:
    """How far up the runs of each agent got, in percent of them."""
    table = _rung_table()
    for row in leaderboard.rows:
        table.add_row(_who(row), *_shares(row.rungs), style="dim" if row.greyed else None)
    return table


def _rung_table() -> Table:
    """A column for each rung, and no rows yet."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("% of runs", overflow="fold")
    for rung in RUNGS:
        lines = " ".join(rung.split()[:-1]), rung.split()[-1]
        table.add_column(text_block("\n".join(lines).lstrip()), justify="right", no_wrap=True)
    return table


def _shares(rungs: Mapping[Rung, float]) -> Iterator[str]:
    return (percent_text(rungs.get(rung), 0) for rung in RUNGS)


def _who(row: AgentStatistics) -> Text:
    return _name_block(row.agent, row.model, () if row.was_run else (FROM_MEASURED,))


def _name_block(agent: str, model: str, more: Sequence[str] = ()) -> Text:
    """An agent, and below it its model and what else there is to say."""
    below = more if model == "none" else (model, *more)
    return text_block("\n".join(map(one_line, (agent, *(f"  {text}" for text in below)))))


def _statistics(row: AgentStatistics) -> Iterator[str]:
    yield f"{row.runs - row.missing}/{row.runs}" if row.was_run else NOTHING
    yield _percent(row.success)
    yield percent_text(row.paper_success.mean, 0)
    yield normalised_text(row.normalised.mean)
    yield _percent(row.ceiling_share)
    yield tokens_text(row.tokens)


def _percent(mean: SuiteMean) -> str:
    interval = percent_interval_text(mean.on_these_tasks, 0)
    return f"{percent_text(mean.mean, 0)} {interval}".rstrip()


def _counts(collection: Collection) -> Iterator[str]:
    total, read = len(collection.runs), collection.read
    yield f"{counted(total, 'run')}, {read} of them new or changed"
    if collection.copies:
        yield f"copies of other runs, which count once: {len(collection.copies)}"
    if collection.replays:
        yield f"replays of other runs, which do not count: {len(collection.replays)}"
    marked = sum(bool(run.summary.marks) for run in collection.runs)
    if marked:
        yield f"incomplete runs, whose pages say what is missing: {marked}"
    for unreadable in collection.unreadable[:MOST_NAMED]:
        yield f"not read: {unreadable.path}: {unreadable.reason}"
    if len(collection.unreadable) > MOST_NAMED:
        yield f"and {len(collection.unreadable) - MOST_NAMED} more; the report lists them"
    for log in collection.unreadable_logs[:MOST_NAMED]:
        yield f"log not readable: {log.path}: {log.reason}"
    for altered in [run for run in collection.runs if run.summary.altered][:MOST_NAMED]:
        yield f"altered: {altered.directory}: {'; '.join(altered.summary.altered)}"


def _print_json(written: WrittenReport) -> None:
    data = written.data
    print_json(
        {
            "report": str(written.index),
            "runs": len(data.collection.runs),
            "read": data.collection.read,
            "unreadable": [one.model_dump(mode="json") for one in data.collection.unreadable],
            "copies": [one.model_dump(mode="json") for one in data.collection.copies],
            "replays": [one.model_dump(mode="json") for one in data.collection.replays],
            "leaderboards": [
                leaderboard.model_dump(mode="json") for leaderboard in data.leaderboards
            ],
            "comparisons": [
                [one.model_dump(mode="json") for one in comparisons]
                for comparisons in data.comparisons
            ],
            "mini_and_hard": [one.model_dump(mode="json") for one in data.mini_and_hard],
            "rank_agreement": data.rank_agreement.model_dump(mode="json"),
            "experimentation": data.experimentation.model_dump(mode="json"),
            "exports": [str(file) for file in written.exports],
        }
    )
