"""Experimentation gain: what executing is worth to an agent, by runs with and without it.

Two runs are a pair if they differ in that alone: same task, data, agent, model, settings and
protocol, same draw and same run number. The gain is the normalised score with executions minus that
without. Each draw of a sample counts once: the pairs on one draw are averaged first.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import Interval
from mlagentbench.records import Disclosure, Json, Record
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.statistics.cell_marks import agent_of, agent_with_model, data_description
from mlagentbench.statistics.drawn_data import draw_cluster, has_draws
from mlagentbench.statistics.permutation import TaskArms, mean_difference_interval
from mlagentbench.statistics.variants import SHARED_FACTS

OF_RUN = (SHARED_FACTS - {"execution"}) | {"variant", "interactive", "gpus"}
"""What the runs of a pair share besides their task, data and number."""
OF_TASK = {"task_version", "limits"}
"""What of this may differ between the tasks of an agent."""


class GainStatistics(Record):
    """The gain over some pairs, the mean scores that it is the difference of, and successes."""

    gain: float
    interval: Interval | None
    """From the spread of the paired differences between draws, or between pairs on one data set;
    None below two of them, or without any spread."""
    with_execution: float
    without_execution: float
    pairs: int
    clusters: int
    """What is independent of each other: draws, or pairs on one data set."""
    successes_with: int
    successes_without: int


class TaskGain(GainStatistics):
    """The gain on one task."""

    task: str


class ExperimentationGain(GainStatistics):
    """The gain of one agent with one model: the mean over tasks, each with the same weight."""

    data: str
    """Such as "mini, draws 100..107"."""
    agent: str
    model: str
    tasks: tuple[TaskGain, ...]
    note: str = ""

    @property
    def name(self) -> str:
        """The agent with its model, in one line."""
        return agent_with_model(self.agent, self.model)


class UnpairedRun(Record):
    """A run that is part of no pair, and why."""

    out: str
    path: str
    execution: bool
    reason: str


class GainReport(Record):
    """The gains of all agents that ran with and without executions, and the unpaired runs.

    Runs with executions are unpaired only if their agent also ran without on their task.
    """

    gains: tuple[ExperimentationGain, ...] = ()
    unpaired: tuple[UnpairedRun, ...] = ()


class _GainPair(Record):
    cluster: str
    executed: RunSummary
    other: RunSummary

    @property
    def values(self) -> tuple[float, float]:
        return _worth(self.executed), _worth(self.other)


def experimentation_gains(summaries: Sequence[RunSummary]) -> GainReport:
    """The gains of all agents that ran with and without executions."""
    if all(one.result.record.disclosure.execution for one in summaries):
        return GainReport()
    groups: dict[str, list[RunSummary]] = defaultdict(list)
    for one in summaries:
        groups[_text(_facts(one))].append(one)
    by_agent: dict[str, dict[str, list[_GainPair]]] = defaultdict(dict)
    unpaired: list[UnpairedRun] = []
    for members in groups.values():
        if all(one.result.record.disclosure.execution for one in members):
            continue
        pairs, left = _paired(members)
        unpaired += [_unpaired(one, summaries) for one in left]
        if pairs:
            facts = _facts(members[0])
            task = str(facts.pop("task"))
            shared = {name: value for name, value in facts.items() if name not in OF_TASK}
            by_agent[_text(shared)].setdefault(task, []).extend(pairs)
    gains = (_gain(tasks) for tasks in by_agent.values())
    return GainReport(
        gains=tuple(sorted(gains, key=lambda one: (one.data, one.agent, one.model))),
        unpaired=tuple(sorted(unpaired, key=lambda one: (one.out, one.path))),
    )


def _facts(run: RunSummary) -> dict[str, Json]:
    """What two runs must share to differ in executions only, besides data and number."""
    record = run.result.record
    branch = record.branched_from
    return {
        **record.disclosure.model_dump(mode="json", include=OF_RUN | {"task"}),
        "branched_from": None if branch is None else branch.model_dump(mode="json"),
    }


def _text(facts: dict[str, Json]) -> str:
    return json.dumps(facts, sort_keys=True)


def _paired(runs: Sequence[RunSummary]) -> tuple[list[_GainPair], list[RunSummary]]:
    """The pairs among runs that share all but executions, data and number; and the others."""
    places: dict[tuple[str, str, int], tuple[list[RunSummary], list[RunSummary]]] = defaultdict(
        lambda: ([], [])
    )
    left = [one for one in runs if not _counts(one)]
    for one in (one for one in runs if _counts(one)):
        facts = one.result.record.disclosure
        place = places[facts.draw or "", facts.data_hash, one.result.record.epoch]
        place[0 if facts.execution else 1].append(one)
    pairs: list[_GainPair] = []
    for arms in places.values():
        executed, others = (sorted(arm, key=lambda one: (one.out, one.result.path)) for arm in arms)
        for first, second in zip_longest(executed, others):
            if first is None or second is None:
                left.append(first or second)
            else:
                cluster = _cluster(first.result.record.disclosure, len(pairs))
                pairs.append(_GainPair(cluster=cluster, executed=first, other=second))
    return pairs, left


def _counts(run: RunSummary) -> bool:
    grade = run.result.grade
    is_known = grade is not None and grade.success is not None
    return is_known and cause_of(run.result).verdict == "counts"


def _cluster(facts: Disclosure, place: int) -> str:
    return draw_cluster(facts.draw, facts.data_hash) if has_draws(facts) else str(place)


def _worth(run: RunSummary) -> float:
    """A run without a valid submission has the floor's score, which is 0 on this scale."""
    grade = run.result.grade
    return 0.0 if grade is None else grade.normalised or 0.0


def _succeeded(run: RunSummary) -> bool:
    return run.result.grade is not None and bool(run.result.grade.success)


def _gain(tasks: dict[str, list[_GainPair]]) -> ExperimentationGain:
    arms = {task: _arms(pairs) for task, pairs in sorted(tasks.items())}
    pairs = [pair for of_task in tasks.values() for pair in of_task]
    record = pairs[0].executed.result.record
    keys = [
        {run.result.record.disclosure.fresh_key for run in (pair.executed, pair.other)}
        for pair in pairs
    ]
    different = any(len(both) > 1 for both in keys)
    return ExperimentationGain(
        **_statistics(pairs, list(arms.values())).model_dump(),
        data=data_description(record.disclosure),
        agent=agent_of(record),
        model=record.disclosure.model,
        tasks=tuple(
            TaskGain(task=task, **_statistics(tasks[task], [both]).model_dump())
            for task, both in arms.items()
        ),
        note="some pairs were rebuilt on the fresh draws of different keys" if different else "",
    )


def _arms(pairs: Sequence[_GainPair]) -> TaskArms:
    """The pairs of one task, with one value for each cluster."""
    clusters: dict[str, list[_GainPair]] = defaultdict(list)
    for pair in pairs:
        clusters[pair.cluster].append(pair)
    means = [
        tuple(statistics.fmean(pair.values[arm] for pair in group) for group in clusters.values())
        for arm in (0, 1)
    ]
    return TaskArms(first=means[0], second=means[1], shared=len(clusters))


def _statistics(pairs: Sequence[_GainPair], tasks: Sequence[TaskArms]) -> GainStatistics:
    """Over these pairs, which are the values of these tasks."""
    return GainStatistics(
        gain=statistics.fmean(task.difference for task in tasks),
        interval=mean_difference_interval(tasks),
        with_execution=statistics.fmean(statistics.fmean(task.first) for task in tasks),
        without_execution=statistics.fmean(statistics.fmean(task.second) for task in tasks),
        pairs=len(pairs),
        clusters=sum(task.shared for task in tasks),
        successes_with=sum(_succeeded(pair.executed) for pair in pairs),
        successes_without=sum(_succeeded(pair.other) for pair in pairs),
    )


def _unpaired(run: RunSummary, summaries: Sequence[RunSummary]) -> UnpairedRun:
    return UnpairedRun(
        out=run.out,
        path=run.result.path,
        execution=run.result.record.disclosure.execution,
        reason=_reason(run, summaries),
    )


def _reason(run: RunSummary, summaries: Sequence[RunSummary]) -> str:
    cause, own = cause_of(run.result), _facts(run)
    if cause.verdict != "counts":
        return f"does not count: {cause.reason}"
    if not _counts(run):
        return "its success is not known"
    others = "without executions" if run.result.record.disclosure.execution else "with executions"
    near = [one for one in summaries if _is_near(run, one)]
    if not near:
        return f"no run {others} has the same task, agent, model, draw and number"
    differing = {
        place: [name for name, value in _facts(one).items() if value != own[name]]
        for place, one in enumerate(near)
    }
    closest = min(differing, key=lambda place: len(differing[place]))
    if differing[closest]:
        return f"the run {others} differs in its {_names(differing[closest])}"
    same = near[closest].result
    if same.record.disclosure.data_hash != run.result.record.disclosure.data_hash:
        return f"the run {others} has other data"
    return f"the run {others} {'has another pair' if _counts(near[closest]) else 'does not count'}"


def _names(facts: Sequence[str]) -> str:
    return ", ".join(facts).replace("_", " ")


def _is_near(run: RunSummary, other: RunSummary) -> bool:
    """Whether the other would be the run's pair if its settings were the same."""
    records = [one.result.record for one in (run, other)]
    places = [
        (one.epoch, *(getattr(one.disclosure, name) for name in ("task", "agent", "model", "draw")))
        for one in records
    ]
    executed = {one.disclosure.execution for one in records}
    return places[0] == places[1] and len(executed) == 2
