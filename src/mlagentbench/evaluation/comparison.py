"""Two agents on the tasks that both ran on: is the difference more than luck?"""

from mlagentbench.evaluation.stats import Interval
from mlagentbench.records import Record


class TaskDifference(Record):
    """The difference on one task; p values are corrected by Holm's method over all tasks."""

    task: str
    difference: float
    runs: tuple[int, int]
    p: float
    p_holm: float


class Comparison(Record):
    """The first agent minus the second, as the mean over tasks of the difference of their means.

    p is from permuting runs between the two agents within each task; runs branched from one
    history move together. `detectable` is the smallest true difference that this design finds in
    80 % of the cases.
    """

    measure: str
    """"success" or "normalised"."""
    first: str
    second: str
    tasks: tuple[TaskDifference, ...]
    difference: float
    interval: Interval
    p: float
    detectable: float
    clusters: tuple[int, int]
