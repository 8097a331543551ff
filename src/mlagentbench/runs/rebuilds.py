"""rebuilds.jsonl: what became of a run's submission when it was made again, draw by draw.

Each draw has a line as soon as it is known, so that nothing is done twice when rebuilding is
interrupted. When all draws are known, a line has the summary of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from mlagentbench.records import Json, Rebuilt, RebuiltDraw, Record, SkippedDraw, ToolUsage
from mlagentbench.runs.hash_chain import payloads


class DrawLine(Record):
    """One draw; of lines for the same submission, command and data, the first one counts.

    Its score is as the grader gave it, or None if it has no place on the task's scale. What it is
    worth is as it was measured then; summaries
    compare all draws with the measurements of one time.
    """

    kind: Literal["draw"] = "draw"
    step: int
    snapshot: str = ""
    command: str | None
    result: RebuiltDraw
    difference: str | None = None
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    extra: dict[str, Json] = {}
    tool: ToolUsage | None = None
    """What grading used."""


class SkippedLine(Record):
    """A fresh draw that cannot be measured."""

    kind: Literal["skipped"] = "skipped"
    skipped: SkippedDraw


class SummaryLine(Record):
    """All draws of one step and command."""

    kind: Literal["summary"] = "summary"
    rebuilt: Rebuilt


RebuildLine = DrawLine | SkippedLine | SummaryLine
_LINE: TypeAdapter[RebuildLine] = TypeAdapter(Annotated[RebuildLine, Field(discriminator="kind")])


def read_rebuilds(path: Path) -> Iterator[RebuildLine]:
    """The lines of a rebuilds.jsonl; damaged ones are left out."""
    for payload in payloads(path):
        try:
            yield _LINE.validate_json(payload)
        except ValidationError:
            continue


def newest_rebuilt(path: Path) -> Rebuilt | None:
    """The newest summary; None if there is none."""
    found = [line.rebuilt for line in read_rebuilds(path) if isinstance(line, SummaryLine)]
    return found[-1] if found else None
