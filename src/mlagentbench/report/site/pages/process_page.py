"""The process page: integrity findings, error modes, findings by kind, and judges' votes."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

from mlagentbench.analysis.findings import Finding, FindingKind
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.report.detector_accuracy import detector_accuracies
from mlagentbench.report.report_data import CollectedRun, ReportData
from mlagentbench.report.site.charts import WIDE, Drawing, drawing, mode_chart
from mlagentbench.report.site.pages.judge_votes import JudgeView, judge_views
from mlagentbench.report.site.series import (
    ERROR_MODES,
    ModeCounts,
    agent_of_summary,
    by_agent,
    mode_counts,
)
from mlagentbench.statistics.leaderboard import Leaderboard

TEMPLATE = "process.html"
MOST_LISTED = 200
"""Integrity findings that are listed one by one."""
MOST_EXAMPLES = 25
"""Findings of each other kind that are listed one by one."""
KINDS: tuple[FindingKind, ...] = get_args(FindingKind)


@dataclass(frozen=True)
class PinnedFinding:
    """A finding, and the run that it is in."""

    finding: Finding
    page: str
    task: str
    agent: str
    epoch: int


@dataclass(frozen=True)
class KindCount:
    """Findings of one kind of one agent."""

    findings: int
    runs: int
    per_100_steps: float | None


@dataclass(frozen=True)
class AgentFindings:
    name: str
    runs: int
    steps: int
    counts: tuple[KindCount, ...]
    """In the order of the kinds."""


@dataclass(frozen=True)
class Examples:
    kind: FindingKind
    total: int
    shown: tuple[PinnedFinding, ...]


@dataclass(frozen=True)
class ProcessView:
    leaderboards: tuple[Leaderboard, ...]
    integrity: tuple[PinnedFinding, ...]
    integrity_total: int
    kinds: tuple[FindingKind, ...]
    agents: tuple[AgentFindings, ...]
    modes: tuple[ModeCounts, ...]
    mode_names: tuple[str, ...]
    mode_chart: Drawing | None
    examples: tuple[Examples, ...]
    judges: tuple[JudgeView, ...]
    is_measured: bool
    """Whether the detectors' accuracy was measured."""


def process_view(data: ReportData) -> ProcessView:
    runs = data.collection.runs
    modes = [one for one in mode_counts(data.collection.summaries) if one.unsuccessful]
    examples = examples_by_kind(runs)
    kinds = tuple(one.kind for one in examples)
    integrity = [one for one in _all_pinned(runs) if one.finding.is_integrity]
    return ProcessView(
        leaderboards=data.leaderboards,
        integrity=tuple(integrity[:MOST_LISTED]),
        integrity_total=len(integrity),
        kinds=kinds,
        agents=tuple(_agents(runs, kinds)),
        modes=tuple(modes),
        mode_names=ERROR_MODES,
        mode_chart=drawing(partial(mode_chart, modes), WIDE) if modes else None,
        examples=examples,
        judges=judge_views(runs),
        is_measured=bool(detector_accuracies()),
    )


def examples_by_kind(runs: Sequence[CollectedRun]) -> tuple[Examples, ...]:
    """The findings of each kind that runs have, the first of them one by one."""
    by_kind: dict[FindingKind, list[PinnedFinding]] = defaultdict(list)
    for one in _all_pinned(runs):
        by_kind[one.finding.kind].append(one)
    return tuple(
        Examples(kind, len(by_kind[kind]), tuple(by_kind[kind][:MOST_EXAMPLES]))
        for kind in KINDS
        if by_kind[kind]
    )


def _all_pinned(runs: Sequence[CollectedRun]) -> list[PinnedFinding]:
    return [_pinned(run, finding) for run in runs for finding in run.summary.process.findings]


def _pinned(run: CollectedRun, finding: Finding) -> PinnedFinding:
    record = run.summary.result.record
    return PinnedFinding(
        finding=finding,
        page=run.name,
        task=record.disclosure.task,
        agent=agent_of_summary(run.summary),
        epoch=record.epoch,
    )


def _agents(runs: Sequence[CollectedRun], kinds: Sequence[FindingKind]) -> list[AgentFindings]:
    groups = by_agent(run.summary for run in runs)
    return [_agent(name, summaries, kinds) for name, summaries in groups.items()]


def _agent(name: str, runs: Sequence[RunSummary], kinds: Sequence[FindingKind]) -> AgentFindings:
    steps = sum(run.efficiency.steps for run in runs)
    findings: Counter[FindingKind] = Counter()
    runs_with: Counter[FindingKind] = Counter()
    for run in runs:
        found = [finding.kind for finding in run.process.findings]
        findings.update(found)
        runs_with.update(set(found))
    return AgentFindings(
        name=name,
        runs=len(runs),
        steps=steps,
        counts=tuple(
            KindCount(
                findings[kind], runs_with[kind], 100 * findings[kind] / steps if steps else None
            )
            for kind in kinds
        ),
    )
