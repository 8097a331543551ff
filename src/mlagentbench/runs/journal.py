"""What happened in a run, as JSON lines that are appended and never rewritten.

Each line has `v`, the format's version, and `n`, its number, and is chained to the line before it
(see hash_chain.py). Replies, ends and outcomes are on disk before anything acts on them. Long texts
are in the object store.
"""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.fs import parse_json
from mlagentbench.records import Action, Json, Observation, Outcome, Record, Step, Tier, Usage
from mlagentbench.runs.hash_chain import (
    FORMAT,
    Accepted,
    ChainedFile,
    accepted_lines,
    chained,
    first_hash,
    payload_of,
    require_chain,
    require_format,
)
from mlagentbench.runs.lease import Lease
from mlagentbench.runs.objects.object_store import ObjectStore

LONG_TEXT = 16_000
"""Longer texts go to the object store."""

ReplyFault = Literal["empty", "fields", "action", "json", "cut off", "no tool call", "no code"]
"""Why a reply cannot be used: it is empty, lacks fields, names no action, its arguments are not
JSON, it was cut off, calls no tool, or has no code although code was requested."""
EventName = Literal[
    "resumed",
    "interrupted",
    "sandbox restarted",
    "refused",
    "failed",
    "feedback",
    "note",
    "unreadable",
    "limits",
    "branched",
    "taken over",
    "edited",
    "new holder",
    "worker",
]
"""limits: other limits hold from here on. branched: the lines above are another run's history.
taken over: they are also another agent's. edited: the last observation was replaced.
new holder: another process continues the run, since the one before had fallen silent.
worker: where an engine carries the run out from here on."""


class Line(Record):
    """What every line has; `at` is the time of day, `clock` the run's own seconds."""

    v: Literal[2] = 2
    n: int
    at: float
    clock: float


class RunLine(Line):
    """The first line: what the run starts from."""

    kind: Literal["run"] = "run"
    task: str
    task_version: int
    tier: Tier
    data_hash: str
    actions: tuple[str, ...]
    limits: dict[str, Json]
    snapshot: str


class ReplyLine(Line):
    """What a model answered, and the agent's state needed to resume from here.

    `step` is the step that was being prepared or carried out. `prompt_hash` names the prompt's text
    in the object store. `message` is the whole reply, as Inspect has it, where it is more than a
    text, as one with tool calls. `matched` says of a recorded reply whether it was given to the
    same prompt; `answered_by` who wrote a reply that came through a mailbox. Of the input tokens,
    `cached_tokens` came from the provider's cache; of the output tokens, `reasoning_tokens` were
    not shown; `seconds` is how long the model took, waiting for its provider included.
    """

    kind: Literal["reply"] = "reply"
    step: int
    role: str
    prompt_hash: str
    reply: str
    message: Json = None
    stop_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    seconds: float | None = None
    state: Json = None
    matched: bool | None = None
    answered_by: str | None = None


class BeginLine(Line):
    """An action is about to be carried out."""

    kind: Literal["begin"] = "begin"
    step: int
    action: Action


class EndLine(Line):
    """An action's observation and the workspace after it.

    `text` is the hash of the observation's text if that is too long for the journal; `output` is
    the hash of all that a command printed, if the observation shows only a part. `notes` names what
    the snapshot leaves out; `edited` and `undone` name the file that it changed or restored.
    `usage` is the run's usage so far: programs that the action ran may have asked a model, too.
    """

    kind: Literal["end"] = "end"
    step: int
    observation: Observation
    text: str | None = None
    output: str | None = None
    snapshot: str
    notes: tuple[str, ...] = ()
    edited: str | None = None
    undone: str | None = None
    started: float
    seconds: float
    usage: Usage | None = None


class EventLine(Line):
    """Something worth knowing that is not a step.

    An unreadable reply is named by the number of its line, with what was wrong with its form.
    `limits` are those that hold from here on.
    """

    kind: Literal["event"] = "event"
    event: EventName
    detail: str = ""
    reply: int | None = None
    form: ReplyFault | None = None
    limits: dict[str, Json] | None = None


class OutcomeLine(Line):
    """How the run ended, and the workspace then: not all that changes it need be a step."""

    kind: Literal["outcome"] = "outcome"
    outcome: Outcome
    snapshot: str
    usage: Usage


L = TypeVar("L", bound=Line)

AnyLine = Annotated[
    RunLine | ReplyLine | BeginLine | EndLine | EventLine | OutcomeLine,
    Field(discriminator="kind"),
]
_LINE: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)
_SYNCED = (ReplyLine, EndLine, OutcomeLine)


class Journal:
    """A journal open for writing, by the process that holds the run's lease."""

    def __init__(self, path: Path, others: Iterable[Path] = (), lease: Lease | None = None) -> None:
        """Continue a journal, or begin one; ChainBroken when it was altered.

        The run's other files of chained lines tell whether its end is missing.
        """
        self.path = path
        read = accepted_lines(path)
        self.lines_before = _parsed(read, path)
        """What the journal said when it was opened: the next line follows exactly this."""
        require_chain(path, others)
        self.written = 0
        """Bytes since then."""
        self._next = len(self.lines_before)
        self._file = ChainedFile(path, lease, read)

    def append(self, line_type: type[L], clock: float, **fields: Json) -> L:
        """Write one line and give it back; where its kind asks for it, it is on disk then.

        A line that cannot be written whole, as on a full disk, leaves nothing behind and is a
        RunFailed.
        """
        line = line_type(n=self._next, at=time.time(), clock=round(clock, 6), **fields)
        encoded = encode_line(line)
        self._file.append(encoded, sync=line_type in _SYNCED)
        self.written += len(encoded)
        self._next += 1
        return line

    def close(self) -> None:
        self._file.close()


class LimitsFrom(Record):
    """The limits that hold after a step, until others do."""

    step: int
    limits: dict[str, Json]


class WriteLine(Protocol):
    """Appends a line of that type to a run's journal."""

    def __call__(self, line_type: type[L], **fields: Json) -> L: ...


class History:
    """What a journal says of its run; the only thing that others need to know of it."""

    def __init__(
        self,
        lines: Sequence[AnyLine],
        store: ObjectStore | None = None,
        path: Path | None = None,
    ) -> None:
        """Read lines; a UsageError names the journal's path when they do not fit together."""
        self.run: RunLine | None = None
        self.steps: list[Step] = []
        self.replies: list[ReplyLine] = []
        self.events: list[EventLine] = []
        self.outcome: Outcome | None = None
        self.snapshot: str | None = None
        """The workspace after the last step, or at the start."""
        self.interrupted: BeginLine | None = None
        """An action that was begun and never ended."""
        self.undo: dict[str, list[str]] = {}
        """For each edited file, the snapshots before each edit that can be taken back."""
        self.usage = Usage()
        self.limits: list[LimitsFrom] = []
        """All that held, in their order."""
        self.taken_over = 0
        """The steps that another agent did, at the beginning."""
        self._store = store
        self._path = path
        for line in lines:
            self._add(line)

    def _add(self, line: AnyLine) -> None:
        used = {"seconds": line.clock}
        match line:
            case RunLine():
                self.run, self.snapshot = line, line.snapshot
                self.limits.append(LimitsFrom(step=0, limits=line.limits))
            case ReplyLine():
                self.replies.append(line)
                used |= _with_reply(self.usage, line)
            case BeginLine():
                self.interrupted = line
            case EndLine():
                self._end(line)
                used |= _tokens(line.usage)
                used["steps"] = len(self.steps)
            case EventLine():
                self._event(line)
            case OutcomeLine():
                self.outcome, self.snapshot = line.outcome, line.snapshot
                used |= _tokens(line.usage)
        self.usage = self.usage.model_copy(update=used)

    def _event(self, line: EventLine) -> None:
        self.events.append(line)
        if line.limits is not None:
            self.limits.append(LimitsFrom(step=len(self.steps), limits=line.limits))
        if line.event == "taken over":
            self.taken_over = len(self.steps)
        if line.event == "resumed":
            self.outcome, self.snapshot = None, self.last_steps_snapshot

    @property
    def last_steps_snapshot(self) -> str | None:
        """The workspace as the last step left it; the submitted one may be earlier."""
        if self.steps:
            return self.steps[-1].snapshot
        return None if self.run is None else self.run.snapshot

    def _end(self, line: EndLine) -> None:
        if self.interrupted is None or self.interrupted.step != line.step:
            raise self._damaged(f"step {line.step} ends but never began")
        if line.undone is not None and not self.undo.get(line.undone):
            raise self._damaged(f"step {line.step} takes back an edit that was never made")
        observation = line.observation
        if line.text is not None and self._store is not None:
            text = self._store.read(line.text, f"what step {line.step} showed").decode()
            observation = observation.model_copy(update={"text": text})
        self.steps.append(
            Step(
                n=line.step,
                action=self.interrupted.action,
                observation=observation,
                snapshot=line.snapshot,
                started=line.started,
                seconds=line.seconds,
                usage=line.usage,
            )
        )
        if self.snapshot is not None:
            note_edit(self.undo, line.edited, line.undone, self.snapshot)
        self.snapshot = line.snapshot
        self.interrupted = None

    def _damaged(self, fault: str) -> UsageError:
        where = "" if self._path is None else f"{self._path}: "
        return UsageError(f"{where}the journal is damaged: {fault}")


def encode_line(line: Line) -> bytes:
    """What a line of the file carries."""
    values = {"v": FORMAT, "n": line.n, "kind": type(line).model_fields["kind"].default}
    values |= line.model_dump(exclude_defaults=True)
    return json.dumps(values, separators=(",", ":")).encode()


def whole_journal(lines: Iterable[Line], journal: Path) -> bytes:
    """All bytes of a journal with these lines, for a run whose run.json is written."""
    return chained(map(encode_line, lines), first_hash(journal))


def note_edit(
    undo: dict[str, list[str]], edited: str | None, undone: str | None, before: str
) -> None:
    """Keep the list of what can be taken back up to date after a step."""
    if edited is not None:
        undo.setdefault(edited, []).append(before)
    if undone is not None:
        undo[undone].pop()


def _tokens(used: Usage | None) -> dict[str, Json]:
    return {} if used is None else used.model_dump(exclude={"steps", "seconds"})


def _with_reply(used: Usage, line: ReplyLine) -> dict[str, Json]:
    return {
        "input_tokens": used.input_tokens + line.input_tokens,
        "output_tokens": used.output_tokens + line.output_tokens,
        "cost": used.cost if line.cost is None else (used.cost or 0.0) + line.cost,
    }


def read_lines(path: Path) -> list[AnyLine]:
    """The lines of a journal, without a torn last one; UsageError when one cannot be read.

    Whether their chain holds is not looked at: a damaged journal is shown as far as it goes.
    """
    return _parsed(accepted_lines(path), path)


def _parsed(read: Accepted, path: Path) -> list[AnyLine]:
    lines: list[AnyLine] = []
    for number, raw in enumerate(read.lines, start=1):
        try:
            lines.append(_LINE.validate_python(_checked(parse_json(payload_of(raw)), path)))
        except ValueError as error:
            reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise UsageError(f"{path}, line {number}: the journal is damaged: {reason}") from error
    return lines


def read_journal(path: Path, store: ObjectStore | None = None) -> History:
    """What a journal says, nothing if there is none; with a store, long texts are read from it."""
    return History(read_lines(path) if path.exists() else [], store, path)


def _checked(values: Json, path: Path) -> Json:
    if isinstance(values, dict):
        require_format(path.parent, values.get("v", FORMAT), path.name)
    return values
