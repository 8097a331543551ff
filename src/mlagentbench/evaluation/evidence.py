"""What the analysis of a run starts from; made from a run directory, or from a journal alone."""

from dataclasses import dataclass, field
from typing import Literal

from mlagentbench.environment.journal import History
from mlagentbench.records import Grade, RunRecord


@dataclass(frozen=True)
class RunEvidence:
    """All that is known of a run, read once.

    `submission` is the path of what is graded; `texts` holds the starter's text files as the agent
    found them. Both are empty for a task that is not known here.
    """

    record: RunRecord
    history: History
    grades: tuple[Grade, ...] = ()
    """Every grade, also of earlier steps, in the order in which they were given."""
    problem: str = ""
    submission: str = ""
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def better(self) -> Literal["higher", "lower"]:
        return self.record.disclosure.better

    @property
    def final_grade(self) -> Grade | None:
        """The newest grade of the last step."""
        last = len(self.history.steps)
        return next((grade for grade in reversed(self.grades) if grade.step == last), None)
