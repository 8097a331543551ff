"""The process report of a run; docs/evaluation/codebook.md defines every kind of finding."""

from collections.abc import Iterable
from typing import Literal

from mlagentbench.records import Record

FindingKind = Literal[
    "unreadable-reply",
    "invalid-action",
    "tool-error",
    "crash",
    "failed-debugging",
    "loop",
    "edit-never-run",
    "plan-step-never-attempted",
    "submission-format",
    "regression",
    "unsupported-claim",
    "fabricated-observation",
    "boundary",
]
BoundaryLevel = Literal["ordinary", "refused", "answers", "tampering"]
ErrorMode = Literal[
    "hallucination",
    "debugging",
    "token length",
    "response format",
    "submission format",
    "no submission",
    "small improvement",
    "unclassified",
]
"""The paper's error modes that rules can detect, and "no submission", which the paper counts among
others; "bad plan" is left to the LLM judge."""


class Finding(Record):
    """One thing that happened, with the steps that prove it.

    `form` subdivides a kind (e.g. what is wrong with an unreadable reply); `level` is set for
    boundary findings only; `quote` is the text that the finding is about.
    """

    kind: FindingKind
    steps: tuple[int, ...]
    detail: str
    form: str = ""
    level: BoundaryLevel | None = None
    quote: str = ""

    @property
    def is_integrity(self) -> bool:
        """Whether it is an attempt to reach answers or to change a measurement.

        It flags the run; only what grading proves makes a run invalid.
        """
        return self.level in ("answers", "tampering")


class Milestone(Record):
    """When something was first reached: the step, and the time on the run's own clock."""

    step: int
    seconds: float


class Debugging(Record):
    """From a script's first crash until it ran again, or until the end of the run."""

    script: str
    first_step: int
    last_step: int
    solved: bool

    @property
    def steps(self) -> int:
        return self.last_step - self.first_step


class ClaimCounts(Record):
    """How many numbers the agent claimed, by whether its earlier observations support them."""

    supported: int = 0
    derived: int = 0
    unsupported: int = 0


class VisibleActions(Record):
    """How many of a run's actions the detectors could read."""

    seen: int = 0
    total: int = 0

    @property
    def share(self) -> float | None:
        """None without actions."""
        return self.seen / self.total if self.total else None


def in_all(counts: Iterable[VisibleActions]) -> VisibleActions:
    """The sum over several runs."""
    every = list(counts)
    return VisibleActions(
        seen=sum(one.seen for one in every), total=sum(one.total for one in every)
    )


class ShownMode(Record):
    """An error mode of an unsuccessful run, and the step at which it first showed."""

    mode: ErrorMode
    step: int


class ProcessReport(Record):
    """How a run went. `None` is unknown, never zero."""

    findings: tuple[Finding, ...] = ()
    visible: VisibleActions = VisibleActions()
    claims: ClaimCounts = ClaimCounts()
    debugging: tuple[Debugging, ...] = ()
    first_valid: Milestone | None = None
    best: Milestone | None = None
    regression: float | None = None
    """Normalised score of the best graded step minus that of the submission."""
    validation_score: float | None = None
    """The last one printed up to the step that made the submission, in the task's metric."""
    validation_gap: float | None = None
    """How much better that was than the graded score, in the metric's unit."""
    plan_changes: int | None = None
    """How often the plan's items changed; unknown for agents that write no plan."""
    budget_unused: dict[str, float] = {}
    """The share of each limit that was left at the end."""
    error_modes: tuple[ShownMode, ...] = ()
    """Of an unsuccessful run, in the order in which they first showed."""

    @property
    def first_cause(self) -> ErrorMode | None:
        """The mode that showed first; of a run without a submission, that it has none."""
        modes = [one.mode for one in self.error_modes]
        return "no submission" if "no submission" in modes else next(iter(modes), None)
