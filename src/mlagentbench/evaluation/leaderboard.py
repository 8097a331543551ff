"""Agents over many tasks: mean rates with two kinds of uncertainty, and performance profiles."""

from mlagentbench.evaluation.cells import CellFigures, Conditions
from mlagentbench.evaluation.stats import Interval
from mlagentbench.records import Record


class SuiteMean(Record):
    """A mean over tasks, each task with the same weight.

    `on_these_tasks` is stratified: how much other runs on these very tasks would vary.
    `over_tasks` treats the tasks as a sample: how much other tasks of this kind would; None below
    two tasks.
    """

    tasks: int
    mean: float | None
    on_these_tasks: Interval | None
    over_tasks: Interval | None
    bounds: Interval | None = None
    """If all missing runs had failed, or succeeded; None when none misses."""


class ProfilePoint(Record):
    """The share of tasks, and of runs on them, with a normalised score of at least `at_least`."""

    at_least: float
    share: float


class AgentFigures(Record):
    """One row of the overview: an agent with its model, over all tasks that it ran on."""

    agent: str
    model: str
    cells: tuple[CellFigures, ...]
    success: SuiteMean
    paper_success: SuiteMean
    normalised: SuiteMean
    valid: SuiteMean
    profile: tuple[ProfilePoint, ...]
    runs: int
    missing: int
    greyed: bool
    tokens: int
    cost: float | None
    working_seconds: float
    successes: int
    tokens_per_success: float | None
    cost_per_success: float | None
    marks: tuple[str, ...]
    is_ruler: bool
    """Whether it is nop, baseline or oracle: a row to measure others by."""


class Board(Record):
    """Rows that may be compared: they ran the same tasks under the same conditions."""

    name: str
    """What all of it shares, in a few words, such as "mini, public seed, 50 steps"."""
    conditions: tuple[Conditions, ...]
    """One per task."""
    tasks: tuple[str, ...]
    rows: tuple[AgentFigures, ...]
    marks: tuple[str, ...]
    """Differences between rows that a reader must see."""
