"""Two runs side by side: where their actions part, what each did, said and used."""

import difflib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from mlagentbench.environment.journal import History
from mlagentbench.errors import UsageError
from mlagentbench.evaluation.detectors.reply_parts import main_replies
from mlagentbench.evaluation.results import find_run, read_files
from mlagentbench.evaluation.summarising import summarise
from mlagentbench.evaluation.summary import RunSummary
from mlagentbench.records import Action, Record, Step

SHORT_ARGUMENT = 100

PairKind = Literal["same", "other arguments", "other action", "only first", "only second"]


class DoneAction(Record):
    """An action as far as the comparison shows it; `score` is the grade after it, if any."""

    step: int
    name: str
    about: str
    status: str
    score: float | None


class ActionPair(Record):
    """Actions of the two runs that stand beside each other."""

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
    """The last that the agent wrote into a reply; "" when it wrote none."""


class RunDiff(Record):
    """Two runs compared; `shared` says how many steps at the start are the same in both."""

    first: DiffSide
    second: DiffSide
    shared: int
    actions: tuple[ActionPair, ...]


def compare_runs(first: Path, second: Path) -> RunDiff:
    """Read and compare two runs; a UsageError when one is no run, or when they are the same."""
    sides = [_read(first), _read(second)]
    (one, steps), (other, other_steps) = sides
    if one.directory == other.directory:
        raise UsageError(f"{first} and {second} are the same run; name two")
    pairs = tuple(aligned(one.summary, steps, other.summary, other_steps))
    shared = next((at for at, pair in enumerate(pairs) if pair.kind != "same"), len(pairs))
    return RunDiff(first=one, second=other, shared=shared, actions=pairs)


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


def aligned(
    first: RunSummary, steps: Sequence[Step], second: RunSummary, others: Sequence[Step]
) -> Iterator[ActionPair]:
    """The steps of two runs beside each other, by their actions' names and main arguments."""
    scores = [{point.step: point.score for point in one.points} for one in (first, second)]
    keys, other_keys = ([_key(step.action) for step in side] for side in (steps, others))
    matcher = difflib.SequenceMatcher(None, keys, other_keys, autojunk=False)
    for _, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        for offset in range(max(old_to - old_from, new_to - new_from)):
            here, there = old_from + offset, new_from + offset
            one = steps[here] if here < old_to else None
            other = others[there] if there < new_to else None
            yield ActionPair(
                kind=_kind(one, other),
                first=_done(one, scores[0]),
                second=_done(other, scores[1]),
                same_observation=one is not None
                and other is not None
                and one.observation == other.observation,
            )


def _kind(one: Step | None, other: Step | None) -> PairKind:
    if one is None:
        return "only second"
    if other is None:
        return "only first"
    if one.action == other.action:
        return "same"
    return "other arguments" if _key(one.action) == _key(other.action) else "other action"


def _key(action: Action) -> str:
    return json.dumps([action.name, _main_argument(action)])


def _main_argument(action: Action) -> str:
    first = next(iter(action.arguments.values()), None)
    return first if isinstance(first, str) else "" if first is None else json.dumps(first)


def main_argument(action: Action) -> str:
    """What an action is about: its first argument, where that is short."""
    text = _main_argument(action)
    return text if len(text) <= SHORT_ARGUMENT and "\n" not in text else ""


def _done(step: Step | None, scores: dict[int, float | None]) -> DoneAction | None:
    if step is None:
        return None
    return DoneAction(
        step=step.n,
        name=step.action.name,
        about=main_argument(step.action),
        status=step.observation.status,
        score=scores.get(step.n),
    )
