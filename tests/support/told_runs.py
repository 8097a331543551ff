"""Runs told step by step, for what analyses them: what was said, done and observed."""

from typing import Any

from made_records import made_record

from mlagentbench.analysis.analyse import analyse
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import Finding, ProcessReport
from mlagentbench.records import Action, GradeRecord, Json, Observation, Outcome, Usage
from mlagentbench.runs.journal import (
    AnyLine,
    BeginLine,
    EndLine,
    EventLine,
    History,
    OutcomeLine,
    ReplyLine,
    RunLine,
)

EDITS = ("Write File", "Append File", "Replace in File", "Copy File", "Edit Script (AI)")


class Run:
    """A run that grows by one step at a time; the workspace changes with edits, or when told."""

    def __init__(self, **evidence: Any) -> None:
        self.lines: list[AnyLine] = []
        self.steps = 0
        self.workspace = 0
        self.facts = evidence.pop("facts", {})
        self.evidence = {"submission": "submission.csv", **evidence}
        self._add(
            RunLine, task="house-price", task_version=1, tier="full", data_hash="-", actions=(),
            limits={}, snapshot="0",
        )  # fmt: skip

    def _add(self, line_type: type[Any], **fields: Any) -> int:
        number = len(self.lines)
        self.lines.append(line_type(n=number, at=float(number), clock=float(number), **fields))
        return number

    def say(self, words: str, role: str = "main", message: Json = None) -> int:
        """A reply that prepares the next step; gives the number of its line."""
        step = self.steps + 1
        return self._add(
            ReplyLine, step=step, role=role, prompt_hash="-", reply=words, message=message
        )

    def unreadable(self, words: str, form: str, times: int = 1) -> None:
        number = self.say(words)
        for _ in range(times):
            self._add(EventLine, event="unreadable", reply=number, form=form)

    def do(
        self,
        action: str,
        observed: str = "",
        *,
        status: str = "ok",
        changes: bool | None = None,
        fault: str | None = None,
        limit: str | None = None,
        exit_code: int | None = None,
        **arguments: Json,
    ) -> "Run":
        self.steps += 1
        self._add(BeginLine, step=self.steps, action=Action(name=action, arguments=arguments))
        if (action in EDITS and status == "ok") if changes is None else changes:
            self.workspace += 1
        observation = Observation.model_validate(
            {"text": observed, "status": status, "fault": fault, "limit": limit,
             "exit_code": exit_code}
        )  # fmt: skip
        self._add(
            EndLine, step=self.steps, observation=observation, snapshot=str(self.workspace),
            started=0.0, seconds=1.0, usage=Usage(steps=self.steps, seconds=10.0 * self.steps),
        )  # fmt: skip
        return self

    def write(self, file_name: str, content: str = "x = 1\n") -> "Run":
        return self.do(
            "Write File", f"{file_name} was written", file_name=file_name, content=content
        )

    def execute(self, script: str = "train.py", observed: str = "done", **rest: Any) -> "Run":
        return self.do("Execute Script", observed, script_name=script, **rest)

    def crash(self, script: str = "train.py") -> "Run":
        text = "Traceback\n[The script failed with exit code 1.]"
        return self.execute(script, text, status="error", exit_code=1)

    def finish(self, answer: str = "Done.") -> "Run":
        self.do("Final Answer", f"The run is over.\n{answer}", final_answer=answer)
        return self.end("submitted")

    def end(self, kind: str) -> "Run":
        self._add(
            OutcomeLine, outcome=Outcome.model_validate({"kind": kind}),
            snapshot=str(self.workspace), usage=Usage(steps=self.steps),
        )  # fmt: skip
        return self

    def told(self, *grades: GradeRecord) -> RunEvidence:
        return RunEvidence(
            record=made_record(**self.facts),
            history=History(self.lines),
            grades=grades,
            **self.evidence,
        )

    def report(self, *grades: GradeRecord) -> ProcessReport:
        return analyse(self.told(*grades))

    def found(self, kind: str, *grades: GradeRecord) -> list[Finding]:
        return [finding for finding in self.report(*grades).findings if finding.kind == kind]


def research_reply(
    action: str = "List Files",
    arguments: str = "{}",
    *,
    reflection: str = "Nothing new.",
    plan: str = "1. Look at the files. Done.",
    thought: str = "I go on.",
    behind: str = "",
) -> str:
    """A text agent's reply."""
    return (
        f"Reflection: {reflection}\nResearch Plan and Status:\n{plan}\nFact Check: None.\n"
        f"Thought: {thought}\nAction: {action}\nAction Input: {arguments}{behind}"
    )
