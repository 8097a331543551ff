"""Marks: what a reader must know beside a cell's numbers."""

import json
import statistics
from collections import Counter
from collections.abc import Sequence

from mlagentbench.analysis.rebuilt_text import BETTER_ON_FRESH, fresh_text, with_error
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import standard_error
from mlagentbench.numeric.number_format import counted, fixed
from mlagentbench.records import Disclosure, GradeRecord, Json, RunRecord
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.sandbox.sandbox_registry import needs_mark
from mlagentbench.tasks.draws import table_text

NO_EXECUTION = "no execution"
"""Follows the name of an agent that could execute nothing, and is part of such leaderboards'."""


def agent_text(name: str, settings: dict[str, Json]) -> str:
    """An agent with its settings, as on the command line."""
    if not settings:
        return name
    texts = (f"{key}={setting_text(value)}" for key, value in settings.items())
    return f"{name}({', '.join(texts)})"


def agent_of(record: RunRecord) -> str:
    """A run's agent in tables; one that continued another agent's history has its own row.

    So has one that could execute nothing.
    """
    facts, taken = record.disclosure, record.branched_from
    name = agent_text(facts.agent, facts.agent_settings)
    name = name if facts.execution else f"{name}, {NO_EXECUTION}"
    return f"{name}, mixed history" if taken is not None and taken.mixed else name


def bare_agent(name: str) -> str:
    """The agent of a name in tables, without its settings and what follows them."""
    return name.partition("(")[0].partition(",")[0]


def setting_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def agent_with_model(agent: str, model: str) -> str:
    """Such as "react with openai/gpt-5"."""
    return agent if model == "none" else f"{agent} with {model}"


def data_description(facts: Disclosure) -> str:
    """A short description of the data, such as "mini, public draw"."""
    draws = "" if facts.draw_policy is None else f", {table_text(facts.draw_policy)}"
    profile = "" if facts.profile is None else f", {facts.profile} profile"
    return f"{facts.tier}{profile}{draws}{'' if facts.data_verified else ', unverified'}"


def cell_marks(summaries: Sequence[RunSummary]) -> tuple[str, ...]:
    """The marks of one cell's runs."""
    facts = summaries[0].result.record.disclosure
    grades = [one.result.grade for one in summaries if one.result.grade is not None]
    marks = []
    if summaries[0].result.record.origin == "legacy":
        marks.append("imported from the original's logs")
    if needs_mark(facts.sandbox):
        marks.append(f"sandbox {facts.sandbox}")
    if facts.feedback != "none":
        marks.append(f"feedback {facts.feedback}")
    if facts.rebuild_draws is not None:
        marks.append(fresh_text(facts.rebuild_draws))
        marks += _keys(summaries)
        marks += _transfer_gap(grades)
        marks += _data_in_sources(grades)
    elif facts.protocol != "standard":
        marks.append(f"protocol {facts.protocol}")
    marks += data_marks(facts)
    if facts.interactive:
        marks.append("human help available")
    marks += [f"{role}: {model}" for role, model in other_roles(facts).items()]
    marks += _answered_by(summaries)
    marks += tool_notes(grades)
    marks += _missing(summaries)
    marks += _branched(summaries)
    if any(grade.above_ceiling for grade in grades):
        marks.append("above the known ceiling")
    reasons = {grade.reason for grade in grades if grade.reason is not None}
    of_runs = dict.fromkeys(mark for one in summaries for mark in one.marks)
    return (*marks, *sorted(reasons), *_warnings(summaries), *of_runs)


def data_marks(facts: Disclosure) -> list[str]:
    """What is known against the data of a run."""
    marks = [] if facts.data_verified else ["data unverified"]
    if facts.data_differences:
        marks.append(f"not the official data: {'; '.join(facts.data_differences)}")
    return marks


def _keys(summaries: Sequence[RunSummary]) -> list[str]:
    """Whether the runs were rebuilt on the same fresh draws."""
    keys = {one.result.record.disclosure.fresh_key for one in summaries}
    return [f"fresh draws of {len(keys)} keys, so of different data"] if len(keys) > 1 else []


def _transfer_gap(grades: Sequence[GradeRecord]) -> list[str]:
    """How much better runs are on the draw that they were given than on fresh ones."""
    rebuilt = [grade.rebuilt for grade in grades if grade.rebuilt is not None]
    gaps = [one.transfer_gap for one in rebuilt if one.transfer_gap is not None]
    if not gaps:
        return []
    marks = [f"transfer gap {with_error(statistics.fmean(gaps), standard_error(gaps))}"]
    strange = sum(one.is_better_on_fresh for one in rebuilt)
    return [*marks, f"{counted(strange, 'run')} {BETTER_ON_FRESH}"] if strange else marks


def _data_in_sources(grades: Sequence[GradeRecord]) -> list[str]:
    """How many programs carry data that may be weights or predictions."""
    rebuilt = [grade.rebuilt for grade in grades if grade.rebuilt is not None]
    runs = sum(bool(one.literals) for one in rebuilt)
    return [f"large literals in the sources of {counted(runs, 'run')}"] if runs else []


def _warnings(summaries: Sequence[RunSummary]) -> list[str]:
    """The graders' warnings, each with the numbers of its runs, unless it is about all of them."""
    runs: dict[str, list[int]] = {}
    for result in (one.result for one in summaries):
        if result.grade is not None and "warning" in result.grade.extra:
            warning = str(result.grade.extra["warning"])
            runs.setdefault(warning, []).append(result.record.epoch)
    marks = []
    for warning, epochs in runs.items():
        word = "run" if len(epochs) == 1 else "runs"
        named = f"{word} {', '.join(map(str, sorted(epochs)))}: "
        marks.append(warning if len(epochs) == len(summaries) > 1 else named + warning)
    return sorted(marks)


def other_roles(facts: Disclosure) -> dict[str, str]:
    """The roles with another model than the main one."""
    return {role: model for role, model in sorted(facts.roles.items()) if model != facts.model}


def tool_notes(grades: Sequence[GradeRecord]) -> list[str]:
    """What the submitted programs used of their tool model during grading."""
    used = [grade.tool for grade in grades if grade.tool is not None]
    if not used:
        return []
    mean = {
        name: statistics.fmean(getattr(one, name) for one in used)
        for name in ("calls", "cached_calls", "input_tokens", "output_tokens", "searches")
    }
    tokens = mean["input_tokens"] + mean["output_tokens"]
    return [
        f"tool model {used[0].model}; one grading used "
        f"{counted(round(mean['calls']), 'reply', 'replies')} "
        f"({fixed(mean['cached_calls'])} of them stored earlier), "
        f"{counted(round(tokens), 'token')} and "
        f"{counted(round(mean['searches']), 'search', 'searches')}"
    ]


def _answered_by(summaries: Sequence[RunSummary]) -> list[str]:
    """Who answered instead of a model, and how many recorded replies matched."""
    answerers = dict.fromkeys(one.result.record.disclosure.answered_by for one in summaries)
    marks = [f"answers: {by}" for by in answerers if by not in ("model", "nobody")]
    recorded = [one.result.recorded for one in summaries if one.result.recorded is not None]
    if recorded:
        matched, given = sum(one.matched for one in recorded), sum(one.given for one in recorded)
        marks.append(f"replies matched {matched} of {given}")
    return marks


def _missing(summaries: Sequence[RunSummary]) -> list[str]:
    causes = [cause_of(one.result) for one in summaries]
    reasons = Counter(cause.reason for cause in causes if cause.verdict == "missing")
    if not reasons:
        return []
    texts = [reason if n == 1 else f"{reason} ({n})" for reason, n in reasons.items()]
    return [f"{reasons.total()} of {len(summaries)} missing: {', '.join(texts)}"]


def _branched(summaries: Sequence[RunSummary]) -> list[str]:
    histories = len({one.cluster for one in summaries})
    if histories == len(summaries):
        return []
    runs = counted(len(summaries), "run")
    return [f"{runs} of {counted(histories, 'history', 'histories')}: each history counts once"]
