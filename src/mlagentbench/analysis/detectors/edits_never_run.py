"""Edits of programs that were never run before they were overwritten or the run ended."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mlagentbench.analysis.detectors.executions import ended_by_itself
from mlagentbench.analysis.detectors.parsing.program_texts import ProgramTexts
from mlagentbench.analysis.detectors.parsing.step_facts import (
    ActionName,
    action_of,
    argument,
    edited_file,
    executed_script,
    is_execution,
    is_program,
    plain_path,
    strings_in,
)
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import Finding
from mlagentbench.records import REBUILD, Step
from mlagentbench.tasks.spec import REPRODUCE

_OVERWRITING = (
    ActionName.WRITE_FILE,
    ActionName.EDIT_SCRIPT,
    ActionName.COPY_FILE,
    ActionName.UNDO_EDIT,
)
_RUNS_BY_NAME = re.compile(r"\b(?:importlib|runpy|__import__)\b|\bexec\s*\(")
_RUNS_COMMANDS = re.compile(r"\b(?:subprocess|os\.system|popen|python3?|bash|sh)\b|\bsource\s")
_ALL_PROGRAMS = re.compile(r"\*\.(?:py|sh)\b")
_SEVERAL_FILES = re.compile(r"\b(?:listdir|scandir|i?glob|rglob|walk|argv|iterdir)\b")
_NAMES_WHAT_RUNS = re.compile(
    r"['\"][\w./-]+\.(?:py|sh)['\"]|(?:\w_module|__import__|find_spec|run_path)\(\s*['\"]"
)


@dataclass
class PendingEdit:
    """An edit of a program that nothing has run yet."""

    path: str
    steps: list[int]
    copied_from: str = ""
    """Set while the file is an unchanged copy."""
    derived: set[str] = field(default_factory=set)
    """Programs that were derived from it since."""


class EditTracker:
    """Follows the edits that wait for an execution, step by step."""

    def __init__(self, evidence: RunEvidence) -> None:
        self.texts = ProgramTexts(evidence.texts)
        self.rebuilds = evidence.record.disclosure.protocol == REBUILD
        self.pending: dict[str, PendingEdit] = {}
        self.never_run: list[PendingEdit] = []

    def follow(self, step: Step) -> None:
        if is_execution(step):
            self.execute(executed_script(step), "\n".join(strings_in(step.action.arguments)))
        if action_of(step) == ActionName.VALIDATE_SUBMISSION:
            self.rebuild()
        path = edited_file(step)
        if is_program(path):
            self._edit(step, path)
        self.texts.follow(step)

    def _edit(self, step: Step, path: str) -> None:
        name = action_of(step)
        before = self.pending.get(path)
        source = plain_path(argument(step, "source") or argument(step, "script_name"))
        self._drop_backups(path)
        derives_another = (
            name in (ActionName.COPY_FILE, ActionName.EDIT_SCRIPT, ActionName.EDIT_SEGMENT)
            and source != path
        )
        if derives_another and source in self.pending:
            self.pending[source].derived.add(path)
        if before is not None and name not in _OVERWRITING:
            before.steps.append(step.n)
            before.copied_from = ""
            return
        if before is not None and not before.copied_from:
            if name == ActionName.UNDO_EDIT:
                before.steps.append(step.n)
            self.never_run.append(before)
        if name == ActionName.UNDO_EDIT:
            # It restores an earlier text, so there is nothing new to run.
            self.pending.pop(path, None)
            return
        copied = source if name == ActionName.COPY_FILE else ""
        self.pending[path] = PendingEdit(path=path, steps=[step.n], copied_from=copied)

    def _drop_backups(self, path: str) -> None:
        """A copy whose original changes now was a backup."""
        backups = [one.path for one in self.pending.values() if one.copied_from == path]
        for backup in backups:
            del self.pending[backup]

    def rebuild(self) -> None:
        """Under --protocol rebuild: the program that makes the submission again is run."""
        if self.rebuilds and self.texts.text(REPRODUCE) is not None:
            self.execute(REPRODUCE, "")

    def execute(self, script: str, arguments: str) -> None:
        used = [
            one.path
            for one in self.pending.values()
            if script == one.path or script in one.derived or self.could_use(script, arguments, one)
        ]
        for path in used:
            del self.pending[path]

    def could_use(self, script: str, arguments: str, edit: PendingEdit) -> bool:
        """Whether a script, or code of the Python session, may have used an edited program."""
        if script:
            text = self.texts.text(script)
            if text is None:
                return True
            arguments = f"{arguments.replace(script, '', 1)}\n{text}"
        return self._mentions(arguments, edit, {script})

    def _mentions(self, text: str, edit: PendingEdit, looked_at: set[str]) -> bool:
        """Whether a text names the program, or another program that does."""
        if _may_run_anything(text):
            return True
        words = set(re.findall(r"\w+", text))
        if any(_module(path) in words for path in (edit.path, *edit.derived)):
            return True
        for path in self.texts.names:
            if path in looked_at or _module(path) not in words:
                continue
            looked_at.add(path)
            inner = self.texts.text(path)
            if inner is None or self._mentions(inner, edit, looked_at):
                return True
        return False


def _may_run_anything(text: str) -> bool:
    """Whether code may run programs that it does not name."""
    by_name = _RUNS_BY_NAME.search(text) is not None
    if _ALL_PROGRAMS.search(text):
        return by_name or _RUNS_COMMANDS.search(text) is not None
    if not by_name:
        return False
    return _SEVERAL_FILES.search(text) is not None or _NAMES_WHAT_RUNS.search(text) is None


def _module(path: str) -> str:
    """The name by which a program is imported, which is also part of its file name."""
    return posixpath.splitext(posixpath.basename(path))[0].rpartition(".")[2]


def edits_never_run(evidence: RunEvidence) -> Iterator[Finding]:
    """One finding per edit, with all steps that made it; none where nothing could be run."""
    if not evidence.record.disclosure.execution:
        return
    edits = EditTracker(evidence)
    for step in evidence.history.steps:
        edits.follow(step)
    for edit in edits.never_run:
        yield _finding(edit, "and was overwritten before it was run")
    if not ended_by_itself(evidence.history):
        return
    edits.rebuild()
    if is_program(evidence.submission):
        edits.execute(evidence.submission, "")
    for edit in edits.pending.values():
        if not _is_submitted(edit.path, evidence.submission):
            yield _finding(edit, "and was not run before the run ended")


def _is_submitted(path: str, submission: str) -> bool:
    """Whether the file is part of the submission."""
    if not submission:
        return "submission" in path.lower()
    return path == submission or path.startswith(f"{submission.rstrip('/')}/")


def _finding(edit: PendingEdit, what: str) -> Finding:
    how = "is a copy" if edit.copied_from else "was edited"
    detail = f"{edit.path} {how} {what}"
    return Finding(kind="edit-never-run", steps=tuple(edit.steps), detail=detail)
