"""A run step by step: replies, actions, observations and changes to the workspace."""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlagentbench.analysis.detectors.parsing.reply_parts import MAIN, PLAN, parts_of
from mlagentbench.analysis.findings import Finding
from mlagentbench.analysis.run_diff import main_argument
from mlagentbench.analysis.run_summary import RunSummary, ScorePoint, ValidationPoint
from mlagentbench.records import Json
from mlagentbench.report.site.pages.text_diffs import (
    MOST_LINES,
    Block,
    WorkspaceChange,
    compare,
    cut,
    workspace_change,
)
from mlagentbench.runs.journal import (
    AnyLine,
    BeginLine,
    EndLine,
    EventLine,
    OutcomeLine,
    ReplyLine,
    RunLine,
)
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.untrusted_text import Clipped, clip, preview, visible

PAGE_CHARACTERS = 3_000_000
"""About how much text a page shows: the more steps, the less of each."""
MOST_CHARACTERS, LEAST_CHARACTERS = 8_000, 600
MOST_PLAN_LINES = 60
SHORT_ARGUMENT = 100
THOUGHTS = ("thought", "reflection", "")
"""The fields of a reply to preview it by, in order of preference."""


@dataclass(frozen=True)
class Argument:
    """An argument of an action; long ones are folded."""

    name: str
    value: Clipped
    is_long: bool


@dataclass(frozen=True)
class PlanChange:
    """How a reply changed the agent's plan; the first plan is all new."""

    first: bool
    blocks: tuple[Block, ...]
    left_out: int


@dataclass(frozen=True)
class ReplyView:
    """A model's reply."""

    role: str
    preview: str
    text: Clipped
    tokens: int
    seconds: float | None
    fault: str
    plan: PlanChange | None


@dataclass(frozen=True)
class StepView:
    """One step; `observation` is None for an action that never ended."""

    n: int
    action: str
    subject: str
    """The action's main argument, or the beginning of it."""
    arguments: tuple[Argument, ...]
    observation: Clipped | None
    status: str
    exit_code: int | None
    limit: str | None
    clock: float
    seconds: float | None
    replies: tuple[ReplyView, ...]
    events: tuple[str, ...]
    change: WorkspaceChange
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    validations: tuple[ValidationPoint, ...]
    point: ScorePoint | None


@dataclass(frozen=True)
class Timeline:
    steps: tuple[StepView, ...]
    final_replies: tuple[ReplyView, ...]
    """Replies after the last step."""
    last_events: tuple[str, ...]
    last_change: WorkspaceChange
    """What changed in the workspace after the last step."""


class TimelineBuilder:
    """Builds the timeline from a journal's lines, one by one."""

    def __init__(
        self, summary: RunSummary, store: ObjectStore, journal: str, most: int, most_lines: int
    ) -> None:
        self._most = most
        self._most_lines = most_lines
        self._store = store
        self._journal = journal
        self._steps: list[StepView] = []
        self._replies: list[ReplyView] = []
        self._reply_numbers: list[int] = []
        self._events: list[str] = []
        self._begun: BeginLine | None = None
        self._plan: str | None = None
        self._snapshot = ""
        self._last_change = WorkspaceChange()
        self._findings = _by_step(summary)
        self._points = {point.step: point for point in summary.points}
        self._validations: dict[int, list[ValidationPoint]] = defaultdict(list)
        for validation in summary.validations:
            self._validations[validation.step].append(validation)

    def add(self, line: AnyLine) -> None:
        match line:
            case RunLine():
                self._snapshot = line.snapshot
            case ReplyLine():
                self._replies.append(self._reply(line))
                self._reply_numbers.append(line.n)
            case BeginLine():
                if self._begun is not None:
                    self._close(None)
                self._begun = line
            case EndLine():
                self._close(line)
            case EventLine():
                self._event(line)
            case OutcomeLine():
                self._last_change = self._changed(line.snapshot)

    def timeline(self) -> Timeline:
        if self._begun is not None:
            self._close(None)
        return Timeline(
            steps=tuple(self._steps),
            final_replies=tuple(self._replies),
            last_events=tuple(self._events),
            last_change=self._last_change,
        )

    def _reply(self, line: ReplyLine) -> ReplyView:
        fields = parts_of(line).fields if line.role == MAIN else {"": line.reply}
        plan = fields.get(PLAN, "").strip()
        change = plan_change(self._plan, plan)
        self._plan = plan or self._plan
        where = f"line {line.n + 1} of {self._journal}"
        return ReplyView(
            role=visible(line.role),
            preview=preview(next(filter(None, (fields.get(name) for name in THOUGHTS)), "")),
            text=clip(line.reply, self._most, where),
            tokens=line.input_tokens + line.output_tokens,
            seconds=line.seconds,
            fault="" if line.stop_reason in ("stop", "tool_calls") else line.stop_reason,
            plan=change,
        )

    def _event(self, line: EventLine) -> None:
        if line.event == "unreadable" and line.reply in self._reply_numbers:
            at = self._reply_numbers.index(line.reply)
            fault = f"could not be used: {line.form or visible(line.detail)}"
            self._replies[at] = replace(self._replies[at], fault=fault)
            return
        text = visible(line.detail)
        self._events.append(f"{line.event}: {text}" if text else line.event)

    def _close(self, end: EndLine | None) -> None:
        """Finish the step that was begun, with all replies and events since the last one."""
        begun = self._begun
        if begun is None:
            return
        arguments = tuple(self._argument(begun, *item) for item in begun.action.arguments.items())
        self._steps.append(
            StepView(
                n=begun.step,
                action=visible(begun.action.name),
                subject=visible(main_argument(begun.action)),
                arguments=arguments,
                observation=None if end is None else self._observation(end),
                status="interrupted" if end is None else end.observation.status,
                exit_code=None if end is None else end.observation.exit_code,
                limit=None if end is None else end.observation.limit,
                clock=begun.clock,
                seconds=None if end is None else end.seconds,
                replies=tuple(self._replies),
                events=tuple(self._events),
                change=WorkspaceChange() if end is None else self._changed(end.snapshot),
                notes=() if end is None else tuple(map(visible, end.notes)),
                findings=self._findings.get(begun.step, ()),
                validations=tuple(self._validations.get(begun.step, ())),
                point=self._points.get(begun.step),
            )
        )
        self._replies, self._reply_numbers, self._events, self._begun = [], [], [], None

    def _argument(self, begun: BeginLine, name: str, value: Json) -> Argument:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        where = f"line {begun.n + 1} of {self._journal}"
        is_long = len(text) > SHORT_ARGUMENT or "\n" in text
        return Argument(visible(name), clip(text, self._most, where), is_long)

    def _observation(self, end: EndLine) -> Clipped:
        where = f"line {end.n + 1} of {self._journal}"
        if end.text is None:
            return clip(end.observation.text, self._most, where)
        path = self._store.path(end.text)
        try:
            text = self._store.read(end.text).decode("utf-8", "replace")
        except ObjectLost as lost:
            return Clipped(head=f"[This text cannot be shown: {lost.detail}.]")
        return clip(text, self._most, str(path))

    def _changed(self, snapshot: str) -> WorkspaceChange:
        before, self._snapshot = self._snapshot, snapshot
        return workspace_change(self._store, before, snapshot, self._most_lines)


def timeline(
    lines: Sequence[AnyLine], summary: RunSummary, store: ObjectStore, journal: str
) -> Timeline:
    """The timeline of a journal's lines; `journal` is the file's name, shown to readers."""
    steps = sum(isinstance(line, BeginLine) for line in lines)
    share = PAGE_CHARACTERS // max(1, 3 * steps)
    most = max(LEAST_CHARACTERS, min(MOST_CHARACTERS, share))
    most_lines = max(20, min(MOST_LINES, most // 25))
    return _built(lines, TimelineBuilder(summary, store, journal, most, most_lines))


def full_timeline(lines: Sequence[AnyLine], summary: RunSummary, store: ObjectStore) -> Timeline:
    """The timeline without any shortened text."""
    return _built(lines, TimelineBuilder(summary, store, "", sys.maxsize, sys.maxsize))


def _built(lines: Sequence[AnyLine], builder: TimelineBuilder) -> Timeline:
    for line in lines:
        builder.add(line)
    return builder.timeline()


def plan_change(before: str | None, after: str | None) -> PlanChange | None:
    """What a reply changed in the plan; None without a plan, or with the same one."""
    if not after or after == before:
        return None
    old = before.splitlines() if before else []
    blocks, left_out = cut(compare(old, after.splitlines(), context=1), MOST_PLAN_LINES)
    return PlanChange(first=before is None, blocks=blocks, left_out=left_out)


def _by_step(summary: RunSummary) -> dict[int, tuple[Finding, ...]]:
    found: dict[int, list[Finding]] = defaultdict(list)
    for finding in summary.process.findings:
        for step in finding.steps:
            found[step].append(finding)
    return {step: tuple(findings) for step, findings in found.items()}
