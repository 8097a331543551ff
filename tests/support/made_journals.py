"""Journals that nobody lived through: lines in their order, with whatever a test wants in them."""

from typing import Any

from made_records import made_record

from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.records import Action, Json, Observation, Outcome, Record, Usage
from mlagentbench.runs.journal import (
    AnyLine,
    BeginLine,
    EndLine,
    History,
    OutcomeLine,
    ReplyLine,
    RunLine,
)


class MadeStep(Record):
    """A reply, the action that it asks for, and what was observed."""

    said: str
    action: str = "List Files"
    arguments: dict[str, Json] = {}
    observed: str = "train.py"


def made_lines(*steps: MadeStep) -> list[AnyLine]:
    lines: list[AnyLine] = []

    def add(line_type: type[Any], **fields: Any) -> None:
        lines.append(line_type(n=len(lines), at=float(len(lines)), clock=1.0, **fields))

    add(
        RunLine, task="house-price", task_version=1, tier="full", data_hash="-", actions=(),
        limits={}, snapshot="0",
    )  # fmt: skip
    for number, step in enumerate(steps, start=1):
        add(ReplyLine, step=number, role="main", prompt_hash="-", reply=step.said)
        add(BeginLine, step=number, action=Action(name=step.action, arguments=step.arguments))
        add(
            EndLine, step=number, observation=Observation(text=step.observed), snapshot="0",
            started=0.0, seconds=1.0,
        )  # fmt: skip
    add(OutcomeLine, outcome=Outcome(kind="submitted"), snapshot="0", usage=Usage(steps=len(steps)))
    return lines


def made_evidence(*steps: MadeStep, problem: str = "Predict y.") -> RunEvidence:
    return RunEvidence(record=made_record(), history=History(made_lines(*steps)), problem=problem)
