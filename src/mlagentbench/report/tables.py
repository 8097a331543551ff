"""The tables at the end of `mlagentbench run`: per task, one line for each agent and model."""

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from mlagentbench.evaluation.cells import Rate
from mlagentbench.evaluation.results import RunResult
from mlagentbench.evaluation.stats import standard_error, wilson_interval
from mlagentbench.records import Disclosure, Grade, Json, Record
from mlagentbench.report.formats import duration_text, figure_text, normalised_text, rate_text

NARROW = 100
"""Columns of a terminal below which names of models are broken at the provider."""


class Cell(Record):
    """All runs of one agent with one model on one data set of one task."""

    task: str
    address: str
    metric: str
    tier: str
    data: str
    data_words: str
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
    lines = [_cell(group) for _, group in sorted(groups.items())]
    return sorted(lines, key=lambda one: (one.task, one.tier, one.data, one.agent, one.model))


def _cell(results: Sequence[RunResult]) -> Cell:
    facts = results[0].record.disclosure
    grades = [result.grade for result in results if result.grade is not None]
    scores = [grade.score for grade in grades if grade.score is not None]
    judged = [grade for grade in grades if grade.success is not None]
    # Without a valid submission a run stands at the floor, which is 0 on this scale.
    normal = [grade.normalised or 0.0 for grade in judged]
    return Cell(
        task=facts.task,
        address=results[0].record.task_path,
        metric=_metric(facts.metric, facts.better),
        tier=facts.tier,
        data=facts.data_hash,
        data_words=_data_words(facts),
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
    notes = []
    if facts.sandbox != "bubblewrap":
        notes.append(f"sandbox {facts.sandbox}")
    if facts.feedback != "none":
        notes.append(f"feedback {facts.feedback}")
    notes += _who_answered(results)
    notes += tool_notes([result.grade for result in results if result.grade is not None])
    missing = sum(result.grade is None for result in results)
    if missing:
        notes.append(f"{missing} not graded")
    if any(result.grade is not None and result.grade.above_ceiling for result in results):
        notes.append("above the known ceiling")
    grades = [result.grade for result in results if result.grade is not None]
    reasons = {grade.reason for grade in grades if grade.reason is not None}
    warnings = {str(grade.extra["warning"]) for grade in grades if "warning" in grade.extra}
    return notes + sorted(reasons) + sorted(warnings)


def _who_answered(results: Sequence[RunResult]) -> list[str]:
    """Who answered where it was no model, and how far a recording fitted what was asked."""
    said = dict.fromkeys(result.record.disclosure.answered_by for result in results)
    notes = [f"answers: {by}" for by in said if by not in ("model", "nobody")]
    recorded = [result.recorded for result in results if result.recorded is not None]
    if recorded:
        matched, given = sum(one.matched for one in recorded), sum(one.given for one in recorded)
        notes.append(f"replies matched {matched} of {given}")
    return notes


def tool_notes(grades: Sequence[Grade]) -> list[str]:
    """What grading used of the model that the submitted programs ask, apart from the runs."""
    used = [grade.tool for grade in grades if grade.tool is not None]
    if not used:
        return []
    mean = {
        name: statistics.fmean(getattr(one, name) for one in used)
        for name in ("calls", "kept", "input_tokens", "output_tokens", "searches")
    }
    tokens = mean["input_tokens"] + mean["output_tokens"]
    return [
        f"tool model {used[0].model}; a grading used {mean['calls']:,.0f} replies "
        f"({mean['kept']:,.0f} of them kept from before), {tokens:,.0f} tokens and "
        f"{mean['searches']:,.0f} searches"
    ]


def _data_words(facts: Disclosure) -> str:
    seed = "" if facts.mini_seed is None else f", {facts.mini_seed} seed"
    return f"{facts.tier}{seed}{'' if facts.data_verified else ', unverified'}"


def _metric(name: str, better: str) -> str:
    return f"{name}, {better} is better"


def agent_text(name: str, settings: dict[str, Json]) -> str:
    """An agent as a person types it, with its settings."""
    if not settings:
        return name
    shown = (f"{key}={_setting_text(value)}" for key, value in settings.items())
    return f"{name}({', '.join(shown)})"


def _setting_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def print_tables(console: Console, lines: Sequence[Cell], *, paper: bool = False) -> None:
    """A table for each task and data set; with `paper`, the paper's rule comes first."""
    with_model = any(line.model != "none" for line in lines)
    for _, group in groupby(lines, key=lambda line: (line.task, line.tier, line.data)):
        members = list(group)
        console.print()
        for text in _heading(members[0]):
            console.print(text, highlight=False, soft_wrap=True)
        narrow = console.width < NARROW
        console.print(_table(members, with_model, paper, narrow))
        for line in members:
            for note in line.notes:
                console.print(f"  {line.agent}: {note}", style="dim", highlight=False, markup=False)


def _heading(line: Cell) -> tuple[str, str]:
    figures = "floor and bar not measured on this data" if line.graded else "not graded"
    if line.floor is not None:
        figures = (
            f"floor {figure_text(line.floor)}, bar {figure_text(line.bar)}, "
            f"reference {figure_text(line.reference)}"
        )
    return f"[bold]{line.task}[/bold] ({line.data_words}): {line.metric}", figures


def _model(name: str, narrow: bool) -> str:
    """A model's name; on a narrow terminal its provider has a line of its own, or none if ours."""
    return name.removeprefix("mlagentbench/").replace("/", "/\n", 1) if narrow else name


def _table(lines: Sequence[Cell], with_model: bool, paper: bool, narrow: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("agent", overflow="fold")
    if with_model:
        table.add_column("model", overflow="fold")
    rules = ["success [95 %]", "paper"]
    names = ["valid", *(reversed(rules) if paper else rules), "score", "normalised", "time"]
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for line in lines:
        paper_rate = f"{line.paper_successes}/{line.judged}" if line.judged else "-"
        rates = [_rate(line.successes, line.judged), paper_rate]
        table.add_row(
            line.agent, *([_model(line.model, narrow)] if with_model else []),
            f"{line.valid}/{line.runs}", *(reversed(rates) if paper else rates),
            figure_text(line.score_mean, line.score_error),
            normalised_text(line.normalised_mean, line.normalised_error),
            duration_text(line.seconds_mean),
        )  # fmt: skip
    return table


def _rate(successes: int, n: int) -> str:
    rate = successes / n if n else None
    interval = wilson_interval(successes, n)
    return rate_text(Rate(successes=successes, n=n, rate=rate, interval=interval))
