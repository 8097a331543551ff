"""How far results can be trusted and compared: a block per run, a block per table, and marks.

A line is in doubt when it limits what the result shows: unverified data, replies that no model
gave, a sandbox without isolation, a run that failed or was interrupted.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from mlagentbench.analysis.disclosures import (
    FACTS,
    Fact,
    execution_text,
    first_limits_text,
    limits_text,
    short_hash,
    version_text,
)
from mlagentbench.analysis.findings import Finding
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.records import UNKNOWN, GradeRecord, Outcome, Record, RunRecord
from mlagentbench.statistics.cell_marks import agent_with_model
from mlagentbench.statistics.cells import CellKey, Conditions

ENDED_BADLY = ("failed", "interrupted")
CHAIN = "hash chain"
CONDITIONS: dict[str, Callable[[Conditions], str]] = {
    "tier": lambda conditions: conditions.tier,
    "profile": lambda conditions: conditions.profile or "none",
    "task version": lambda conditions: version_text(conditions.task_version),
    "data": lambda conditions: short_hash(conditions.data),
    "draws": lambda conditions: conditions.draw_policy or "none",
    "limits": lambda conditions: limits_text(conditions.limits),
    "initial limits": lambda conditions: first_limits_text(conditions.first_limits),
    "sandbox": lambda conditions: conditions.sandbox,
    "feedback": lambda conditions: conditions.feedback,
    "execution": lambda conditions: execution_text(conditions.execution),
    "variant": lambda conditions: conditions.variant,
    "protocol": lambda conditions: conditions.protocol,
    "fresh draws": lambda conditions: str(conditions.rebuild_draws or "none"),
}
"""What results of one task must share to be in one table without a mark."""


class IntegrityLine(Record):
    """One thing that a reader must know about a result."""

    label: str
    value: str
    doubt: bool = False


class SharedValue(Record):
    """A value that some of a table's runs or cells share."""

    value: str
    count: int
    agents: tuple[str, ...]
    """The agents, with their models, that have it."""
    doubt: bool = False


class Difference(Record):
    """Something in which a table's rows differ, on one task or, if `task` is empty, on all."""

    label: str
    task: str
    values: tuple[SharedValue, ...]

    @property
    def text(self) -> str:
        """The difference as a mark beside a table."""
        place = f"{self.task}: " if self.task else ""
        values = "; ".join(f"{one.value} ({', '.join(one.agents)})" for one in self.values)
        return f"{place}different {self.label}: {values}"


class TableDisclosure(Record):
    """The block below a table: what its runs share, and in what they differ."""

    shared: tuple[IntegrityLine, ...]
    differing: tuple[Difference, ...]


def disclosure_lines(record: RunRecord) -> tuple[IntegrityLine, ...]:
    """What a run disclosed at its start."""
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
    """The block of a table; facts about tasks are compared within each task only."""
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
    """The conditions in which cells of one task differ."""
    found: list[Difference] = []
    for task in dict.fromkeys(key.task for key in keys):
        cells = [key for key in keys if key.task == task]
        for label, text in CONDITIONS.items():
            values = [text(cell.conditions) for cell in cells]
            agents = [agent_with_model(cell.agent, cell.model) for cell in cells]
            found += _difference(label, task, values, agents, doubted={UNKNOWN})
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
    if grade.broken_rule:
        lines.append(_line("broken rule", grade.reason or "", True))
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
    """The differences in a fact, within each task or draw or within the whole table."""
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        facts = record.disclosure
        task, draw = facts.task if fact.of_task else "", facts.draw if fact.of_draw else ""
        groups.setdefault((task, draw or ""), []).append(record)
    found: list[Difference] = []
    for (task, _), members in groups.items():
        disclosed = [record.disclosure for record in members]
        agents = [agent_with_model(one.agent, one.model) for one in disclosed]
        doubted = {fact.value(record) for record in members if fact.in_doubt(record)}
        found += _difference(fact.label, task, list(map(fact.value, members)), agents, doubted)
    return found


def _difference(
    label: str, task: str, values: Sequence[str], agents: Sequence[str], doubted: set[str]
) -> list[Difference]:
    """The difference between values, each with the agents that have it; empty if all are equal."""
    shared = [
        SharedValue(
            value=value,
            count=values.count(value),
            agents=tuple(
                dict.fromkeys(
                    agent for agent, own in zip(agents, values, strict=True) if own == value
                )
            ),
            doubt=value in doubted,
        )
        for value in dict.fromkeys(values)
    ]
    return [Difference(label=label, task=task, values=tuple(shared))] if len(shared) > 1 else []


def _shared_line(fact: Fact, records: Sequence[RunRecord]) -> IntegrityLine:
    values = dict.fromkeys(map(fact.value, records))
    if len(values) == 1 or fact.label == "task":
        text = ", ".join(values)
    else:
        draws = {(one.disclosure.task, one.disclosure.draw) for one in records}
        tasks = {task for task, _ in draws}
        each = "task and draw" if fact.of_draw and len(draws) > len(tasks) else "task"
        text = f"one per {each}, {len(values)} in all"
    return _line(fact.label, text, any(map(fact.in_doubt, records)))


def _endings(summaries: Sequence[RunSummary]) -> IntegrityLine:
    kinds = Counter(
        summary.result.outcome.kind if summary.result.outcome else "not ended"
        for summary in summaries
    )
    doubt = any(kinds[kind] for kind in (*ENDED_BADLY, "not ended"))
    return _line("ended", ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()), doubt)


def _doubted(summaries: Sequence[RunSummary]) -> IntegrityLine:
    count = sum(summary.is_flagged for summary in summaries)
    return _line("flagged runs", f"{count} of {len(summaries)}", count > 0)


def _altered(summaries: Sequence[RunSummary]) -> IntegrityLine:
    count = sum(bool(summary.altered) for summary in summaries)
    return _line("runs with altered files", f"{count} of {len(summaries)}", count > 0)
