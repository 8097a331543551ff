"""Recordings: the replies of models in runs, as a file of JSON lines that can be replayed.

    {"kind": "run", "v": 1, "task": "house-price", "agent": "research", "epoch": 1, ...}
    {"kind": "reply", "step": 1, "role": "main", "number": 1, "prompt": "...", "reply": "..."}
    {"kind": "reply", "step": 1, "role": "fast", "number": 1, "prompt": "...", "reply": "..."}
    {"kind": "reply", "step": 2, "role": "main", "number": 1, "shared": 5120, "prompt": "...", ...}
    {"kind": "run", ...}

The line of a run is followed by its replies in order. Prompts are kept for comparison only, so they
are normalised, and omit the prefix they share with the previous prompt of the same role (`shared`
characters). A recording is made from a run's journal and objects, so failed and interrupted runs
can be recorded, too.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from inspect_ai.model import StopReason
from pydantic import Field, TypeAdapter, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.fs import parse_json, read_regular, write_atomically
from mlagentbench.models.prompt_matching import normalised
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Disclosure, Json, Record, Tier, first_problem
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import ReplyLine, read_journal
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import SuiteOutcome, find_run, read_record

SHIPPED = Path(__file__).parents[1] / "recordings"
"""The recordings that come with the package; each says who answered."""
BY_HAND = "recorded by hand through the mailbox"


class RecordingHeader(Record):
    """The run that the following replies belong to, and who answered."""

    kind: Literal["run"] = "run"
    v: Literal[1] = 1
    task: str
    task_version: int
    tier: Tier
    data_hash: str
    agent: str
    agent_settings: dict[str, Json]
    model: str
    roles: dict[str, str]
    epoch: int
    answered_by: str
    created: str
    package: str


class RecordedReply(Record):
    """A reply with its step, role, index within the step (`number`) and prompt.

    `message` is the complete reply as Inspect has it, if it is more than a text.
    """

    kind: Literal["reply"] = "reply"
    step: int
    role: str
    number: int
    shared: int = 0
    prompt: str
    reply: str
    message: Json = None
    stop_reason: StopReason = "stop"
    input_tokens: int = 0
    output_tokens: int = 0


class RecordedRun(Record):
    """A run with its replies, whose prompts are complete."""

    run: RecordingHeader
    replies: tuple[RecordedReply, ...]


class Recording(Record):
    """The runs in a file, and its hash."""

    runs: tuple[RecordedRun, ...]
    sha256: str


_STOP_REASON: TypeAdapter[StopReason] = TypeAdapter(StopReason)
_LINE: TypeAdapter[RecordingHeader | RecordedReply] = TypeAdapter(
    Annotated[RecordingHeader | RecordedReply, Field(discriminator="kind")]
)


def record_run(run: RunDirectory, answered_by: str | None = None) -> RecordedRun | None:
    """The replies of a run so far; None when no model has answered in it."""
    lines = read_journal(run.journal).replies
    return record_replies(run, lines, answered_by) if lines else None


def record_replies(
    run: RunDirectory, lines: Sequence[ReplyLine], answered_by: str | None = None
) -> RecordedRun:
    """A recording of these replies of a run."""
    record = read_record(run)
    facts = record.disclosure
    header = RecordingHeader(
        task=facts.task,
        task_version=facts.task_version,
        tier=facts.tier,
        data_hash=facts.data_hash,
        agent=facts.agent,
        agent_settings=facts.agent_settings,
        model=facts.model,
        roles=facts.roles,
        epoch=record.epoch,
        answered_by=answered_by or _who_answered(facts, lines),
        created=record.created,
        package=facts.packages.get("mlagentbench", "unknown"),
    )
    return RecordedRun(run=header, replies=tuple(_replies(lines, ObjectStore(run.objects))))


def _who_answered(facts: Disclosure, lines: Sequence[ReplyLine]) -> str:
    if any(line.matched is not None for line in lines):
        return facts.answered_by
    through_mailbox = sorted({line.answered_by for line in lines if line.answered_by is not None})
    if not through_mailbox:
        return f"recorded from {', '.join(dict.fromkeys([facts.model, *facts.roles.values()]))}"
    if through_mailbox == ["hand"]:
        return BY_HAND
    return f"recorded from {', '.join(through_mailbox)} through the mailbox"


def _replies(lines: Sequence[ReplyLine], store: ObjectStore) -> Iterator[RecordedReply]:
    counts: Counter[tuple[int, str]] = Counter()
    for line in lines:
        counts[line.step, line.role] += 1
        yield RecordedReply(
            step=line.step,
            role=line.role,
            number=counts[line.step, line.role],
            prompt=normalised(
                store.read(line.prompt_hash, f"a prompt of step {line.step}").decode()
            ),
            reply=line.reply,
            message=line.message,
            stop_reason=_STOP_REASON.validate_python(line.stop_reason),
            input_tokens=line.input_tokens,
            output_tokens=line.output_tokens,
        )


def record_directories(paths: Sequence[Path], to: Path, answered_by: str | None = None) -> str:
    said = record_runs([find_run(path) for path in paths], to, answered_by)
    if said is None:
        raise UsageError("no model has answered in these runs; there is nothing to record")
    return said


def record_outcome(outcome: SuiteOutcome, to: Path | None, say: Callable[[str], None]) -> None:
    """Record the runs of a `run` command, finished or not, if `to` names a file."""
    if to is not None:
        runs = [RunDirectory(outcome.out, Path(result.path)) for result in outcome.results]
        say(record_runs(runs, to) or f"nothing recorded in {to}: no model has answered")


def record_runs(
    directories: Sequence[RunDirectory], to: Path, answered_by: str | None = None
) -> str | None:
    """Write the recording and return a summary; None when there is nothing to write."""
    found = [record_run(run, answered_by) for run in directories]
    recorded = [run for run in found if run is not None]
    if not recorded:
        return None
    write_recording(to, recorded)
    replies = sum(len(run.replies) for run in recorded)
    who = "; ".join(dict.fromkeys(run.run.answered_by for run in recorded))
    runs = counted(len(recorded), "run")
    return f"recorded {counted(replies, 'reply', 'replies')} of {runs} in {to} ({who})"


def write_recording(path: Path, runs: Sequence[RecordedRun]) -> None:
    """Write the file atomically; a file that is not a recording is not overwritten."""
    require_recordable(path)
    lines: list[RecordingHeader | RecordedReply] = []
    for run in runs:
        lines += [run.run, *_shortened(run.replies)]
    write_atomically(path, "".join(f"{_dumped(line)}\n" for line in lines).encode())


def require_recordable(path: Path | None) -> None:
    """Raise UsageError when a recording cannot be written there; None is always fine."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file for the recording")
    if path.exists() and path.stat().st_size > 0:
        try:
            read_recording(path)
        except UsageError as error:
            raise UsageError(f"not overwritten: {error}") from error


def _dumped(line: RecordingHeader | RecordedReply) -> str:
    values = line.model_dump(mode="json", exclude_defaults=isinstance(line, RecordedReply))
    return json.dumps({"kind": line.kind, **values})


def _shortened(replies: Sequence[RecordedReply]) -> Iterator[RecordedReply]:
    before: dict[str, str] = {}
    for reply in replies:
        shared = shared_prefix(before.get(reply.role, ""), reply.prompt)
        before[reply.role] = reply.prompt
        yield reply.model_copy(update={"shared": shared, "prompt": reply.prompt[shared:]})


def shared_prefix(one: str, other: str) -> int:
    """The number of characters that two texts share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def read_recordings(path: Path) -> Recording:
    """Read a recording, or all recordings of a directory as one; raises UsageError."""
    if not path.is_dir():
        return read_recording(path)
    found = [read_recording(file) for file in sorted(path.glob("*.jsonl"))]
    if not found:
        raise UsageError(f"recording {path}: there is no *.jsonl in this directory")
    together = "".join(one.sha256 for one in found)
    return Recording(
        runs=tuple(run for one in found for run in one.runs),
        sha256=hashlib.sha256(together.encode()).hexdigest(),
    )


def read_recording(path: Path) -> Recording:
    """Read a recording; raises UsageError that names the wrong line."""
    try:
        raw = read_regular(path.resolve())  # the user names it, so it may be a link
    except OSError as error:
        raise UsageError(f"recording {path}: {error.strerror}") from error
    runs: list[RecordedRun] = []
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            value = _LINE.validate_python(parse_json(line))
        except ValueError as error:
            reason = first_problem(error) if isinstance(error, ValidationError) else error
            raise UsageError(f"{path} is not a recording: line {number}: {reason}") from error
        if isinstance(value, RecordingHeader):
            runs.append(RecordedRun(run=value, replies=()))
        elif not runs:
            raise UsageError(f"{path} is not a recording: line {number}: a reply before any run")
        else:
            runs[-1] = _with(runs[-1], value)
    if not runs:
        raise UsageError(f"{path} is not a recording: it is empty")
    return Recording(runs=tuple(runs), sha256=hashlib.sha256(raw).hexdigest())


def _with(run: RecordedRun, reply: RecordedReply) -> RecordedRun:
    """The run with one more reply, its prompt completed."""
    before = next((one.prompt for one in reversed(run.replies) if one.role == reply.role), "")
    prompt = before[: reply.shared] + reply.prompt
    completed = reply.model_copy(update={"shared": 0, "prompt": prompt})
    return run.model_copy(update={"replies": (*run.replies, completed)})
