"""rebuilds.jsonl: what became of a run's submission when it was made again, draw by draw.

Each draw has a line as soon as it is known, so that nothing is done twice when rebuilding is
interrupted. When all draws are known, a line has the summary of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from mlagentbench.records import Rebuilt, RebuiltDraw, Record, SkippedDraw
from mlagentbench.runs.hash_chain import payloads


class DrawLine(Record):
    """One draw; a step and a command have at most one line for the same data."""

    kind: Literal["draw"] = "draw"
    step: int
    command: str | None
    result: RebuiltDraw
    difference: str | None = None
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()


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
