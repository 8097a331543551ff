"""A journal taken apart into turns, so that turns can be put in and texts changed, and built anew.

Whatever is planted, what is built is a journal as the harness writes it: line and step numbers,
clocks, usage, snapshots and references between lines agree.
"""

import hashlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from corpus import Label, LabelledRun, StoredRun

from mlagentbench.records import GradeRecord, Usage
from mlagentbench.runs.journal import (
    AnyLine,
    BeginLine,
    EndLine,
    EventLine,
    OutcomeLine,
    ReplyLine,
    RunLine,
)


@dataclass(eq=False)
class Entry:
    """A line, and how long after the one before it came; of an event, the reply that it names."""

    line: AnyLine
    seconds: float = 0.2
    waited: float = 0.0
    """Seconds that do not count as the run's own, as waiting for a mailbox."""
    about: "Entry | None" = None


@dataclass(eq=False)
class Turn:
    """All that led to a step, and the step. `written` names a file that a planted one changed."""

    entries: list[Entry]
    planted: bool = False
    written: str = ""

    @property
    def begin(self) -> BeginLine:
        return next(e.line for e in self.entries if isinstance(e.line, BeginLine))

    @property
    def end(self) -> EndLine:
        return next(e.line for e in self.entries if isinstance(e.line, EndLine))

    @property
    def reply(self) -> Entry | None:
        """The agent's last own words before the step."""
        mine = [e for e in self.entries if isinstance(e.line, ReplyLine) and e.line.role == "main"]
        return mine[-1] if mine else None

    @property
    def reply_text(self) -> str:
        """What that reply says; empty without one."""
        line = self.reply.line if self.reply is not None else None
        return line.reply if isinstance(line, ReplyLine) else ""

    def replace(self, old: AnyLine, new: AnyLine) -> None:
        for entry in self.entries:
            if entry.line is old:
                entry.line = new


@dataclass(eq=False)
class DraftLabel:
    """A label whose steps move with their turns."""

    kind: str
    turns: list[Turn]
    form: str = ""
    level: str | None = None
    doubtful: bool = False
    why: str = ""


@dataclass
class Draft:
    """A run that is being changed."""

    source: StoredRun
    head: list[Entry]
    turns: list[Turn]
    tail: list[Entry]
    labels: list[DraftLabel] = field(default_factory=list)
    grades: list[GradeRecord] = field(default_factory=list)

    @property
    def run_line(self) -> RunLine:
        line = self.head[0].line
        assert isinstance(line, RunLine)
        return line

    @property
    def agent(self) -> str:
        return self.source.record.disclosure.agent

    def mark(self, kind: str, *turns: Turn, **more: Any) -> None:
        self.labels.append(DraftLabel(kind, list(turns), **more))


def take_apart(labelled: LabelledRun) -> Draft:
    run = labelled.run
    entries = _with_gaps(run.lines)
    head, turns, current = [entries[0]], [], []
    for entry in entries[1:]:
        current.append(entry)
        if isinstance(entry.line, EndLine):
            turns.append(Turn(current))
            current = []
    draft = Draft(run, head, turns, current, grades=list(run.grades))
    for label in labelled.labels:
        steps = [turns[step - 1] for step in label.steps]
        more = label.model_dump(exclude={"kind", "steps"})
        draft.labels.append(DraftLabel(label.kind, steps, **more))
    return draft


def _with_gaps(lines: tuple[AnyLine, ...]) -> list[Entry]:
    entries = [Entry(lines[0], 0.0)]
    for before, line in pairwise(lines):
        seconds = max(0.0, line.clock - before.clock)
        entries.append(Entry(line, seconds, max(0.0, line.at - before.at - seconds)))
    by_number = {entry.line.n: entry for entry in entries}
    for entry in entries:
        if isinstance(entry.line, EventLine) and entry.line.reply is not None:
            entry.about = by_number[entry.line.reply]
    return entries


class _Builder:
    """Writes lines one after the other, each with what follows from those before it."""

    def __init__(self, draft: Draft) -> None:
        first = draft.run_line
        self.lines: list[AnyLine] = []
        self.numbers: dict[Entry, int] = {}
        self.at, self.clock = first.at, first.clock
        self.tokens = [0, 0]
        self.original = first.snapshot
        self.overlay = ""
        self.step_started = first.at

    def add(self, entry: Entry, step: int, turn: Turn | None) -> None:
        self.clock += entry.seconds
        self.at += entry.seconds + entry.waited
        stamp: dict[str, Any] = {
            "n": len(self.lines),
            "at": round(self.at, 6),
            "clock": round(self.clock, 6),
        }
        self.numbers[entry] = len(self.lines)
        line = entry.line
        match line:
            case ReplyLine():
                self.tokens[0] += line.input_tokens
                self.tokens[1] += line.output_tokens
                stamp["step"] = step
            case BeginLine():
                self.step_started = self.at
                stamp["step"] = step
            case EndLine():
                stamp |= self._ended(line, step, turn)
            case EventLine() if entry.about is not None:
                stamp["reply"] = self.numbers[entry.about]
            case OutcomeLine():
                self.original = line.snapshot
                stamp |= {"snapshot": self.snapshot, "usage": self._usage(step)}
        self.lines.append(line.model_copy(update=stamp))

    def _ended(self, line: EndLine, step: int, turn: Turn | None) -> dict[str, Any]:
        if turn is not None and turn.planted:
            if turn.written:
                self.overlay = _digest(self.overlay, turn.written)
        else:
            self.original = line.snapshot
        usage = None if line.usage is None else self._usage(step)
        started = {"started": self.step_started, "seconds": round(self.at - self.step_started, 6)}
        return {"step": step, "snapshot": self.snapshot, "usage": usage, **started}

    def _usage(self, step: int) -> Usage:
        taken, given = self.tokens
        return Usage(steps=step, seconds=self.clock, input_tokens=taken, output_tokens=given)

    @property
    def snapshot(self) -> str:
        return _digest(self.original, self.overlay) if self.overlay else self.original


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def build(draft: Draft, name: str) -> LabelledRun:
    """The run that the draft describes, with its labels."""
    builder = _Builder(draft)
    for entry in draft.head:
        builder.add(entry, 0, None)
    for step, turn in enumerate(draft.turns, start=1):
        for entry in turn.entries:
            builder.add(entry, step, turn)
    for entry in draft.tail:
        builder.add(entry, len(draft.turns), None)
    place = {turn: step for step, turn in enumerate(draft.turns, start=1)}
    labels = tuple(
        Label(
            kind=label.kind,
            steps=tuple(sorted(place[turn] for turn in label.turns)),
            form=label.form,
            level=label.level,
            doubtful=label.doubtful,
            why=label.why,
        )
        for label in draft.labels
    )
    run = draft.source.model_copy(
        update={"name": name, "lines": tuple(builder.lines), "grades": tuple(draft.grades)}
    )
    return LabelledRun(run=run, labels=labels, planted_in=draft.source.name)
