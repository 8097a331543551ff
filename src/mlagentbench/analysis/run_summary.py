"""The summary of one run: all that tables, plots and overviews need."""

from mlagentbench.analysis.findings import ProcessReport
from mlagentbench.records import Record
from mlagentbench.runs.results import RunResult


class ScorePoint(Record):
    """The grade of the workspace after a step, and what had been used by then."""

    step: int
    seconds: float
    tokens: int
    cost: float | None
    valid: bool
    score: float | None
    normalised: float | None
    success: bool | None


class ValidationPoint(Record):
    """A `validation METRIC=VALUE` line that a step printed."""

    step: int
    metric: str
    value: float


class RoleUsage(Record):
    """What the model in a role read and wrote."""

    role: str
    replies: int | None = None
    """Unknown for the model that programs call while they run."""
    input_tokens: int
    cached_tokens: int = 0
    output_tokens: int
    reasoning_tokens: int = 0
    cost: float | None = None
    seconds: float | None = None


class RunEfficiency(Record):
    """What a run used; `None` is unknown. All times but `working_seconds` are wall-clock times.

    wall = from the first line of the journal to the outcome, without the time between a stop and
    its resumption; working = the run's own clock, which stops while a provider makes us wait;
    scripts = in Execute Script and Python REPL; harness = wall - model - scripts.
    """

    wall_seconds: float
    working_seconds: float
    model_seconds: float | None = None
    script_seconds: float | None = None
    harness_seconds: float | None = None
    steps: int
    roles: tuple[RoleUsage, ...] = ()
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None

    @property
    def tokens(self) -> int | None:
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class RunSummary(Record):
    """A run, finished or not, with its analysis."""

    out: str
    """The --out directory, as it was given."""
    cluster: str
    """Shared by runs that were branched from one history: they are not independent."""
    result: RunResult
    points: tuple[ScorePoint, ...] = ()
    validations: tuple[ValidationPoint, ...] = ()
    process: ProcessReport = ProcessReport()
    efficiency: RunEfficiency
    test_set_interval: tuple[float, float] | None = None
    """95 % interval of the final score from resampling the test set's groups, if it has groups."""
    altered: tuple[str, ...] = ()
    """Why the hash chains of the run's files do not hold, one sentence per file."""
    marks: tuple[str, ...] = ()
    """What was missing when the run was read, such as its task."""

    @property
    def is_flagged(self) -> bool:
        """Whether it attempted to reach answers or to change a measurement, by a finding or proof.

        Its score stands unless grading proved an effect: then the grade itself is invalid.
        """
        grade = self.result.grade
        proven = grade is not None and grade.broken_rule
        return proven or any(finding.is_integrity for finding in self.process.findings)


class UnreadableRun(Record):
    """A run directory that cannot be read, and why."""

    out: str
    path: str
    reason: str
