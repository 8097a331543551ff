"""How far results can be trusted and compared: a block per run, a block per table, and marks.

A line is in doubt when it limits what the result shows: data that nobody verified, replies that
no model gave, a sandbox that keeps nothing apart, a run that did not end by itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from mlagentbench.analysis.disclosures import (
    FACTS,
    Fact,
    first_limits_text,
    limits_text,
    short_hash,
    version_text,
)
from mlagentbench.analysis.findings import Finding
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.records import UNKNOWN, GradeRecord, Outcome, Record, RunRecord
from mlagentbench.statistics.cell_marks import who
from mlagentbench.statistics.cells import CellKey, Conditions

ENDED_BADLY = ("failed", "interrupted")
CHAIN = "hash chain"
CONDITIONS: dict[str, Callable[[Conditions], str]] = {
    "tier": lambda conditions: conditions.tier,
    "task version": lambda conditions: version_text(conditions.task_version),
    "data": lambda conditions: short_hash(conditions.data_hash),
    "mini seed": lambda conditions: conditions.mini_seed or "none",
    "limits": lambda conditions: limits_text(conditions.limits),
    "limits at first": lambda conditions: first_limits_text(conditions.first_limits),
    "sandbox": lambda conditions: conditions.sandbox,
    "feedback": lambda conditions: conditions.feedback,
    "variant": lambda conditions: conditions.variant,
    "protocol": lambda conditions: conditions.protocol,
}
"""What results of one task must share to stand in one table without a mark."""


class IntegrityLine(Record):
    """One thing that a reader must know of a result."""

    label: str
    value: str
    doubt: bool = False


class SharedValue(Record):
    """A value that some of a table's runs, or cells, have in common."""

    value: str
    count: int
    who: tuple[str, ...]
    """The agents, with their models, that have it."""
    doubt: bool = False


class Difference(Record):
    """One thing in which a table's rows differ, on one task or, where `task` is empty, at all."""

    label: str
    task: str
    values: tuple[SharedValue, ...]

    @property
    def text(self) -> str:
        """The difference as a mark beside a table."""
        place = f"{self.task}: " if self.task else ""
        values = "; ".join(f"{one.value} ({', '.join(one.who)})" for one in self.values)
        return f"{place}different {self.label}: {values}"


class TableDisclosure(Record):
    """The block below a table: what all of its runs share, and what tells them apart."""

    shared: tuple[IntegrityLine, ...]
    differing: tuple[Difference, ...]


def disclosure_lines(record: RunRecord) -> tuple[IntegrityLine, ...]:
    """What a run disclosed when it was created."""
    return tuple(_line(fact.label, fact.value(record), fact.in_doubt(record)) for fact in FACTS)


def integrity_lines(summary: RunSummary) -> tuple[IntegrityLine, ...]:
    """The block of one run: its disclosure, how it ended, and what puts its grade in doubt."""
    result = summary.result
    lines = [*disclosure_lines(result.record), _ending(result.outcome, result.failure)]
    if result.recorded is not None:
        matched, given = result.recorded.matched, result.recorded.given
        lines.append(_line("recorded replies", f"{matched} of {given} matched", matched < given))
    if result.grade is not None:
        lines += _grade_lines(result.grade)
    lines += [_line(CHAIN, fault, True) for fault in summary.altered] or [_line(CHAIN, "holds")]
    doubts = [finding for finding in summary.process.findings if finding.is_integrity]
    lines += [_line("integrity finding", _finding_text(finding), True) for finding in doubts]
    if not doubts:
        lines.append(_line("integrity findings", "none"))
    return tuple(lines)


def table_disclosure(summaries: Sequence[RunSummary]) -> TableDisclosure:
    """The block of a table; what belongs to a task is compared within each task only."""
    if not summaries:
        return TableDisclosure(shared=(), differing=())
    records = [summary.result.record for summary in summaries]
    shared: list[IntegrityLine] = []
    differing: list[Difference] = []
    for fact in FACTS:
        if found := _differences(fact, records):
            differing += found
        else:
            shared.append(_shared_line(fact, records))
    shared += [_endings(summaries), _doubted(summaries), _altered(summaries)]
    return TableDisclosure(shared=tuple(shared), differing=tuple(differing))


def differences(keys: Sequence[CellKey]) -> tuple[Difference, ...]:
    """In what cells of one task differ that must not stand in one table without a mark."""
    found: list[Difference] = []
    for task in dict.fromkeys(key.task for key in keys):
        cells = [key for key in keys if key.task == task]
        for label, value in CONDITIONS.items():
            holders: dict[str, list[str]] = {}
            for cell in cells:
                name = who(cell.agent, cell.model)
                holders.setdefault(value(cell.conditions), []).append(name)
            if len(holders) > 1:
                found.append(_difference(label, task, holders, doubted={UNKNOWN}))
    return tuple(found)


def _line(label: str, value: str, doubt: bool = False) -> IntegrityLine:
    return IntegrityLine(label=label, value=value, doubt=doubt)


def _ending(outcome: Outcome | None, failure: str | None) -> IntegrityLine:
    if outcome is None:
        return _line("ended", failure or "not yet", True)
    how = f"{outcome.kind} ({outcome.cause})" if outcome.cause else outcome.kind
    detail = f": {outcome.detail}" if outcome.detail else ""
    return _line("ended", how + detail, outcome.kind in ENDED_BADLY)


def _grade_lines(grade: GradeRecord) -> list[IntegrityLine]:
    lines = []
    if grade.above_ceiling:
        lines.append(_line("score", "above the known ceiling", True))
    if "warning" in grade.extra:
        lines.append(_line("grading", str(grade.extra["warning"]), True))
    if grade.tool is not None:
        lines.append(_line("tool model in grading", grade.tool.model))
    return lines


def _finding_text(finding: Finding) -> str:
    steps = ", ".join(map(str, finding.steps))
    return f"{finding.level}, step {steps}: {finding.detail}"


def _differences(fact: Fact, records: Sequence[RunRecord]) -> list[Difference]:
    """The tasks, or the whole table, within which runs differ in a fact."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(record.disclosure.task if fact.of_task else "", []).append(record)
    found = []
    for task, members in groups.items():
        holders: dict[str, list[str]] = {}
        doubted: set[str] = set()
        for record in members:
            value, facts = fact.value(record), record.disclosure
            holders.setdefault(value, []).append(who(facts.agent, facts.model))
            if fact.in_doubt(record):
                doubted.add(value)
        if len(holders) > 1:
            found.append(_difference(fact.label, task, holders, doubted))
    return found


def _difference(
    label: str, task: str, holders: Mapping[str, Sequence[str]], doubted: set[str]
) -> Difference:
    return Difference(
        label=label,
        task=task,
        values=tuple(
            SharedValue(
                value=value, count=len(who), who=tuple(dict.fromkeys(who)), doubt=value in doubted
            )
            for value, who in holders.items()
        ),
    )


def _shared_line(fact: Fact, records: Sequence[RunRecord]) -> IntegrityLine:
    values = dict.fromkeys(map(fact.value, records))
    if len(values) == 1 or fact.label == "task":
        text = ", ".join(values)
    else:
        text = f"one per task, {len(values)} in all"
    return _line(fact.label, text, any(map(fact.in_doubt, records)))


def _endings(summaries: Sequence[RunSummary]) -> IntegrityLine:
    kinds = Counter(
        summary.result.outcome.kind if summary.result.outcome else "not ended"
        for summary in summaries
    )
    doubt = any(kinds[kind] for kind in (*ENDED_BADLY, "not ended"))
    return _line("ended", ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()), doubt)


def _doubted(summaries: Sequence[RunSummary]) -> IntegrityLine:
    count = sum(
        any(finding.is_integrity for finding in summary.process.findings) for summary in summaries
    )
    return _line("runs with integrity findings", f"{count} of {len(summaries)}", count > 0)


def _altered(summaries: Sequence[RunSummary]) -> IntegrityLine:
    count = sum(bool(summary.altered) for summary in summaries)
    return _line("runs with altered files", f"{count} of {len(summaries)}", count > 0)
