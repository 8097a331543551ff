"""Competence of one agent with one model on one task: the figures of a cell of the tables."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import Interval, standard_error, t_interval, wilson_interval
from mlagentbench.records import GradeRecord, Json, Record, RunRecord
from mlagentbench.runs.failure_causes import GREYED_ABOVE, Cause, cause_of
from mlagentbench.statistics.cell_marks import agent_of, cell_marks, data_words, other_roles
from mlagentbench.statistics.pass_at_k import BestOf, best_of_k, pass_at_k

ATTEMPTS = (1, 2, 4, 8)
"""The k of pass@k and best-of-k."""


class Rate(Record):
    """A success rate with its 95 % Wilson interval; no rate without runs.

    `successes` and `n` count runs. Runs branched from one history count once: `rate` is the mean
    over histories, and so is its interval.
    """

    successes: int
    n: int
    rate: float | None
    interval: Interval


class Mean(Record):
    """A mean over runs. Below five runs there is no interval: the points speak for themselves.

    Runs branched from one history are one point, their mean; `n` counts points.
    """

    n: int
    mean: float | None
    standard_error: float | None
    interval: Interval | None
    points: tuple[float, ...]


class HistoryStatistics(Record):
    """The counted runs of a cell that share one history, as the shares and means over them.

    All comparisons are made of these: histories are independent of each other, runs need not be.
    """

    cluster: str
    runs: int
    valid: float | None
    success: float | None
    paper_success: float | None
    normalised: float | None


class Conditions(Record):
    """What results must share to stand in one table without a mark."""

    tier: str
    task_version: int
    data_hash: str
    limits: dict[str, Json]
    sandbox: str
    feedback: str
    variant: str
    protocol: str
    mini_seed: str | None = None
    first_limits: dict[str, Json] | None = None


class CellKey(Record):
    """One agent with its settings and model, on one task under one set of conditions."""

    task: str
    agent: str
    """As a person types it, with its settings."""
    model: str
    conditions: Conditions
    roles: dict[str, str] = {}
    """The roles that another model has than the main one."""


class CellStatistics(Record):
    """The figures of a cell. `runs` = counted + missing."""

    key: CellKey
    paths: tuple[str, ...]
    task_path: str = ""
    """The task as it was named to the harness: its id, or its folder."""
    histories: tuple[HistoryStatistics, ...] = ()
    """Of the counted runs."""
    runs: int
    counted: int
    missing: int
    missing_reasons: dict[str, int]
    greyed: bool
    metric: str
    better: str
    data_words: str
    floor: float | None
    bar: float | None
    reference: float | None
    success: Rate
    success_bounds: Interval | None
    """The rate if all missing runs had failed, and if all had succeeded; None when none misses."""
    paper_success: Rate
    paper_improvement: Mean
    valid: Rate
    score: Mean
    """Over runs with a valid submission, on the metric's own scale."""
    normalised: Mean
    """Over all counted runs; without a valid submission a run stands at the floor, which is 0."""
    best_seen: Mean
    """Normalised score of the best graded step, over runs with graded steps."""
    submitted_of_those: Mean
    """Normalised score of what the same runs submitted."""
    pass_at: dict[int, float]
    """Only where all runs are independent."""
    best_of: tuple[BestOf, ...]
    """Only where all runs are independent, and limited in their steps."""
    test_set_interval: Interval | None
    """Of the run whose score is the median (the lower of two): how much its score would vary on
    other test data of this kind. It says nothing of other runs."""
    tokens: Mean
    cost: Mean
    working_seconds: Mean
    steps: Mean
    tokens_per_success: float | None
    """All tokens of counted runs, also of failures, by their successes."""
    cost_per_success: float | None
    total_tokens: float | None = None
    """Of all counted runs together, and so are the next two; None when unknown for some of them."""
    total_cost: float | None = None
    total_seconds: float | None = None
    marks: tuple[str, ...]
    """What a reader must see beside the figures: who answered, isolation, ceiling, tool model."""
    from_measured: bool = False
    """Nobody ran it: the figures are those that were measured for the task."""


def rate_of(histories: Sequence[Sequence[float]]) -> Rate:
    """The rate over runs, grouped by their history, that are each 1 for a success or 0."""
    shares = [statistics.fmean(runs) for runs in histories]
    return Rate(
        successes=round(sum(sum(runs) for runs in histories)),
        n=sum(map(len, histories)),
        rate=statistics.fmean(shares) if shares else None,
        interval=wilson_interval(sum(shares), len(shares)),
    )


def mean_of(histories: Sequence[Sequence[float]]) -> Mean:
    """The mean over runs, grouped by their history."""
    points = tuple(statistics.fmean(runs) for runs in histories)
    return Mean(
        n=len(points),
        mean=statistics.fmean(points) if points else None,
        standard_error=standard_error(points),
        interval=t_interval(points),
        points=points,
    )


def cell_statistics(summaries: Sequence[RunSummary]) -> list[CellStatistics]:
    """The figures of all cells that these runs belong to, in the order of tables."""
    groups: dict[str, list[RunSummary]] = defaultdict(list)
    keys: dict[str, CellKey] = {}
    for summary in summaries:
        key = _key(summary.result.record)
        text = key.model_dump_json()
        keys[text] = key
        groups[text].append(summary)
    cells = [_cell(keys[text], group) for text, group in groups.items()]
    return sorted(cells, key=_place)


def _place(cell: CellStatistics) -> tuple[str, ...]:
    key, conditions = cell.key, cell.key.conditions
    return (
        key.task, conditions.tier, conditions.data_hash, key.agent, key.model,
        key.model_dump_json(),
    )  # fmt: skip


def _key(record: RunRecord) -> CellKey:
    facts = record.disclosure
    conditions = {name: getattr(facts, name) for name in Conditions.model_fields}
    return CellKey(
        task=facts.task,
        agent=agent_of(record),
        model=facts.model,
        conditions=Conditions(**conditions),
        roles=other_roles(facts),
    )


class _Counted:
    """The runs of a cell that count, by their histories."""

    def __init__(self, summaries: Sequence[RunSummary]) -> None:
        self.runs = summaries
        self.histories: dict[str, list[RunSummary]] = defaultdict(list)
        for summary in summaries:
            self.histories[summary.cluster].append(summary)
        self.independent = len(self.histories) == len(self.runs)

    def values(self, value: Callable[[RunSummary], float | None]) -> list[list[float]]:
        """The values of each history's runs; where they are unknown, they are left out."""
        known = [
            [number for run in runs if (number := value(run)) is not None]
            for runs in self.histories.values()
        ]
        return [numbers for numbers in known if numbers]

    def rate(self, value: Callable[[RunSummary], float | None]) -> Rate:
        return rate_of(self.values(value))

    def mean(self, value: Callable[[RunSummary], float | None]) -> Mean:
        return mean_of(self.values(value))

    def total(self, value: Callable[[RunSummary], float | None]) -> float | None:
        """Over all runs, each by itself; None when unknown for some of them."""
        known = [number for run in self.runs if (number := value(run)) is not None]
        return sum(known) if len(known) == len(self.runs) else None

    def records(self) -> tuple[HistoryStatistics, ...]:
        return tuple(_history(cluster, runs) for cluster, runs in self.histories.items())


def _history(cluster: str, runs: Sequence[RunSummary]) -> HistoryStatistics:
    def mean(value: Callable[[RunSummary], float | None]) -> float | None:
        known = [number for run in runs if (number := value(run)) is not None]
        return statistics.fmean(known) if known else None

    return HistoryStatistics(
        cluster=cluster, runs=len(runs), valid=mean(_valid), success=mean(_success),
        paper_success=mean(_paper_success), normalised=mean(_normalised),
    )  # fmt: skip


def _cell(key: CellKey, summaries: Sequence[RunSummary]) -> CellStatistics:
    causes = [(summary, cause_of(summary.result)) for summary in summaries]
    counted = _Counted([one for one, cause in causes if cause.verdict == "counts"])
    missing = [(one, cause) for one, cause in causes if cause.verdict == "missing"]
    graded = [one.result.grade for one in summaries if one.result.grade is not None]
    success = counted.rate(_success)
    total_tokens, total_cost = counted.total(_tokens), counted.total(_cost)
    looked_at = _Counted([run for run in counted.runs if _has_graded_steps(run)])
    facts = summaries[0].result.record.disclosure
    return CellStatistics(
        key=key,
        paths=tuple(summary.result.path for summary in summaries),
        task_path=summaries[0].result.record.task_path,
        histories=counted.records(),
        runs=len(summaries),
        counted=len(counted.runs),
        missing=len(missing),
        missing_reasons=_reasons([cause for _, cause in missing]),
        greyed=len(missing) / len(summaries) > GREYED_ABOVE,
        metric=facts.metric,
        better=facts.better,
        data_words=data_words(facts),
        floor=graded[0].floor if graded else None,
        bar=graded[0].bar if graded else None,
        reference=graded[0].reference if graded else None,
        success=success,
        success_bounds=_bounds(counted.runs, [one for one, _ in missing]),
        paper_success=counted.rate(_paper_success),
        paper_improvement=counted.mean(_paper_improvement),
        valid=counted.rate(_valid),
        score=counted.mean(_score),
        normalised=counted.mean(_normalised),
        best_seen=looked_at.mean(_best_seen),
        submitted_of_those=looked_at.mean(_normalised),
        pass_at=_pass_at(counted, success),
        best_of=_best_of(counted, key.conditions.limits.get("steps")),
        test_set_interval=_test_set_interval(counted.runs),
        tokens=counted.mean(_tokens),
        cost=counted.mean(_cost),
        working_seconds=counted.mean(_seconds),
        steps=counted.mean(lambda run: run.result.usage.steps),
        tokens_per_success=_per_success(total_tokens, success),
        cost_per_success=_per_success(total_cost, success),
        total_tokens=total_tokens,
        total_cost=total_cost,
        total_seconds=counted.total(_seconds),
        marks=cell_marks(summaries),
    )


def _grade(run: RunSummary) -> GradeRecord:
    """The grade of a run that counts: by the table of causes it has one."""
    grade = run.result.grade
    if grade is None:
        raise ValueError(f"{run.result.path} counts and has no grade")
    return grade


def _valid(run: RunSummary) -> float:
    return float(_grade(run).valid)


def _success(run: RunSummary) -> float | None:
    success = _grade(run).success
    return None if success is None else float(success)


def _paper_success(run: RunSummary) -> float | None:
    success = _grade(run).paper_success
    return None if success is None else float(success)


def _paper_improvement(run: RunSummary) -> float | None:
    return _grade(run).paper_improvement


def _score(run: RunSummary) -> float | None:
    return _grade(run).score


def _normalised(run: RunSummary) -> float | None:
    """Without a valid submission a run stands at the floor, which is 0 on this scale."""
    grade = _grade(run)
    return None if grade.success is None else grade.normalised or 0.0


def _has_graded_steps(run: RunSummary) -> bool:
    return any(0 < point.step < _grade(run).step for point in run.points)


def _best_seen(run: RunSummary) -> float | None:
    submitted = _normalised(run)
    if submitted is None:
        return None
    return max(submitted, *(point.normalised or 0.0 for point in run.points if point.valid), 0.0)


def _tokens(run: RunSummary) -> float | None:
    if run.result.record.origin == "legacy":
        return None
    return float(run.result.usage.input_tokens + run.result.usage.output_tokens)


def _cost(run: RunSummary) -> float | None:
    return run.result.usage.cost


def _seconds(run: RunSummary) -> float:
    return run.result.usage.seconds


def _reasons(missing: Sequence[Cause]) -> dict[str, int]:
    return dict(Counter(cause.reason for cause in missing).most_common())


def _bounds(counted: Sequence[RunSummary], missing: Sequence[RunSummary]) -> Interval | None:
    if not missing:
        return None
    decided = [(run.cluster, flag) for run in counted if (flag := _success(run)) is not None]

    def rate(of_missing: float) -> float:
        histories: dict[str, list[float]] = defaultdict(list)
        for cluster, flag in (*decided, *((run.cluster, of_missing) for run in missing)):
            histories[cluster].append(flag)
        return statistics.fmean(statistics.fmean(flags) for flags in histories.values())

    return Interval(low=rate(0.0), high=rate(1.0))


def _pass_at(counted: _Counted, success: Rate) -> dict[int, float]:
    if not counted.independent:
        return {}
    return {k: pass_at_k(success.n, success.successes, k) for k in ATTEMPTS if k <= success.n}


def _best_of(counted: _Counted, steps: int | None) -> tuple[BestOf, ...]:
    if not counted.independent or steps is None:
        return ()
    tries = [k for k in ATTEMPTS if k <= len(counted.runs)]
    return tuple(best_of_k(counted.runs, steps, k) for k in tries)


def _test_set_interval(runs: Sequence[RunSummary]) -> Interval | None:
    known = [run for run in runs if run.test_set_interval is not None and _score(run) is not None]
    if not known:
        return None
    middle = statistics.median_low(_grade(run).score or 0.0 for run in known)
    interval = next(run.test_set_interval for run in known if _score(run) == middle)
    return None if interval is None else Interval(low=interval[0], high=interval[1])


def _per_success(total: float | None, success: Rate) -> float | None:
    """What a success costs with all the failures it takes; None when unknown for some runs."""
    return None if total is None or success.successes == 0 else total / success.successes
