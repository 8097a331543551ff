"""Competence of one agent with one model on one task: the figures of a cell of the tables."""

from mlagentbench.evaluation.stats import Interval
from mlagentbench.records import Json, Record


class Rate(Record):
    """A success rate with its 95 % Wilson interval; no rate without runs."""

    successes: int
    n: int
    rate: float | None
    interval: Interval


class Mean(Record):
    """A mean over runs. Below five runs there is no interval: the points speak for themselves."""

    n: int
    mean: float | None
    standard_error: float | None
    interval: Interval | None
    points: tuple[float, ...]


class BestOf(Record):
    """Best of k runs, each cut at a k-th of one run's steps, against one run with all of them.

    `chosen` takes the run whose own validation score is best, `oracle` the one that is truly best:
    nobody can do that, so it is an upper bound.
    """

    k: int
    steps_each: int
    chosen: float | None
    oracle: float | None


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


class CellKey(Record):
    """One agent with its settings and model, on one task under one set of conditions."""

    task: str
    agent: str
    """As a person types it, with its settings."""
    model: str
    conditions: Conditions


class CellFigures(Record):
    """The figures of a cell. `runs` = counted + missing."""

    key: CellKey
    paths: tuple[str, ...]
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
    best_of: tuple[BestOf, ...]
    test_set_interval: Interval | None
    tokens: Mean
    cost: Mean
    working_seconds: Mean
    steps: Mean
    tokens_per_success: float | None
    cost_per_success: float | None
    marks: tuple[str, ...]
    """What a reader must see beside the figures: who answered, isolation, ceiling, tool model."""
