"""What a report is made from: the collected runs and the statistics computed from them."""

from dataclasses import dataclass, field
from pathlib import Path

from mlagentbench.analysis.judge.rubric import JudgeReport
from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.records import Record
from mlagentbench.report.published_results import PublishedRow
from mlagentbench.statistics.cells import CellStatistics
from mlagentbench.statistics.comparison import Comparison
from mlagentbench.statistics.experimentation_gain import GainReport
from mlagentbench.statistics.leaderboard import Leaderboard
from mlagentbench.statistics.tiers.mini_and_hard import MiniAndHard
from mlagentbench.statistics.tiers.rank_agreement import AgreementReport


@dataclass(frozen=True)
class CollectedRun:
    """A run's summary, and what a page about it needs.

    `name` is unique within the report and safe as a file name: TO/runs/NAME.html. `fingerprint`
    changes whenever the run's files, or the code that analyses them, change.
    """

    name: str
    directory: Path
    fingerprint: str
    summary: RunSummary
    judgements: tuple[JudgeReport, ...] = ()
    """The latest judgement of each judge about the run's present state."""


class CopiedRun(Record):
    """A copy or a replay of another run; it does not count."""

    out: str
    path: str
    same_as: str
    """The directory of the run that counts."""


class UnreadableLog(Record):
    """An Inspect log that cannot be opened; reports do not depend on it."""

    path: str
    reason: str


@dataclass(frozen=True)
class Collection:
    """All runs below some --out directories.

    `read` counts the runs that were read; the others came from the cache.
    """

    outs: tuple[Path, ...]
    runs: tuple[CollectedRun, ...]
    unreadable: tuple[UnreadableRun, ...] = ()
    copies: tuple[CopiedRun, ...] = ()
    replays: tuple[CopiedRun, ...] = ()
    """Replays check results; they are not results."""
    unreadable_logs: tuple[UnreadableLog, ...] = ()
    read: int = 0

    @property
    def summaries(self) -> list[RunSummary]:
        return [run.summary for run in self.runs]


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows; pages and exports compute no statistics."""

    collection: Collection
    cells: tuple[CellStatistics, ...]
    leaderboards: tuple[Leaderboard, ...]
    comparisons: tuple[tuple[Comparison, ...], ...]
    """Those of each leaderboard, in the leaderboards' order."""
    published: tuple[PublishedRow, ...]
    generated_at: str
    command: str
    experimentation: GainReport = field(default_factory=GainReport)
    """What executing is worth to agents that ran with and without it."""
    mini_and_hard: tuple[MiniAndHard, ...] = ()
    """Agents that ran in both tiers."""
    rank_agreement: AgreementReport = field(default_factory=AgreementReport)
    """Whether hard and full rank agents alike."""
    logs_bundle: str | None = None
    """Where Inspect's static viewer of the logs is, relative to the report; None without one."""
