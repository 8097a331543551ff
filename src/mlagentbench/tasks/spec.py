"""The contents of task.toml as records; unknown keys are errors."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mlagentbench.machine.ledger import Need
from mlagentbench.records import MachineCode, Profile, Record, Tier, UnenforcedBy

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}


def _parse_quantity(value: object, units: Sequence[str], example: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-zA-Z]+)", value) if isinstance(value, str) else None
    if match is None or match[2] not in units:
        raise ValueError(f"expected a text like {example!r} (units: {', '.join(units)})")
    return float(match[1]) * _UNITS[match[2]]


def parse_seconds(value: object) -> float:
    """Read a duration like "10m"."""
    return _parse_quantity(value, ("s", "m", "h"), "10m")


def parse_bytes(value: object) -> float:
    """Read a size like "8GB"."""
    return _parse_quantity(value, ("KB", "MB", "GB"), "8GB")


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError(f"expected a path below the directory it belongs to, not {path!r}")
    return path


RelativePath = Annotated[str, AfterValidator(_inside)]
Seconds = Annotated[float, BeforeValidator(parse_seconds)]
Bytes = Annotated[float, BeforeValidator(parse_bytes)]


class Metric(Record):
    """The name, direction and scale of the score."""

    name: str
    better: Literal["higher", "lower"]
    scale: Literal["linear", "log"] = "linear"

    def is_better(self, score: float, than: float) -> bool:
        return score > than if self.better == "higher" else score < than

    def best(self, scores: Sequence[float]) -> float:
        return max(scores) if self.better == "higher" else min(scores)


class Submission(Record):
    path: str
    max_bytes: Bytes = 1e9


class Commands(Record):
    starter: str
    solution: str
    sample: str | None = None


class Collect(Record):
    """Agent code that runs on hidden inputs, in a fresh sandbox without answers."""

    command: str
    inputs: str | None = None
    timeout: Seconds = 120.0
    machine_code: MachineCode = "any"
    """Not "installed" where libraries compile at run time, as torch does."""

    @model_validator(mode="after")
    def _can_be_launched(self) -> "Collect":
        if self.machine_code == "installed" and not is_python_program(self.command.split()):
            raise ValueError("machine_code = 'installed' needs a command like 'python SCRIPT'")
        return self


def is_python_program(command: Sequence[str]) -> bool:
    """Whether a command has the form `python SCRIPT ARGUMENTS`."""
    match command:
        case ["python" | "python3", script, *_]:
            return not script.startswith("-")
        case _:
            return False


REPRODUCE = "reproduce.sh"
"""The program that makes a submission again."""


def _command(value: object) -> object:
    return None if value == "none" else value


class Rebuild(Record):
    """How a submission is made again, on data that did not exist when it was written."""

    command: Annotated[str | None, BeforeValidator(_command)] = f"bash {REPRODUCE}"
    """None ("none" in task.toml): the submission is itself a program, and is graded as it is."""
    sources: tuple[RelativePath, ...] = ()
    """What of the submission's directory is written by hand; all else in it is made again."""
    fresh: str = "other data of the same kind; in the full tier, another split of the same data"
    """What a fresh draw changes, for readers and agents."""


class Tool(Record):
    """A model and a paper search that the submitted program uses; papers are below private/.

    While the agent works, the search knows the development papers; at grading the hidden ones, and
    the limits hold for all hidden inputs together.
    """

    model: str
    """What `tasks check` and `tasks measure` use unless told otherwise."""
    development_papers: RelativePath
    papers: RelativePath
    searches: Annotated[int, Field(gt=0)]
    tokens: Annotated[int, Field(gt=0)]


class TaskLimits(Record):
    steps: Annotated[int, Field(gt=0)] = 50
    time: Seconds = 5 * 3600.0
    command_time: Seconds = 3600.0


ToolName = Literal["gcc", "git", "node", "perl"]


class Resources(Record):
    cpus: Annotated[int, Field(gt=0)] = 2
    memory: Bytes = 8e9
    gpus: Annotated[int, Field(ge=0)] = 0
    tools: tuple[ToolName, ...] = ()
    """Compilers and language runtimes that are visible in the sandbox; all others are hidden."""

    def need(self, gpus: int | None = None) -> Need:
        """What a run needs to hold; `gpus` is another number of GPUs than the task's."""
        return Need(
            cpus=self.cpus, memory=int(self.memory), gpus=self.gpus if gpus is None else gpus
        )


class HardwareProfile(Record):
    """The hardware that the full tier's limits assume, as a table [profiles.NAME].

    What it does not have is as in [limits] and [resources].
    """

    hardware: str
    """A short description, for people."""
    steps: Annotated[int | None, Field(gt=0)] = None
    time: Annotated[float | None, BeforeValidator(parse_seconds)] = None
    command_time: Annotated[float | None, BeforeValidator(parse_seconds)] = None
    cpus: Annotated[int | None, Field(gt=0)] = None
    memory: Annotated[float | None, BeforeValidator(parse_bytes)] = None
    gpus: Annotated[int | None, Field(ge=0)] = None

    def limits(self, otherwise: TaskLimits) -> TaskLimits:
        """The limits on this profile."""
        return otherwise.model_copy(update=self._given("steps", "time", "command_time"))

    def resources(self, otherwise: Resources) -> Resources:
        """The resources on this profile."""
        return otherwise.model_copy(update=self._given("cpus", "memory", "gpus"))

    def _given(self, *names: str) -> dict[str, float]:
        given = self.model_dump(include=set(names), exclude_none=True)
        return {name: given[name] for name in names if name in given}


class PythonNeeds(Record):
    requirements: tuple[str, ...]


class ReadOnly(Record):
    paths: tuple[str, ...] = ()


class UnpackedPart(Record):
    """A file or folder of an archive that `--from` accepts instead of the archive."""

    path: RelativePath
    """As in the archive, with its top folder."""
    md5: str | None = None
    files: int | None = None
    """The number of files in a folder."""


class SourceFile(Record):
    """A file of the official source. Without a checksum, every result from it is unverified."""

    path: RelativePath
    url: str | None = None
    md5: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    optional: bool = False
    unpacked: tuple[UnpackedPart, ...] = ()
    """What the archive contains, as far as it is used; verified where a checksum is known."""
    folders: tuple[RelativePath, ...] = ()
    """Other names that the archive's top folder has where programs have unpacked it."""


class ListedImages(Record):
    """Images that are downloaded one by one, from the URLs in one of the source's files."""

    listing: RelativePath
    """A COCO file: each of its `images` has a `file_name` and a `coco_url`."""
    folder: RelativePath = "images"
    mirrors: dict[str, str] = {}
    """URL prefixes, with replacements to try when a URL fails."""
    most_missing: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Preparation fails when a larger share is missing; up to it, images are left out."""


class SourceRecords(Record):
    """A seeded choice among the source's records, each of a few files."""

    listing: RelativePath
    """One of the source's files: a JSON list of objects, each with a `record_id`."""
    files: tuple[RelativePath, ...]
    """The files of a record; `{record}` is replaced by its id."""
    budget: Bytes
    """Records are chosen until their files have at least this many bytes."""


class Source(Record):
    kind: Literal["url", "kaggle", "huggingface", "generated"]
    ref: str = ""
    licence: str = "unknown"
    page: str | None = None
    files: tuple[SourceFile, ...] = ()
    records: tuple[SourceRecords, ...] = ()
    images: ListedImages | None = None

    @model_validator(mode="after")
    def _listing_is_fetched(self) -> "Source":
        listed = self.images is None or any(f.path == self.images.listing for f in self.files)
        if not listed:
            raise ValueError("images.listing must be one of the source's files")
        return self


class StarterMeasurements(Record):
    mean: float
    std: float
    runs: int
    deterministic: bool = False
    over_bar: int | None = None
    """The number of these runs that would count as a success."""
    over_paper_bar: int | None = None
    """The number that would by the paper's rule."""
    seconds: float | None = None
    cpu_seconds: float | None = None


class ReferenceMeasurements(Record):
    mean: float
    std: float
    runs: int
    source: str = "ours"
    seconds: float | None = None
    cpu_seconds: float | None = None


class PooledNoise(Record):
    """The starter's noise on one draw, pooled with its noise on the public draw."""

    std: Annotated[float, Field(ge=0)]
    """On the metric's scale (log: of the logarithm)."""
    degrees: Annotated[int, Field(gt=0)]
    """Degrees of freedom, of both together."""
    pooled_with: str
    """The hash of the public draw's data."""


class Measured(Record):
    """What `mlagentbench tasks measure` measured on one prepared data set."""

    data: str
    bytes: int | None = None
    """Size of the prepared data, public and private."""
    trivial: dict[str, float]
    default: dict[str, float] = {}
    """The scores of the programs that people write first, by name; only in the hard tier."""
    ablations: dict[str, float] = {}
    """The scores of programs that are almost right, by name; only in the hard tier."""
    starter: StarterMeasurements
    noise: PooledNoise | None = None
    """None on the public draw, whose own runs are enough."""
    reference: ReferenceMeasurements
    bar: float
    ceiling: float | None = None
    tool: str | None = None
    """The model in the role `tool` that they were measured with."""
    programs: str | None = None
    """The hash of starter, solution and grader, of measurements that are not in task.toml."""

    @property
    def panels(self) -> dict[str, dict[str, float]]:
        """What a run has to beat besides the starter, by kind and name."""
        return {"trivial": self.trivial, "default": self.default, "ablations": self.ablations}

    @property
    def beaten(self) -> dict[str, float]:
        """The same by one name each."""
        return {
            name if kind == "trivial" else f"{kind} {name}": score
            for kind, scores in self.panels.items()
            for name, score in scores.items()
        }


def profile_of(tier: Tier, asked: Profile | None) -> Profile | None:
    """The profile of a tier, if it has any; a ValueError if one was asked for in vain."""
    if tier == "full":
        return asked or "cpu"
    if asked is not None:
        raise ValueError("only the full tier has profiles; add --tier full, or leave it out")
    return None


MeasuredKey = Tier | Literal["full-gpu"]
"""What measurements are of: a tier; of the full tier, its cpu profile unless it says otherwise."""


def measured_key(tier: Tier, profile: Profile | None) -> MeasuredKey:
    return "full-gpu" if tier == "full" and profile == "gpu" else tier


class Renamed(Record):
    """What is replaced in the variant `TASK@renamed` (tasks/renamed.py)."""

    columns: tuple[str, ...] = ()
    """Headers; also replaced in programs and texts."""
    words: tuple[str, ...] = ()
    """Values that appear in programs and texts; also replaced there."""
    values: tuple[str, ...] = ()
    """Columns whose text values are replaced."""
    ids: tuple[str, ...] = ()
    """Columns of ids."""
    scaled: tuple[tuple[str, ...], ...] = ()
    """Groups of columns whose numbers are multiplied by one factor each."""
    shifted: tuple[tuple[str, ...], ...] = ()
    """Groups of columns to whose numbers one number each is added."""
    text: dict[str, str] = {}
    """Phrases of problem and programs, with their replacements."""
    measured: dict[MeasuredKey, Measured] = {}


Category = Literal[
    "canonical",
    "classic-kaggle",
    "kaggle-challenge",
    "recent-research",
    "code-improvement",
    "llm-tool",
    "custom",
]


class TaskSpec(Record):
    """The contents of task.toml."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: str
    category: Category
    task_type: str
    modality: str
    kind: Literal["predictions", "artefact", "program", "timed"]
    version: Annotated[int, Field(gt=0)]
    needs_model: bool = False
    metric: Metric
    submission: Submission
    commands: Commands
    collect: Collect | None = None
    tool: Tool | None = None
    rebuild: Rebuild = Rebuild()
    limits: TaskLimits = TaskLimits()
    resources: Resources = Resources()
    profiles: dict[Profile, HardwareProfile] = {}
    python: PythonNeeds
    read_only: ReadOnly = ReadOnly()
    rules: dict[str, Literal["limit", "grader", "sandbox"] | UnenforcedBy] = {}
    """What enforces each rule: a limit, the grader, the sandbox, or one of UnenforcedBy."""
    sources: tuple[Source, ...]
    measured: dict[MeasuredKey, Measured] = {}
    renamed: Renamed | None = None
    variant_of: str | None = None
    """The original task of a renamed variant."""

    @model_validator(mode="before")
    @classmethod
    def _rebuild_by_kind(cls, values: object) -> object:
        """Without a [rebuild] table, a submitted program is graded as it is."""
        if not isinstance(values, dict) or values.get("kind") not in ("program", "timed"):
            return values
        return {"rebuild": {"command": None}, **values}

    @property
    def unenforced_rules(self) -> dict[str, UnenforcedBy]:
        """The rules that a submission can break and still be graded."""
        return {rule: by for rule, by in self.rules.items() if by == "journal" or by == "no"}

    @model_validator(mode="after")
    def _kind_fits(self) -> "TaskSpec":
        if self.kind in ("program", "timed") and self.collect is None:
            raise ValueError(f"kind = {self.kind!r} needs a [collect] table")
        if self.needs_model != (self.tool is not None):
            raise ValueError("needs_model = true and a [tool] table go together")
        if self.needs_model and self.kind != "program":
            raise ValueError(f"needs_model = true needs kind = 'program', not {self.kind!r}")
        return self

    def on_profile(self, profile: Profile) -> "TaskSpec":
        """The task with the limits and resources of a profile that it has."""
        chosen = self.profiles.get(profile)
        if chosen is None:
            return self
        changed = {
            "limits": chosen.limits(self.limits),
            "resources": chosen.resources(self.resources),
        }
        return self.model_copy(update=changed)

    @property
    def required_tool(self) -> Tool:
        """The [tool] table of a task that has one."""
        if self.tool is None:
            raise ValueError(f"{self.id} has no [tool] table")
        return self.tool

    @property
    def tool_model(self) -> str | None:
        """What `tasks check` and `tasks measure` use in the role `tool`."""
        return None if self.tool is None else self.tool.model
