"""The table at the end of `mlagentbench run`: one line per task, agent and model."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from rich.table import Table

from mlagentbench.evaluation.results import RunResult
from mlagentbench.evaluation.stats import standard_error, wilson_interval
from mlagentbench.records import Json, Record


class Cell(Record):
    """All runs of one agent with one model on one data set of one task."""

    task: str
    tier: str
    data: str
    agent: str
    model: str
    runs: int
    graded: int
    valid: int
    successes: int
    judged: int
    paper_successes: int
    score_mean: float | None
    score_error: float | None
    normalised_mean: float | None
    normalised_error: float | None
    floor: float | None
    bar: float | None
    reference: float | None
    steps_mean: float
    seconds_mean: float
    notes: tuple[str, ...]


def cells(results: Sequence[RunResult]) -> list[Cell]:
    """The runs grouped so that tiers, seeds and data hashes never share a line."""
    groups: dict[tuple[str, ...], list[RunResult]] = defaultdict(list)
    for result in results:
        facts = result.record.disclosure
        agent = result.path.split("/")[3]
        groups[facts.task, facts.tier, facts.data_hash, agent, facts.model].append(result)
    return [_cell(group) for _, group in sorted(groups.items())]


def _cell(results: Sequence[RunResult]) -> Cell:
    facts = results[0].record.disclosure
    grades = [result.grade for result in results if result.grade is not None]
    scores = [grade.score for grade in grades if grade.score is not None]
    judged = [grade for grade in grades if grade.success is not None]
    # Without a valid submission a run stands at the floor, which is 0 on this scale.
    normal = [grade.normalised or 0.0 for grade in judged]
    return Cell(
        task=facts.task,
        tier=facts.tier,
        data=facts.data_hash,
        agent=agent_text(facts.agent, facts.agent_settings),
        model=facts.model,
        runs=len(results),
        graded=len(grades),
        valid=sum(grade.valid for grade in grades),
        successes=sum(bool(grade.success) for grade in judged),
        judged=len(judged),
        paper_successes=sum(bool(grade.paper_success) for grade in judged),
        score_mean=statistics.fmean(scores) if scores else None,
        score_error=standard_error(scores),
        normalised_mean=statistics.fmean(normal) if normal else None,
        normalised_error=standard_error(normal),
        floor=grades[0].floor if grades else None,
        bar=grades[0].bar if grades else None,
        reference=grades[0].reference if grades else None,
        steps_mean=statistics.fmean(result.usage.steps for result in results),
        seconds_mean=statistics.fmean(result.usage.seconds for result in results),
        notes=tuple(_notes(results)),
    )


def _notes(results: Sequence[RunResult]) -> list[str]:
    facts = results[0].record.disclosure
    notes = [] if facts.data_verified else ["data unverified"]
    if facts.mini_seed is not None:
        notes.append(f"{facts.tier}, {facts.mini_seed} seed")
    if facts.sandbox != "bubblewrap":
        notes.append(f"sandbox {facts.sandbox}")
    if facts.feedback != "none":
        notes.append(f"feedback {facts.feedback}")
    missing = sum(result.grade is None for result in results)
    if missing:
        notes.append(f"{missing} not graded")
    if any(result.grade is not None and result.grade.above_ceiling for result in results):
        notes.append("above the known ceiling")
    reasons = {
        result.grade.reason or result.grade.success_reason
        for result in results
        if result.grade is not None and (not result.grade.valid or result.grade.success is None)
    }
    return notes + sorted(reason for reason in reasons if reason)


def agent_text(name: str, settings: dict[str, Json]) -> str:
    if not settings:
        return name
    return f"{name}({', '.join(f'{key}={value}' for key, value in settings.items())})"


def summary_table(lines: Sequence[Cell], *, paper: bool = False) -> Table:
    """The cells as a table for the terminal; with `paper`, the paper's rule comes first."""
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column("task", no_wrap=True)
    table.add_column("agent")
    if {line.model for line in lines} - {"none", "none/none"}:
        table.add_column("model")
    rules = ["success [95 %]", "paper's rule"]
    headings = ["runs", "valid", *(reversed(rules) if paper else rules)]
    headings += ["score", "floor", "bar", "reference", "normalised", "steps", "time"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("notes", style="dim", overflow="fold")
    for line in lines:
        models = [line.model] if any(column.header == "model" for column in table.columns) else []
        rates = [_rate(line.successes, line.judged), _rate(line.paper_successes, line.judged)]
        table.add_row(
            line.task, line.agent, *models, str(line.runs), f"{line.valid}/{line.graded}",
            *(reversed(rates) if paper else rates), _figure(line.score_mean, line.score_error),
            _figure(line.floor), _figure(line.bar), _figure(line.reference),
            _figure(line.normalised_mean, line.normalised_error, digits="+.2f"),
            f"{line.steps_mean:g}", _duration(line.seconds_mean), "; ".join(line.notes),
        )  # fmt: skip
    return table


def _rate(successes: int, n: int) -> str:
    if n == 0:
        return "-"
    interval = wilson_interval(successes, n)
    return f"{successes}/{n} [{interval.low:.2f}-{interval.high:.2f}]"


def _figure(value: float | None, error: float | None = None, digits: str = ".4g") -> str:
    if value is None:
        return "-"
    plus_minus = "" if error is None else f" ± {error:.2g}"
    return f"{value:{digits}}{plus_minus}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
