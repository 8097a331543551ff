"""Writing the journal of an imported run: the lines that our harness would have written."""

from pathlib import Path

from mlagentbench.fs import write_atomically
from mlagentbench.legacy.observation_status import (
    edited_file,
    observation_of,
    our_name,
    undone_file,
)
from mlagentbench.legacy.original_log import LegacyRun
from mlagentbench.legacy.original_replies import (
    LegacyReply,
    MatchedReplies,
    match_replies,
    read_replies,
)
from mlagentbench.records import UNKNOWN, Action, Disclosure, Json, Observation, Record, Usage
from mlagentbench.runs.journal import (
    LONG_TEXT,
    BeginLine,
    EndLine,
    EventLine,
    L,
    Line,
    OutcomeLine,
    ReplyLine,
    RunLine,
    whole_journal,
)
from mlagentbench.runs.objects.object_store import ObjectStore

NO_FILES = "the logs hold no files of this step; those of the step before are used instead"
NO_START = "the workspace before the first step is unknown; the first snapshot is used instead"


class Workspaces(Record):
    """The snapshots of a run: the first known one, those after each step, the one at the end."""

    first: str
    after: dict[int, str]
    final: str | None
    is_known: bool
    """Whether the logs hold any files at all."""


def write_journal(
    path: Path, log: LegacyRun, facts: Disclosure, workspaces: Workspaces, store: ObjectStore
) -> MatchedReplies:
    """Write the journal of a run whose run.json is written; gives what became of the replies."""
    replies = match_replies(read_replies(log), log.steps)
    writer = _Writer(log, workspaces, store)
    writer.begin(facts, replies)
    for number in range(1, len(log.steps) + 1):
        for reply in replies.by_step.get(number, ()):
            writer.reply(number, reply)
        writer.step(number)
    for reply in replies.by_step.get(len(log.steps) + 1, ()):
        writer.reply(len(log.steps) + 1, reply)
    writer.end()
    write_atomically(path, whole_journal(writer.lines, path))
    return replies


class _Writer:
    """Keeps the time of day, and the workspace, as they are after the last line."""

    def __init__(self, log: LegacyRun, workspaces: Workspaces, store: ObjectStore) -> None:
        self.lines: list[Line] = []
        self._log = log
        self._workspaces = workspaces
        self._store = store
        self._snapshot = workspaces.first
        self._started = log.started or 0.0
        self._now = self._started
        self._unknown_prompt = store.put(UNKNOWN.encode())
        self._undoable: dict[str, int] = {}

    def begin(self, facts: Disclosure, replies: MatchedReplies) -> None:
        self._add(
            RunLine,
            task=facts.task,
            task_version=facts.task_version,
            tier=facts.tier,
            data_hash=facts.data_hash,
            actions=tuple(map(our_name, self._log.actions)),
            limits=facts.limits,
            snapshot=self._snapshot,
        )
        self._add(EventLine, event="note", detail=NO_START)
        if replies.unmatched:
            detail = f"{replies.unmatched} replies of main_log fit no step and are left out"
            self._add(EventLine, event="note", detail=detail)

    def reply(self, step: int, reply: LegacyReply) -> None:
        self._add(
            ReplyLine, step=step, role="main", prompt_hash=self._unknown_prompt, reply=reply.text
        )
        if reply.fault is not None:
            number = len(self.lines) - 1
            self._add(EventLine, event="unreadable", reply=number, form=reply.fault)

    def step(self, number: int) -> None:
        step = self._log.steps[number - 1]
        action = Action(name=our_name(step.action), arguments=step.arguments)
        self._add(BeginLine, step=number, action=action)
        began = self._now
        self._now = max(began, step.ended or began)
        kept = self._workspaces.after.get(number)
        self._snapshot = kept or self._snapshot
        observation, long_text = self._written(observation_of(step))
        self._add(
            EndLine,
            step=number,
            observation=observation,
            text=long_text,
            snapshot=self._snapshot,
            notes=() if kept else (NO_FILES,),
            edited=self._edited(edited_file(step)),
            undone=self._undone(undone_file(step)),
            started=began - self._started,
            seconds=round(self._now - began, 6),
            usage=Usage(steps=number, seconds=round(self._now - self._started, 6)),
        )

    def end(self) -> None:
        self._now = max(self._now, self._started + (self._log.seconds or 0.0))
        used = Usage(steps=len(self._log.steps), seconds=round(self._now - self._started, 6))
        snapshot = self._workspaces.final or self._snapshot
        self._add(OutcomeLine, outcome=self._log.outcome, snapshot=snapshot, usage=used)

    def _add(self, line_type: type[L], **fields: Json) -> None:
        clock = round(self._now - self._started, 6)
        line = line_type(n=len(self.lines), at=self._now, clock=clock, **fields)
        self.lines.append(line)

    def _written(self, observation: Observation) -> tuple[Observation, str | None]:
        if len(observation.text) <= LONG_TEXT:
            return observation, None
        long_text = self._store.put(observation.text.encode())
        return observation.model_copy(update={"text": ""}), long_text

    def _edited(self, path: str | None) -> str | None:
        if path is not None:
            self._undoable[path] = self._undoable.get(path, 0) + 1
        return path

    def _undone(self, path: str | None) -> str | None:
        """Only what was edited before: the original also took back edits saved elsewhere."""
        if path is None or self._undoable.get(path, 0) == 0:
            return None
        self._undoable[path] -= 1
        return path
