"""The frozen records that the harness passes around and writes to files."""

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlagentbench.errors import ActionFault, FailureCause, OutcomeKind

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Json = Any
"""A JSON value; pydantic checks it where it enters a record."""

UNKNOWN = "unknown"
"""The value of a required field that is not known."""

REBUILD = "rebuild"
"""The protocol whose score of record is that of fresh draws."""

Tier = Literal["mini", "hard", "full"]
"""mini: small and generated; hard: generated so that only experiments help; full: the real data."""
Profile = Literal["cpu", "gpu"]
"""The hardware that the limits of a full tier assume: a few cores, or one CUDA GPU besides."""
MachineCode = Literal["any", "installed"]
"""What a submitted program may execute when it is graded.
any: nothing prevents code that it brings or compiles.
installed: only that of Python and the installed libraries; the kernel enforces it.
"""
Pair = tuple[str, str]
"""Two agents with their models, as tables name them."""
Rung = Literal[
    "invalid",
    "valid",
    "above the floor",
    "success",
    "matches the reference",
    "near the ceiling",
]
"""How far up a run got, in ascending order; each rung implies those below it."""
Origin = Literal["run", "legacy", "replay"]
"""legacy: imported from logs of the original MLAgentBench, with unknown fields.
replay: a run's actions carried out again to check it; never a result."""
ObservationStatus = Literal["ok", "error", "refused", "limit", "interrupted"]


class Record(BaseModel):
    """Base class of all records: frozen, without unknown fields, NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong with a record, as `field: reason`."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {reason_of(first)}" if place else reason_of(first)


def reason_of(problem: "ErrorDetails") -> str:
    """What is wrong with one value, as pydantic found it."""
    return problem["msg"].removeprefix("Value error, ").replace("Input should", "it should")


class Action(Record):
    """What the agent requests: an action's name and its arguments."""

    name: str
    arguments: dict[str, Json] = {}


class Observation(Record):
    """What the agent gets back.

    `error` is the agent's fault (bad arguments, a failing script), `refused` an attempt to access
    something protected, `limit` a command that exceeded a limit, `interrupted` a step that the
    harness could not finish. `fault` says what is wrong with the form of an action.
    """

    text: str
    status: ObservationStatus = "ok"
    exit_code: int | None = None
    limit: str | None = None
    fault: ActionFault | None = None


class Usage(Record):
    """What a run has used so far."""

    steps: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    stored: int = 0
    """Bytes on disk: new objects, the journal and the output log."""


class Step(Record):
    """One action with its observation, the workspace and the run's usage as they were after it."""

    n: int
    action: Action
    observation: Observation
    snapshot: str
    started: float
    seconds: float
    usage: Usage | None = None


class ToolUsage(Record):
    """What a program used of the model in the role `tool` and of the paper search.

    `cached_calls` were answered from the run's directory and cost nothing.
    """

    model: str
    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0
    refused_calls: int = 0
    refused_searches: int = 0


class Outcome(Record):
    """How a run ended; `cause` is set if it failed."""

    kind: OutcomeKind
    detail: str = ""
    cause: FailureCause | None = None


class BarComparison(Record):
    """A score compared with the task's floor, bar and reference."""

    floor: float | None = None
    bar: float | None = None
    reference: float | None = None
    normalised: float | None = None
    success: bool | None = None
    success_reason: str | None = None
    paper_improvement: float | None = None
    paper_success: bool | None = None
    above_ceiling: bool = False
    ceiling: float | None = None
    """The best possible score, where the task knows it."""
    reference_tolerance: float | None = None
    """How far below the reference the solution gets by luck, on the metric's scale; None if its
    standard deviation is unknown."""
    rung: Rung | None = None
    """None in grades from before there were rungs."""
    rung_note: str | None = None
    """Which rungs cannot be awarded, and why."""
    ceiling_share: float | None = None
    """The share of the way from floor to ceiling; None in the full tier and without a ceiling."""


class RebuiltDraw(Record):
    """What a program made of one draw, and what that is worth.

    Without a score, `reason` says why.
    """

    draw: str
    data_hash: str
    seed: str | None = None
    """The seed of a fresh draw that is generated, which was secret until now."""
    score: float | None = None
    score_error: float | None = None
    """The standard error of the score, from the size of the test set, if the grader reports one."""
    normalised: float | None = None
    paper_improvement: float | None = None
    """Over the mean of the starter on this draw, as the paper defines it."""
    standard_error: float | None = None
    """Of the normalised score, from the size of the test set, if the grader reports one."""
    floor: float
    reference: float
    noise: float
    """The starter's standard deviation, in normalised scores."""
    noise_degrees: int
    starter_runs: int
    reference_noise: float | None = None
    """The solution's standard deviation on the public draw, in normalised scores; None if it is
    unknown."""
    reference_degrees: int = 0
    reference_runs: int = 1
    """Of the solution on this draw."""
    normalised_ceiling: float | None = None
    reason: str | None = None
    broken_rule: bool = False
    """Whether grading proved that what was made breaks a rule."""
    above_ceiling: bool = False
    seconds: float = 0.0
    cpu_seconds: float = 0.0


class SkippedDraw(Record):
    """A fresh draw that has no scale, and why; the next one is used instead."""

    draw: str
    data_hash: str
    reason: str


class Rebuilt(Record):
    """A submission that was made again: on the draw that it was submitted on, and on fresh ones."""

    step: int
    command: str | None
    """What was run; None if the submission itself is the program."""
    proposed: bool = False
    """Whether the agent left no program that makes its submission, and the command is a guess."""
    asked_for: bool = False
    """Whether --command named it."""
    program_only: bool = False
    """Whether only the program was submitted, since its agent could not execute it."""
    given: RebuiltDraw
    fresh: tuple[RebuiltDraw, ...]
    skipped: tuple[SkippedDraw, ...] = ()
    """Fresh draws that could not be measured."""
    mean: float
    """Over the fresh draws, of the normalised scores: the score of record."""
    standard_error: float | None = None
    """Of the mean, from the differences between fresh draws."""
    bar: float
    """The least mean of a success."""
    success: bool
    rung: Rung | None = None
    """Of the fresh draws together; None if it was rebuilt before there were rungs."""
    rung_note: str | None = None
    ceiling_share: float | None = None
    """The mean over the fresh draws of the share of the way from floor to ceiling."""
    transfer_gap: float | None = None
    """The given draw's normalised score minus the mean over fresh ones; None without a score."""
    gap_error: float | None = None
    submitted_score: float | None = None
    """Of the file as it was submitted."""
    submitted_normalised: float | None = None
    difference: str | None = None
    """How the submitted file differs from the one that was made again; None if it does not."""
    left_out: tuple[str, ...] = ()
    """Files of the workspace that are not sources, and were not there."""
    warnings: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    """The sources with much data in them, such as weights or predictions as text."""

    @property
    def is_better_on_fresh(self) -> bool:
        """Whether fresh draws are better than the given one by more than chance explains."""
        gap = self.transfer_gap
        return gap is not None and gap < min(-0.5, -3 * (self.gap_error or 0.0))

    @property
    def broken_rule(self) -> bool:
        return any(one.broken_rule for one in (self.given, *self.fresh))

    @property
    def above_ceiling(self) -> bool:
        return any(one.above_ceiling for one in (self.given, *self.fresh))

    @property
    def failed(self) -> list[RebuiltDraw]:
        """The fresh draws without a score."""
        return [one for one in self.fresh if one.score is None]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in (self.given, *self.fresh))

    @property
    def cpu_seconds(self) -> float:
        return sum(one.cpu_seconds for one in (self.given, *self.fresh))


class GradeRecord(BarComparison):
    """The grade of a submission. "No score" is `None` with a `reason`, never a number."""

    step: int
    valid: bool
    score: float | None = None
    reason: str | None = None
    broken_rule: bool = False
    """Whether grading proved that the submission breaks a rule: it is invalid, but no mistake."""
    extra: dict[str, Json] = {}
    seconds: float = 0.0
    tool: ToolUsage | None = None
    """What grading used, which is not part of the run's usage."""
    rebuilt: Rebuilt | None = None
    """Set under --protocol rebuild: normalised score and success are those of the fresh draws."""

    @property
    def as_submitted(self) -> "GradeRecord":
        """The grade with score and normalised score of the file as it was submitted.

        Where only a program was submitted, they are those of what it makes of the given draw.
        """
        rebuilt = self.rebuilt
        if rebuilt is None:
            return self
        score, worth = rebuilt.submitted_score, rebuilt.submitted_normalised
        if rebuilt.program_only:
            score, worth = rebuilt.given.score, rebuilt.given.normalised
        return self.model_copy(
            update={
                "score": score,
                "normalised": worth,
                "valid": score is not None,
                **dict.fromkeys(("rung", "rung_note", "ceiling_share")),
            }
        )


UnenforcedBy = Literal["journal", "no"]
"""What tells whether a rule was kept: only a reader of the journal can, or nothing does."""


class GrantedResources(Record):
    """What a run held of its machine: cores, bytes of memory, and the names of its GPUs."""

    cpus: int
    memory: int
    gpus: tuple[str, ...] = ()


class Disclosure(Record):
    """What a reader must know to assess or repeat a result."""

    task: str
    task_version: int
    metric: str
    better: Literal["higher", "lower"]
    data_hash: str
    data_verified: bool
    data_differences: tuple[str, ...] = ()
    """Known differences from the official data, which the user accepted."""
    tier: Tier
    profile: Profile | None = None
    """The hardware profile of the full tier; None in generated small tiers."""
    variant: str = "original"
    draw: str | None = None
    """The name of the run's generated data; "secret:" and a hash if secret; None in full."""
    draw_policy: str | None = None
    """What was asked for: that draw, or the range that it is one of."""
    generator: str | None = None
    """The hash of the code that generates all draws; None in full."""
    agent: str
    agent_settings: dict[str, Json] = {}
    model: str
    roles: dict[str, str] = {}
    answered_by: str = "model"
    recording: str | None = None
    """The hash of the recorded replies, if a recording answers."""
    sandbox: str
    isolation: str
    machine_code: MachineCode | Literal["none"] | None = None
    """"none" if grading executes no submission; None if that is not known."""
    tools: tuple[str, ...] | None = None
    """Compilers and language runtimes besides Python; None if all of the machine were visible."""
    image: str | None = None
    """The base image of the sandbox; None if it uses none."""
    image_id: str | None = None
    """The id of the image with the packages."""
    network: bool = False
    gpus: int | None = None
    """The GPUs that were asked for, if not those of the task."""
    resources: GrantedResources | None = None
    """What the run held when it began; None if it was confined to no part of its machine."""
    limits: dict[str, Json]
    first_limits: dict[str, Json] | None = None
    """The limits that the run was started with, if they were raised later."""
    feedback: str = "none"
    execution: bool = True
    """Whether the agent could execute anything; if not, its program was run after it submitted."""
    protocol: str = "standard"
    rebuild_draws: int | None = None
    """The fresh draws that the submission is rebuilt on; None unless the protocol is rebuild."""
    fresh_key: str | None = None
    """The hash of the key that fresh draws follow from, fixed before the run began."""
    interactive: bool = False
    """Whether the agent could ask a person for help."""
    primary: Pair | None = None
    """The comparison that was named before this run began; no part of what the run is."""
    python_env: str
    python_packages: dict[str, str] = {}
    """The Python and packages of the virtual environment; empty if they were not recorded."""
    unenforced_rules: dict[str, UnenforcedBy] = {}
    """The task's rules that a submission can break and still be graded."""
    hardware: dict[str, Json]
    packages: dict[str, str]


class BranchPoint(Record):
    """Where a run branched off: the path of the other run below OUT, and the step."""

    run: str
    step: int
    parent_hash: str | None = None
    """The hash of the line of that run's journal that ends the step."""
    edited: str | None = None
    """The hash of the text that replaces that step's observation, if one does."""
    mixed: bool = False
    """Whether the history has an edited observation, or another agent, model or limits made it."""


class RunRecord(Record):
    """`run.json`: what this run is, written before all else in its directory, never rewritten."""

    v: Literal[2] = 2
    task_path: str
    epoch: Annotated[int, Field(ge=1)]
    seed: int
    created: str
    disclosure: Disclosure
    branched_from: BranchPoint | None = None
    origin: Origin = "run"
    imported_trace: str | None = None
    """The hash of the trace that an imported run was made from."""
    replay_of: str | None = None
    """The directory of the run that a replay repeats."""

    def directory(self, settings_hash: str) -> PurePosixPath:
        """The run's path below OUT."""
        facts = self.disclosure
        model = facts.model.replace("/", "_")
        agent = f"{facts.agent}-{settings_hash[:8]}"
        return PurePosixPath("runs", facts.task, facts.tier, agent, model, str(self.epoch))
