"""Statistics of one agent with one model on one task: the cells of the tables."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from mlagentbench.analysis.findings import VisibleActions, in_all
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.grading.rungs import rung_of, rung_shares
from mlagentbench.numeric.intervals import Interval, standard_error, t_interval, wilson_interval
from mlagentbench.records import (
    UNKNOWN,
    Disclosure,
    GradeRecord,
    Json,
    Pair,
    Profile,
    Record,
    Rung,
    RunRecord,
    Tier,
)
from mlagentbench.runs.failure_causes import GREYED_ABOVE, cause_of
from mlagentbench.statistics.cell_marks import agent_of, cell_marks, data_description, other_roles
from mlagentbench.statistics.drawn_data import (
    CellDraw,
    cluster_of,
    draw_marks,
    draws_of,
    has_draws,
    mean_over_draws,
)
from mlagentbench.statistics.pass_at_k import BestOf, best_of_k, pass_at_k

ATTEMPTS = (1, 2, 4, 8)
"""The k of pass@k and best-of-k."""

RunValue = Callable[[RunSummary], float | None]
"""A number of a run; None if it is unknown."""


class Rate(Record):
    """A success rate with its 95 % Wilson interval; no rate without runs.

    `successes` and `n` count runs. Runs on one draw of a sample, and runs branched from one
    history, count once: `rate` and its interval are over clusters.
    """

    successes: int = 0
    n: int = 0
    rate: float | None = None
    interval: Interval = Interval(low=0.0, high=1.0)
    bounds: Interval | None = None
    """The rate if all missing runs had failed or succeeded; None without missing runs."""


class Mean(Record):
    """A mean over runs. Below five runs there is no interval: the points are shown instead.

    Runs on one draw of a sample, and runs branched from one history, are one point, their mean;
    `n` counts points.
    """

    n: int = 0
    mean: float | None = None
    standard_error: float | None = None
    interval: Interval | None = None
    points: tuple[float, ...] = ()


class ClusterStatistics(Record):
    """The counted runs of a cell that share one draw or one history, as shares and means over them.

    Comparisons use these: clusters are independent of each other, runs need not be.
    """

    cluster: str
    runs: int
    valid: float | None
    success: float | None
    paper_success: float | None
    flagged: float | None = None
    unflagged_success: float | None = None
    normalised: float | None


class Conditions(Record):
    """What results must share to be in one table without a mark."""

    tier: Tier
    profile: Profile | None = None
    task_version: int
    data: str
    """The hash of the data; of their generator where runs have different draws."""
    limits: dict[str, Json]
    sandbox: str
    feedback: str
    execution: bool = True
    variant: str
    protocol: str
    rebuild_draws: int | None = None
    draw_policy: str | None = None
    first_limits: dict[str, Json] | None = None


class CellKey(Record):
    """One agent with its settings and model, on one task under one set of conditions."""

    task: str
    agent: str
    """As on the command line, with its settings."""
    model: str
    conditions: Conditions
    roles: dict[str, str] = {}
    """The roles with another model than the main one."""


class CellStatistics(Record):
    """The statistics of a cell. `runs` = counted + missing; the defaults are those of no runs."""

    key: CellKey
    paths: tuple[str, ...] = ()
    task_path: str = ""
    """The task as it was named to the harness: its id, or its folder."""
    clusters: tuple[ClusterStatistics, ...] = ()
    """Of the counted runs."""
    draws: tuple[CellDraw, ...] = ()
    """The data of all its runs; several only with a range of draws."""
    runs: int = 0
    counted: int = 0
    missing: int = 0
    missing_reasons: dict[str, int] = {}
    greyed: bool = False
    metric: str
    better: str
    data_description: str
    floor: float | None
    """The mean over the draws, like the next three."""
    bar: float | None
    reference: float | None
    ceiling: float | None = None
    rungs: dict[Rung, float] = {}
    """The share of counted runs on each rung, which add up to 1; of the runs whose success is
    known, if there are any."""
    success: Rate = Rate()
    paper_success: Rate = Rate()
    paper_improvement: Mean = Mean()
    valid: Rate = Rate()
    score: Mean = Mean()
    """Over runs with a valid submission, on the metric's own scale."""
    normalised: Mean = Mean()
    """Over all counted runs; a run without a valid submission has the floor's score, 0."""
    ceiling_share: Mean = Mean()
    """The share of the way from floor to ceiling, like the normalised score; in generated tiers, of
    tasks with a ceiling."""
    transfer_gap: Mean = Mean()
    """Normalised score on the given draw minus that on fresh ones, over runs that were rebuilt."""
    flagged: Rate = Rate()
    """Runs that attempted to reach answers or to change a measurement, by a finding or proof."""
    unflagged_success: Rate = Rate()
    """Success with flagged runs as failures."""
    broken_rules: int = 0
    """Counted runs that grading proved to break a rule; they are invalid."""
    visible: VisibleActions = VisibleActions()
    """The actions of counted runs that the detectors could read."""
    best_seen: Mean = Mean()
    """Normalised score of the best graded step, over runs with graded steps."""
    submitted_of_those: Mean = Mean()
    """Normalised score of what the same runs submitted, before it is rebuilt."""
    pass_at: dict[int, float] = {}
    """Only if all runs are independent."""
    best_of: tuple[BestOf, ...] = ()
    """Only if all runs are independent, on the same data, and limited in their steps."""
    test_set_interval: Interval | None = None
    """For the run with the median score (the lower of two): how much its score would vary on other
    test data of this kind. It says nothing about other runs."""
    tokens: Mean = Mean()
    cost: Mean = Mean()
    working_seconds: Mean = Mean()
    steps: Mean = Mean()
    tokens_per_success: float | None = None
    """All tokens of counted runs, also of failures, per success."""
    cost_per_success: float | None = None
    total_tokens: float | None = None
    """Of all counted runs together, like the next two; None if unknown for some of them."""
    total_cost: float | None = None
    total_seconds: float | None = None
    primary: tuple[Pair | None, ...] = ()
    """The pairs that its runs named before they began, each once; None if some named no pair."""
    marks: tuple[str, ...]
    """What a reader must know beside the numbers: who answered, isolation, ceiling, tool model."""
    from_measured: bool = False
    """Not run: the statistics follow from the task's measurements."""


def rate_of(clusters: Sequence[Sequence[float]]) -> Rate:
    """The rate over runs, grouped by their cluster, that are each 1 for a success or 0."""
    shares = [statistics.fmean(runs) for runs in clusters]
    return Rate(
        successes=round(sum(sum(runs) for runs in clusters)),
        n=sum(map(len, clusters)),
        rate=statistics.fmean(shares) if shares else None,
        interval=wilson_interval(sum(shares), len(shares)),
    )


def mean_of(clusters: Sequence[Sequence[float]]) -> Mean:
    """The mean over runs, grouped by their cluster."""
    points = tuple(statistics.fmean(runs) for runs in clusters)
    return Mean(
        n=len(points),
        mean=statistics.fmean(points) if points else None,
        standard_error=standard_error(points),
        interval=t_interval(points),
        points=points,
    )


def cell_statistics(summaries: Sequence[RunSummary]) -> list[CellStatistics]:
    """The statistics of all cells that these runs belong to, in the order of tables."""
    groups: dict[str, list[RunSummary]] = defaultdict(list)
    for summary in summaries:
        groups[_key(summary.result.record).model_dump_json()].append(summary)
    return sorted(map(_cell, groups.values()), key=_sort_key)


def _sort_key(cell: CellStatistics) -> tuple[str, ...]:
    key, conditions = cell.key, cell.key.conditions
    data = (conditions.tier, conditions.draw_policy or "", conditions.data)
    return (key.task, *data, key.agent, key.model, key.model_dump_json())


def _key(record: RunRecord) -> CellKey:
    facts = record.disclosure
    same = {name: getattr(facts, name) for name in Conditions.model_fields if name != "data"}
    return CellKey(
        task=facts.task,
        agent=agent_of(record),
        model=facts.model,
        conditions=Conditions(**same, data=_data(facts)),
        roles=other_roles(facts),
    )


def _data(facts: Disclosure) -> str:
    return facts.generator or UNKNOWN if has_draws(facts) else facts.data_hash


def _known(runs: Iterable[RunSummary], value: RunValue) -> list[float]:
    return [number for run in runs if (number := value(run)) is not None]


class _Counted:
    """The runs of a cell that count, by their clusters; rates also know the missing ones."""

    def __init__(self, summaries: Sequence[RunSummary], missing: Sequence[RunSummary] = ()) -> None:
        self.runs = summaries
        self.missing = missing
        self.clusters: dict[str, list[RunSummary]] = defaultdict(list)
        for summary in summaries:
            self.clusters[cluster_of(summary)].append(summary)
        self.independent = len(self.clusters) == len(self.runs)

    def values(self, value: RunValue) -> list[list[float]]:
        """The known values of each cluster's runs, without clusters that have none."""
        return [known for runs in self.clusters.values() if (known := _known(runs, value))]

    def rate(self, value: RunValue) -> Rate:
        rate = rate_of(self.values(value))
        return rate.model_copy(update={"bounds": self._bounds(value)}) if self.missing else rate

    def _bounds(self, value: RunValue) -> Interval:
        decided = [(cluster_of(run), flag) for run in self.runs if (flag := value(run)) is not None]
        lost = [cluster_of(run) for run in self.missing]

        def rate_if(of_missing: float) -> float:
            clusters: dict[str, list[float]] = defaultdict(list)
            for cluster, flag in (*decided, *((one, of_missing) for one in lost)):
                clusters[cluster].append(flag)
            return statistics.fmean(map(statistics.fmean, clusters.values()))

        return Interval(low=rate_if(0.0), high=rate_if(1.0))

    def mean(self, value: RunValue) -> Mean:
        return mean_of(self.values(value))

    def rungs(self) -> dict[Rung, float]:
        any_known = any(_success(run) is not None for run in self.runs)
        chosen = [
            [rung_of(_grade(run)) for run in runs if not any_known or _success(run) is not None]
            for runs in self.clusters.values()
        ]
        return rung_shares(filter(None, chosen))

    def total(self, value: RunValue) -> float | None:
        """Over all runs; None if unknown for some of them."""
        known = _known(self.runs, value)
        return sum(known) if len(known) == len(self.runs) else None

    def records(self) -> tuple[ClusterStatistics, ...]:
        return tuple(
            ClusterStatistics(
                cluster=cluster,
                runs=len(runs),
                valid=_mean(runs, _valid),
                success=_mean(runs, _success),
                paper_success=_mean(runs, _paper_success),
                flagged=_mean(runs, _flagged),
                unflagged_success=_mean(runs, _unflagged_success),
                normalised=_mean(runs, _normalised),
            )
            for cluster, runs in self.clusters.items()
        )


def _mean(runs: Sequence[RunSummary], value: RunValue) -> float | None:
    known = _known(runs, value)
    return statistics.fmean(known) if known else None


def _cell(summaries: Sequence[RunSummary]) -> CellStatistics:
    first = summaries[0].result.record
    key, facts = _key(first), first.disclosure
    causes = [(summary, cause_of(summary.result)) for summary in summaries]
    missing = [one for one, cause in causes if cause.verdict == "missing"]
    reasons = Counter(cause.reason for _, cause in causes if cause.verdict == "missing")
    counted = _Counted([one for one, cause in causes if cause.verdict == "counts"], missing)
    draws, sampled = draws_of(summaries, counted.runs), has_draws(facts)
    success = counted.rate(_success)
    total_tokens, total_cost = counted.total(_tokens), counted.total(_cost)
    graded_often = _Counted([run for run in counted.runs if _has_graded_steps(run)])
    return CellStatistics(
        key=key,
        paths=tuple(summary.result.path for summary in summaries),
        task_path=first.task_path,
        clusters=counted.records(),
        draws=draws,
        runs=len(summaries),
        counted=len(counted.runs),
        missing=len(missing),
        missing_reasons=dict(reasons.most_common()),
        greyed=len(missing) / len(summaries) > GREYED_ABOVE,
        metric=facts.metric,
        better=facts.better,
        data_description=data_description(facts),
        floor=mean_over_draws(draws, "floor"),
        bar=mean_over_draws(draws, "bar"),
        reference=mean_over_draws(draws, "reference"),
        ceiling=mean_over_draws(draws, "ceiling"),
        rungs=counted.rungs(),
        success=success,
        paper_success=counted.rate(_paper_success),
        paper_improvement=counted.mean(lambda run: _grade(run).paper_improvement),
        valid=counted.rate(_valid),
        score=counted.mean(_score),
        normalised=counted.mean(_normalised),
        ceiling_share=counted.mean(_ceiling_share),
        transfer_gap=counted.mean(_transfer_gap),
        flagged=counted.rate(_flagged),
        unflagged_success=counted.rate(_unflagged_success),
        broken_rules=sum(_grade(run).broken_rule for run in counted.runs),
        visible=in_all(run.process.visible for run in counted.runs),
        best_seen=graded_often.mean(_best_seen),
        submitted_of_those=graded_often.mean(_as_submitted),
        pass_at=_pass_at(counted, success),
        best_of=_best_of(counted, key.conditions.limits.get("steps")) if len(draws) == 1 else (),
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
        primary=tuple(dict.fromkeys(one.result.record.disclosure.primary for one in summaries)),
        marks=(*cell_marks(summaries), *(draw_marks(draws, len(summaries)) if sampled else ())),
    )


def _grade(run: RunSummary) -> GradeRecord:
    """The grade of a counted run; runs without a grade are not counted."""
    grade = run.result.grade
    if grade is None:
        raise ValueError(f"{run.result.path} is counted but has no grade")
    return grade


def _valid(run: RunSummary) -> float:
    return _grade(run).valid


def _success(run: RunSummary) -> float | None:
    return _grade(run).success


def _paper_success(run: RunSummary) -> float | None:
    return _grade(run).paper_success


def _flagged(run: RunSummary) -> float:
    return run.is_flagged


def _unflagged_success(run: RunSummary) -> float | None:
    success = _success(run)
    return None if success is None else success and not run.is_flagged


def _score(run: RunSummary) -> float | None:
    return _grade(run).score


def _transfer_gap(run: RunSummary) -> float | None:
    rebuilt = _grade(run).rebuilt
    return None if rebuilt is None else rebuilt.transfer_gap


def _normalised(run: RunSummary) -> float | None:
    """A run without a valid submission has the floor's score, which is 0 on this scale."""
    grade = _grade(run)
    return None if grade.success is None else grade.normalised or 0.0


def _ceiling_share(run: RunSummary) -> float | None:
    """Like the normalised score; None without a ceiling and in the full tier."""
    grade = _grade(run)
    is_full = run.result.record.disclosure.tier == "full"
    return None if is_full or grade.ceiling is None else grade.ceiling_share or 0.0


def _has_graded_steps(run: RunSummary) -> bool:
    return any(0 < point.step < _grade(run).step for point in run.points)


def _as_submitted(run: RunSummary) -> float | None:
    """The normalised score of the submitted file itself, comparable with those of earlier steps."""
    grade = _grade(run).as_submitted
    return None if grade.success is None else grade.normalised or 0.0


def _best_seen(run: RunSummary) -> float | None:
    submitted = _as_submitted(run)
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
    """What a success costs, including the failures; None if unknown for some runs."""
    return None if total is None or success.successes == 0 else total / success.successes
