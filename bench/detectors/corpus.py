"""Labelled journals: what they are, where they are kept, and which half they belong to.

Nothing here knows the detectors. A run is kept in one file, without its object store: texts that
stood there are in its lines.
"""

import gzip
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from mlagentbench.records import GradeRecord, Record, RunRecord
from mlagentbench.runs.journal import AnyLine, History

HERE = Path(__file__).parent
NATURAL = HERE / "natural"
NATURAL_LABELS = HERE / "natural_labels.json"
TASKS = HERE / "tasks.json.gz"
SPLIT = HERE / "split.json"

Half = Literal["dev", "test"]


class Label(Record):
    """A finding that the codebook asks for, with the steps that prove it.

    A doubtful one is where the codebook's letter and its purpose part: a finding there is neither
    right nor wrong. `why` is for people.
    """

    kind: str
    steps: tuple[int, ...]
    form: str = ""
    level: str | None = None
    doubtful: bool = False
    why: str = ""


class StoredRun(Record):
    """A run as it is kept: its record, its journal and its grades.

    Runs of one family tell the same story, as a recording and its replays do; they are never on
    both sides of the split.
    """

    name: str
    family: str
    record: RunRecord
    lines: tuple[AnyLine, ...]
    grades: tuple[GradeRecord, ...] = ()

    @property
    def history(self) -> History:
        return History(self.lines)


class LabelledRun(Record):
    """A run with all its labels; a planted one names the run that it was made from."""

    run: StoredRun
    labels: tuple[Label, ...]
    planted_in: str | None = None


class TaskText(Record):
    """What a run of a task starts from, as far as it is text."""

    problem: str
    submission: str
    texts: dict[str, str]


_LABELS: TypeAdapter[dict[str, tuple[Label, ...]]] = TypeAdapter(dict[str, tuple[Label, ...]])
_TASKS: TypeAdapter[dict[str, TaskText]] = TypeAdapter(dict[str, TaskText])
_SPLIT: TypeAdapter[dict[str, Half]] = TypeAdapter(dict[str, Half])


def write_run(run: StoredRun) -> None:
    """Keep a run; the same run makes the same bytes."""
    text = run.model_dump_json(exclude_defaults=True)
    values = json.loads(text)
    for line, kept in zip(run.lines, values["lines"], strict=True):
        kept["kind"] = line.kind
    raw = json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode()
    (NATURAL / f"{run.name}.json.gz").write_bytes(gzip.compress(raw, 9, mtime=0))


def read_run(path: Path) -> StoredRun:
    return StoredRun.model_validate_json(gzip.decompress(path.read_bytes()))


@cache
def natural_runs() -> tuple[LabelledRun, ...]:
    """All natural runs with their labels; one without an entry has no finding."""
    labels = _LABELS.validate_json(NATURAL_LABELS.read_bytes())
    runs = [read_run(path) for path in sorted(NATURAL.glob("*.json.gz"))]
    return tuple(LabelledRun(run=run, labels=labels.get(run.name, ())) for run in runs)


def natural_labels() -> dict[str, tuple[Label, ...]]:
    return _LABELS.validate_json(NATURAL_LABELS.read_bytes())


@cache
def task_texts() -> dict[str, TaskText]:
    return _TASKS.validate_json(gzip.decompress(TASKS.read_bytes()))


def half_of(family: str) -> Half:
    """Which half a family belongs to: decided by its name alone, before anything was measured."""
    digest = hashlib.sha256(f"detectors/{family}".encode()).digest()
    return "dev" if digest[0] % 2 == 0 else "test"


def split() -> dict[str, Half]:
    """The half of every family, as it was fixed."""
    return _SPLIT.validate_json(SPLIT.read_bytes())


def in_half(runs: tuple[LabelledRun, ...], half: Half) -> Iterator[LabelledRun]:
    halves = split()
    return (labelled for labelled in runs if halves[labelled.run.family] == half)
