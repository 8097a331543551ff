"""The branches section of a run's page: its parent, its branches, and their differences."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.report.report_data import CollectedRun
from mlagentbench.report.site.series import agent_of_summary
from mlagentbench.statistics.branches import (
    BranchSet,
    RunKey,
    SetComparison,
    branch_sets,
    changes_of,
    key_of,
    parent_of,
    set_comparisons,
)


@dataclass(frozen=True)
class Member:
    """A run of the family tree; `page` is None for one that is not in this report."""

    page: str | None
    name: str
    depth: int
    step: int | None
    """The last step that it shares with its parent; None without a parent."""
    is_this: bool
    changes: tuple[str, ...] = ()
    """How it differs from its parent, besides its agent and its model."""
    success: bool | None = None
    normalised: float | None = None
    score: float | None = None


@dataclass(frozen=True)
class Family:
    """What a run's page shows of its family."""

    members: tuple[Member, ...]
    sets: tuple[BranchSet, ...]
    comparisons: tuple[SetComparison, ...]


def families(collected: Sequence[CollectedRun]) -> dict[str, Family]:
    """For each run that has a parent or branches, by the name of its page, its family."""
    tree = _Tree(collected)
    return {
        run.name: tree.family(run)
        for run in collected
        if run.summary.result.record.branched_from is not None or tree.children(run)
    }


class _Tree:
    """All runs as trees of branches."""

    def __init__(self, collected: Sequence[CollectedRun]) -> None:
        self._runs = {_text(key_of(run.summary)): run for run in collected}
        self._children: dict[str, list[CollectedRun]] = defaultdict(list)
        for run in collected:
            parent = parent_of(run.summary)
            if parent is not None:
                self._children[_text(parent)].append(run)

    def children(self, run: CollectedRun) -> list[CollectedRun]:
        return self._children.get(_text(key_of(run.summary)), [])

    def family(self, run: CollectedRun) -> Family:
        children = [child.summary for child in self.children(run)]
        return Family(
            members=tuple(self._members(run)),
            sets=tuple(branch_sets(run.summary, children)),
            comparisons=tuple(set_comparisons(run.summary, children)),
        )

    def _members(self, run: CollectedRun) -> list[Member]:
        """The run's ancestors, the run, and its descendants."""
        above, missing = self._above(run)
        members = [] if missing is None else [_absent(missing)]
        for ancestor in above:
            members.append(self._member(ancestor, len(members), run))
        return [*members, *self._with_descendants(run, len(members), run, set())]

    def _above(self, run: CollectedRun) -> tuple[list[CollectedRun], str | None]:
        """The run's ancestors, oldest first, and the path of an ancestor that is missing."""
        above: list[CollectedRun] = []
        while (parent := parent_of((above or [run])[0].summary)) is not None:
            found = self._runs.get(_text(parent))
            if found is None or found in above or found is run:
                return above, parent.path
            above.insert(0, found)
        return above, None

    def _with_descendants(
        self, run: CollectedRun, depth: int, this: CollectedRun, seen: set[str]
    ) -> list[Member]:
        members = [self._member(run, depth, this)]
        seen.add(run.name)
        for child in self.children(run):
            if child.name not in seen:
                members += self._with_descendants(child, depth + 1, this, seen)
        return members

    def _member(self, run: CollectedRun, depth: int, this: CollectedRun) -> Member:
        record, grade = run.summary.result.record, run.summary.result.grade
        taken, above = record.branched_from, parent_of(run.summary)
        parent = None if above is None else self._runs.get(_text(above))
        return Member(
            page=run.name,
            name=_name(run.summary),
            depth=depth,
            step=None if taken is None else taken.step,
            is_this=run is this,
            changes=() if parent is None else tuple(changes_of(parent.summary, run.summary)),
            success=None if grade is None else grade.success,
            normalised=None if grade is None else grade.normalised,
            score=None if grade is None else grade.score,
        )


def _text(key: RunKey) -> str:
    return f"{key.out}\n{key.path}"


def _absent(path: str) -> Member:
    return Member(page=None, name=path, depth=0, step=None, is_this=False)


def _name(summary: RunSummary) -> str:
    return f"{agent_of_summary(summary)}, run {summary.result.record.epoch}"
