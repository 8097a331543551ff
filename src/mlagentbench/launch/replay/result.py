"""The result of a replay: how a run's actions compare when they are executed again."""

from typing import Literal

from mlagentbench.records import Action, Record

Agreement = Literal["same", "within tolerance", "different", "not replayable"]
"""not replayable: the environment did not execute it, or cannot without a model."""
RANK: dict[Agreement, int] = {
    "same": 0,
    "within tolerance": 1,
    "different": 2,
    "not replayable": 3,
}
"""From the best agreement to none."""


class Compared(Record):
    """A difference in one thing, such as an observation or a file."""

    what: str
    agreement: Agreement
    reason: str = ""


class StepComparison(Record):
    """A step and its replay; `compared` lists the differences.

    `taken_over`: its changes to the workspace were copied from the record.
    """

    step: int
    action: Action
    agreement: Agreement
    reason: str = ""
    compared: tuple[Compared, ...] = ()
    taken_over: bool = False


class ScoreComparison(Record):
    """The scores of a step and of its replay; None without a score."""

    step: int
    then: float | None
    now: float | None
    agreement: Agreement
    reason: str = ""


class SetupDifference(Record):
    """A property of the run's software or machine that differs here."""

    what: str
    then: str
    now: str


class Replay(Record):
    """A run that was replayed, step by step; `run` and `replay` are the two directories."""

    v: Literal[1] = 1
    run: str
    replay: str
    task: str
    agent: str
    model: str
    tolerance: float
    setup: tuple[SetupDifference, ...]
    steps: tuple[StepComparison, ...]
    scores: tuple[ScoreComparison, ...]

    @property
    def agrees(self) -> bool:
        """Whether everything was replayed and is the same, within the tolerance."""
        return all(RANK[one.agreement] <= RANK["within tolerance"] for one in self.all_compared)

    @property
    def all_compared(self) -> tuple[StepComparison | ScoreComparison, ...]:
        return (*self.steps, *self.scores)

    def count(self, agreement: Agreement) -> int:
        """The number of steps with this agreement."""
        return sum(one.agreement == agreement for one in self.steps)
