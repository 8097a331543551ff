"""Compare two runs: where their actions diverge, and what each did, planned and used."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from mlagentbench.analysis.analyse import summarise
from mlagentbench.analysis.detectors.parsing.reply_parts import main_replies
from mlagentbench.analysis.run_summary import RunSummary, ScorePoint, ValidationPoint
from mlagentbench.errors import UsageError
from mlagentbench.records import Action, Json, Record, Step
from mlagentbench.runs.journal import History
from mlagentbench.runs.results import find_run, read_files

SUBJECT_CHARACTERS = 60

PairKind = Literal["same", "other arguments", "other action", "only first", "only second"]


class DoneAction(Record):
    """An action for display; `point` is the grade after it, if any."""

    step: int
    name: str
    about: str
    status: str
    validations: tuple[ValidationPoint, ...]
    point: ScorePoint | None


class ChangedArgument(Record):
    """An argument of one action in both runs; "" where a run has none."""

    name: str
    first: str
    second: str


class ActionPair(Record):
    """Actions of the two runs that are shown side by side."""

    kind: PairKind
    first: DoneAction | None
    second: DoneAction | None
    same_observation: bool


class DiffSide(Record):
    """One of the two runs."""

    directory: str
    objects: str
    summary: RunSummary
    snapshot: str | None
    """The workspace at its end."""
    plan: str
    """The last plan that the agent wrote; "" when it wrote none."""


class RunDiff(Record):
    """Two runs compared; `shared` is the number of equal steps at the start.

    `parting` has the arguments that differ in the first differing action, if its name is the same.
    """

    first: DiffSide
    second: DiffSide
    shared: int
    parting: tuple[ChangedArgument, ...]
    actions: tuple[ActionPair, ...]


def compare_runs(first: Path, second: Path) -> RunDiff:
    """Read and compare two runs; UsageError when one is not a run, or when they are the same."""
    sides = [_read(first), _read(second)]
    (one, steps), (other, other_steps) = sides
    if one.directory == other.directory:
        raise UsageError(f"{first} and {second} are the same run; pass two different runs")
    pairs = tuple(align_steps(one.summary, steps, other.summary, other_steps))
    shared = next((at for at, pair in enumerate(pairs) if pair.kind != "same"), len(pairs))
    parted = shared < len(pairs) and pairs[shared].kind == "other arguments"
    return RunDiff(
        first=one,
        second=other,
        shared=shared,
        parting=tuple(_changed(steps[shared], other_steps[shared])) if parted else (),
        actions=pairs,
    )


def _read(path: Path) -> tuple[DiffSide, Sequence[Step]]:
    run = find_run(path)
    history = read_files(run).history
    side = DiffSide(
        directory=str(run.path),
        objects=str(run.objects),
        summary=summarise(run, str(run.out)),
        snapshot=history.snapshot,
        plan=_last_plan(history),
    )
    return side, history.steps


def _last_plan(history: History) -> str:
    plans = [reply.plan.strip() for reply in main_replies(history) if reply.plan]
    return plans[-1] if plans else ""


def align_steps(
    first: RunSummary, steps: Sequence[Step], second: RunSummary, others: Sequence[Step]
) -> Iterator[ActionPair]:
    """The steps of two runs side by side, aligned by their actions' names and arguments.

    Steps between two aligned pairs are shown side by side, too.
    """
    found = [(-1, -1), *_alike(steps, others), (len(steps), len(others))]
    for (here, there), (to, other_to) in pairwise(found):
        if here >= 0:
            yield _pair(first, steps[here], second, others[there])
        gap, other_gap = steps[here + 1 : to], others[there + 1 : other_to]
        for offset in range(max(len(gap), len(other_gap))):
            one = gap[offset] if offset < len(gap) else None
            other = other_gap[offset] if offset < len(other_gap) else None
            yield _pair(first, one, second, other)


def _alike(steps: Sequence[Step], others: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """The alignment of steps, in order, with the largest total likeness."""
    keys, other_keys = ([_keys(step.action) for step in side] for side in (steps, others))
    most = [[0] * (len(others) + 1) for _ in range(len(steps) + 1)]
    for here in reversed(range(len(steps))):
        row, below = most[here], most[here + 1]
        for there in reversed(range(len(others))):
            likeness = _likeness(keys[here], other_keys[there])
            with_both = likeness + below[there + 1] if likeness else 0
            row[there] = max(with_both, below[there], row[there + 1])
    here = there = 0
    while here < len(steps) and there < len(others):
        likeness = _likeness(keys[here], other_keys[there])
        if likeness and most[here][there] == likeness + most[here + 1][there + 1]:
            yield here, there
            here, there = here + 1, there + 1
        elif most[here][there] == most[here + 1][there]:
            here += 1
        else:
            there += 1


def _keys(action: Action) -> tuple[str, str, str]:
    return action.name, _first_argument(action), json.dumps(action.arguments, sort_keys=True)


def _likeness(one: tuple[str, str, str], other: tuple[str, str, str]) -> int:
    """How many agree of two actions' names, main arguments and all arguments, in this order."""
    return next((at for at in range(3) if one[at] != other[at]), 3)


def _pair(
    first: RunSummary, one: Step | None, second: RunSummary, other: Step | None
) -> ActionPair:
    same = one is not None and other is not None and one.observation == other.observation
    return ActionPair(
        kind=_kind(one, other),
        first=_displayed(one, first),
        second=_displayed(other, second),
        same_observation=same,
    )


def _kind(one: Step | None, other: Step | None) -> PairKind:
    if one is None:
        return "only second"
    if other is None:
        return "only first"
    if one.action == other.action:
        return "same"
    return "other arguments" if one.action.name == other.action.name else "other action"


def _changed(one: Step, other: Step) -> Iterator[ChangedArgument]:
    arguments, others = one.action.arguments, other.action.arguments
    for name in dict.fromkeys([*arguments, *others]):
        if arguments.get(name) != others.get(name):
            first, second = _text(arguments.get(name)), _text(others.get(name))
            yield ChangedArgument(name=name, first=first, second=second)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _first_argument(action: Action) -> str:
    return _text(next(iter(action.arguments.values()), None))


def main_argument(action: Action) -> str:
    """An action's first argument, or the beginning of a long one."""
    text = _first_argument(action).strip()
    line = text.partition("\n")[0]
    if len(line) > SUBJECT_CHARACTERS:
        end = line.rfind(" ", 1, SUBJECT_CHARACTERS)
        line = line[: end if end > 0 else SUBJECT_CHARACTERS]
    return line if line == text else f"{line.rstrip()} …"


def _displayed(step: Step | None, summary: RunSummary) -> DoneAction | None:
    if step is None:
        return None
    return DoneAction(
        step=step.n,
        name=step.action.name,
        about=main_argument(step.action),
        status=step.observation.status,
        validations=tuple(one for one in summary.validations if one.step == step.n),
        point=next((point for point in summary.points if point.step == step.n), None),
    )
