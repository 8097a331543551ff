"""What `mlagentbench runs diff` prints: two runs side by side."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from mlagentbench.analysis.run_diff import ActionPair, DiffSide, DoneAction, PairKind, RunDiff
from mlagentbench.cli.runs.change_printing import print_change, print_columns, results_of
from mlagentbench.grading.rungs import rung_of
from mlagentbench.numeric.number_format import (
    NOTHING,
    dollars_text,
    duration_text,
    normalised_text,
    number_text,
    tokens_text,
)
from mlagentbench.report.site.pages.text_diffs import (
    MOST_LINES,
    WorkspaceChange,
    compare,
    cut,
    workspace_change,
)
from mlagentbench.report.site.series import agent_of_summary
from mlagentbench.runs.objects.object_store import JoinedObjects
from mlagentbench.terminal import Terminal, plain_table, print_json, text_line

SIGNS: dict[PairKind, str] = {
    "same": "=",
    "other arguments": "~",
    "other action": "≠",
    "only first": "<",
    "only second": ">",
}
STYLES = {"=": "dim", "~": "yellow", "≠": "yellow", "<": "red", ">": "green"}
LEGEND = "= same  ~ other arguments  ≠ other action  < only A  > only B  * other result"
_CHANGE: TypeAdapter[WorkspaceChange] = TypeAdapter(WorkspaceChange)


class Statistic(NamedTuple):
    """A line of the comparison: the same statistic of both runs."""

    name: str
    first: str
    second: str


def print_run_diff(diff: RunDiff, *, as_json: bool) -> None:
    """Print how two runs compare: statistics, actions, plans, and the files that they end with."""
    code = _code(diff)
    if as_json:
        values = diff.model_dump(mode="json")
        print_json({**values, "code": _CHANGE.dump_python(code, mode="json")})
        return
    console = Terminal()
    for letter, side in (("A", diff.first), ("B", diff.second)):
        console.print(f"{letter}: {side.directory}", soft_wrap=True)
    _print_statistics(console, diff)
    _print_actions(console, diff)
    for one in diff.parting:
        console.heading(f"where they diverge: {one.name}, from A to B")
        _print_texts(console, one.first, one.second)
    if diff.first.plan != diff.second.plan:
        console.heading("last plan, from A to B")
        _print_texts(console, diff.first.plan, diff.second.plan)
    console.heading("files at the end, from A to B")
    print_change(console, code, print_columns)
    if code == WorkspaceChange():
        console.print("all the same")


def _print_texts(console: Terminal, first: str, second: str) -> None:
    print_columns(console, *cut(compare(first.splitlines(), second.splitlines()), MOST_LINES))


def _code(diff: RunDiff) -> WorkspaceChange:
    """What differs between the workspaces that the two runs end with."""
    store = JoinedObjects(Path(diff.first.objects), Path(diff.second.objects))
    if diff.first.snapshot is None or diff.second.snapshot is None:
        return WorkspaceChange(missing="one of the runs has not started")
    return workspace_change(store, diff.first.snapshot, diff.second.snapshot, MOST_LINES)


def _print_statistics(console: Terminal, diff: RunDiff) -> None:
    console.heading("statistics")
    table = plain_table("", "A", "B")
    for one in _statistics(diff.first, diff.second):
        style = "" if one.first == one.second else "bold"
        table.add_row(one.name, text_line(one.first, style), text_line(one.second, style))
    console.print(table)
    facts = [side.summary.result.record.disclosure for side in (diff.first, diff.second)]
    if (facts[0].task, facts[0].data_hash) != (facts[1].task, facts[1].data_hash):
        console.print("not the same task and data: their scores cannot be compared")


def _statistics(first: DiffSide, second: DiffSide) -> Iterator[Statistic]:
    names = ("task", "agent", "outcome", "score", "normalised", "rung")
    used = ("success", "steps", "time", "tokens", "cost")
    columns = [_column(side) for side in (first, second)]
    for name, one, other in zip((*names, *used), *columns, strict=True):
        yield Statistic(name, one, other)


def _column(side: DiffSide) -> Iterator[str]:
    summary, result = side.summary, side.summary.result
    facts, grade = result.record.disclosure, result.grade
    yield f"{facts.task} ({facts.tier})"
    yield f"{agent_of_summary(summary)}, run {result.record.epoch}"
    yield "not ended" if result.outcome is None else result.outcome.kind
    yield NOTHING if grade is None else number_text(grade.score)
    yield NOTHING if grade is None else normalised_text(grade.normalised)
    yield NOTHING if grade is None else rung_of(grade)
    yield {True: "yes", False: "no", None: NOTHING}[None if grade is None else grade.success]
    yield str(result.usage.steps)
    yield duration_text(summary.efficiency.working_seconds)
    yield tokens_text(summary.efficiency.tokens)
    yield dollars_text(summary.efficiency.cost)


def _print_actions(console: Terminal, diff: RunDiff) -> None:
    console.heading("actions")
    console.print(_parting(diff))
    table = plain_table("A", "", "", "B", "", right=("A", "B"))
    for pair in diff.actions:
        sign = SIGNS[pair.kind]
        other_result = pair.kind == "same" and not pair.same_observation
        table.add_row(
            _number(pair.first),
            text_line(_words(pair.first)),
            text_line(sign + ("*" if other_result else ""), STYLES[sign]),
            _number(pair.second),
            text_line(_words_beside(pair)),
        )
    console.print(table)
    console.print(text_line(LEGEND, "dim"))


def _parting(diff: RunDiff) -> str:
    if diff.shared == len(diff.actions):
        return f"all actions are the same: {diff.shared}"
    pair = diff.actions[diff.shared]
    steps = [one.step for one in (pair.first, pair.second) if one is not None]
    first = "action is" if diff.shared == 1 else f"{diff.shared} actions are"
    same = f"the first {first} the same; " if diff.shared else ""
    return f"{same}they diverge at step {steps[0]}"


def _number(done: DoneAction | None) -> str:
    return "" if done is None else str(done.step)


def _words_beside(pair: ActionPair) -> str:
    """What the second did; of the same action, only what came of it where that is different."""
    if pair.kind != "same" or pair.second is None:
        return _words(pair.second)
    return "" if pair.same_observation else _ending(pair.second).lstrip()


def _words(done: DoneAction | None) -> str:
    return "" if done is None else f"{done.name} {done.about}".rstrip() + _ending(done)


def _ending(done: DoneAction) -> str:
    status = "" if done.status == "ok" else f" [{done.status}]"
    results = ", ".join(results_of(done.validations, done.point))
    return f"{status} → {results}" if results else status
