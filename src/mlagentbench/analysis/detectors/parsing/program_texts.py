"""The text of each program in the workspace, followed through the journal's edits."""

import re

from mlagentbench.analysis.detectors.parsing.step_facts import (
    ActionName,
    action_of,
    argument,
    edited_file,
    is_program,
    plain_path,
)
from mlagentbench.records import Step

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_CUT = re.compile(r"\[(?:Cut off: |Line \d+ of |\.\.\. [\d,]+ (?:of [\d,]+ )?characters )")


class ProgramTexts:
    """Follows every edit; if that fails, the text of the program is unknown."""

    def __init__(self, starter: dict[str, str]) -> None:
        self._texts: dict[str, str | None] = {
            path: text for path, text in starter.items() if is_program(path)
        }
        self._before: dict[str, list[str | None]] = {}

    @property
    def names(self) -> list[str]:
        """Every known program."""
        return list(self._texts)

    def text(self, path: str) -> str | None:
        """None when it is not known."""
        return self._texts.get(path)

    def follow(self, step: Step) -> None:
        """Update the texts by what a step wrote or showed."""
        path = edited_file(step)
        if is_program(path):
            earlier = self._before.setdefault(path, [])
            if action_of(step) == ActionName.UNDO_EDIT:
                self._texts[path] = earlier.pop() if earlier else None
                return
            after = self._after(step, path)
            earlier.append(self._texts.get(path))
            self._texts[path] = after
        elif action_of(step) == ActionName.READ_FILE and step.observation.status == "ok":
            self._read(step)

    def _read(self, step: Step) -> None:
        path, text = plain_path(argument(step, "file_name")), step.observation.text
        from_start = step.action.arguments.get("start_line_number", 1) in (1, "1")
        if is_program(path) and from_start and not _CUT.search(text):
            self._texts[path] = text

    def _after(self, step: Step, path: str) -> str | None:
        """The text of a program after an edit of it."""
        before = self._texts.get(path)
        match action_of(step):
            case ActionName.WRITE_FILE:
                return argument(step, "content")
            case ActionName.APPEND_FILE:
                return None if before is None else before + argument(step, "content")
            case ActionName.REPLACE_IN_FILE:
                old, new = argument(step, "old"), argument(step, "new")
                return before.replace(old, new, 1) if before is not None and old else None
            case ActionName.COPY_FILE:
                return self._texts.get(plain_path(argument(step, "source")))
            case ActionName.EDIT_SCRIPT | ActionName.EDIT_SEGMENT:
                source = self._texts.get(plain_path(argument(step, "script_name")))
                return apply_diff(source, step.observation.text)
        return None


def apply_diff(text: str | None, observation: str) -> str | None:
    """Apply the diff that an edit showed; None unless every line fits."""
    if " is new:\n\n" in observation[:400]:
        text = ""
    if text is None or _CUT.search(observation):
        return None
    lines, done = text.splitlines(), 0
    after: list[str] = []
    shown = observation.splitlines()
    place = 0
    while place < len(shown):
        hunk = _HUNK.match(shown[place])
        place += 1
        if hunk is None:
            continue
        length = int(hunk[2] or 1)
        start = int(hunk[1]) - (1 if length else 0)
        if start < done:
            return None
        after += lines[done:start]
        done = start
        while place < len(shown) and shown[place][:1] in ("+", "-", " ", ""):
            mark, line = shown[place][:1], shown[place][1:]
            place += 1
            if mark == "+":
                after.append(line)
            elif done >= len(lines) or lines[done] != line:
                return None if mark or done < len(lines) else "\n".join(after)
            else:
                done += 1
                if mark != "-":
                    after.append(line)
    return "\n".join(after + lines[done:])


def added_lines(observation: str) -> str:
    """The lines that a diff adds."""
    return "\n".join(
        line[1:]
        for line in observation.splitlines()
        if line.startswith("+") and not line.startswith("+++ ")
    )
