"""One run in one small record: all that tables, plots and overviews need of it."""

from mlagentbench.analysis.findings import ProcessReport
from mlagentbench.records import Record
from mlagentbench.runs.results import RunResult


class ScorePoint(Record):
    """The grade of the workspace as it was after a step, and what had been used by then."""

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
    """What the model in a role was asked and answered."""

    role: str
    replies: int | None
    """Unknown for the model that programs ask while they run."""
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float | None
    seconds: float | None


class RunEfficiency(Record):
    """What a run took. Parts of the time are by the wall clock; unknown ones are `None`.

    wall = from the first line of the journal to the outcome, without the time between a stop and
    its resumption; working = the run's own clock, which stands still while a provider makes us
    wait; scripts = in Execute Script and Python REPL; harness = wall - model - scripts.
    """

    wall_seconds: float
    working_seconds: float
    model_seconds: float | None
    script_seconds: float | None
    harness_seconds: float | None
    steps: int
    roles: tuple[RoleUsage, ...]
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None

    @property
    def tokens(self) -> int | None:
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class RunSummary(Record):
    """A run as far as it has come, analysed."""

    out: str
    """The --out directory, as it was given."""
    cluster: str
    """Runs branched from one history share it: they are not independent."""
    result: RunResult
    points: tuple[ScorePoint, ...] = ()
    validations: tuple[ValidationPoint, ...] = ()
    process: ProcessReport = ProcessReport()
    efficiency: RunEfficiency
    test_set_interval: tuple[float, float] | None = None
    """95 % interval of the final score by resampling the test set's groups, where it has groups."""
    altered: tuple[str, ...] = ()
    """Why the hash chains of the run's files do not hold, a sentence a file."""
    marks: tuple[str, ...] = ()
    """What could not be known when the run was read, such as a task that is not known here."""


class UnreadableRun(Record):
    """A directory that should be a run, and why it cannot be read."""

    out: str
    path: str
    reason: str
