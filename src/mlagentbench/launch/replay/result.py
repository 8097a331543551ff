"""What a replay says: whether a run's actions, carried out again, came to the same."""

from typing import Literal

from mlagentbench.records import Action, Record

Agreement = Literal["same", "within tolerance", "different", "not replayable"]
"""not replayable: it was not the environment's to carry out, or cannot be without a model."""
RANK: dict[Agreement, int] = {
    "same": 0,
    "within tolerance": 1,
    "different": 2,
    "not replayable": 3,
}
"""From the best to what says least about the run."""


class Compared(Record):
    """One thing that was compared, such as an observation or a file, and what differs in it."""

    what: str
    agreement: Agreement
    reason: str = ""


class StepComparison(Record):
    """A step and its replay; `compared` names only what is not the same.

    `taken_over` says that its changes to the workspace were copied from the record.
    """

    step: int
    action: Action
    agreement: Agreement
    reason: str = ""
    compared: tuple[Compared, ...] = ()
    taken_over: bool = False


class ScoreComparison(Record):
    """The grade of a step and that of its replay; no score is `None`."""

    step: int
    then: float | None
    now: float | None
    agreement: Agreement
    reason: str = ""


class SetupDifference(Record):
    """Something that the run stood on and that is different here."""

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
        """Whether everything was carried out again and came to the same, within the tolerance."""
        return all(RANK[one.agreement] <= RANK["within tolerance"] for one in self.all_compared)

    @property
    def all_compared(self) -> tuple[StepComparison | ScoreComparison, ...]:
        return (*self.steps, *self.scores)

    def count(self, agreement: Agreement) -> int:
        """How many steps agree so far."""
        return sum(one.agreement == agreement for one in self.steps)
