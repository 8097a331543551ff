"""Whose fault it is, decided once, where it happens.

| error        | whose fault            | what becomes of it                                   |
|--------------|------------------------|------------------------------------------------------|
| ActionError  | the agent's            | the observation of its step; the run goes on         |
| RunEnded     | nobody's               | the run's outcome: submitted, or a budget is used up |
| RunFailed    | sandbox, model or task | no score; the run can be started again               |
| UsageError   | the person's           | one clear line on the terminal, no traceback         |
"""

from typing import Literal

OutcomeKind = Literal["submitted", "steps", "time", "tokens", "cost", "interrupted", "failed"]
FailureCause = Literal["sandbox", "model", "task", "grader", "harness"]


class MLAgentBenchError(Exception):
    """Base of every error that this package raises on purpose."""


class ActionError(MLAgentBenchError):
    """An action cannot be carried out as the agent asked; the text is its observation."""


class RunEnded(MLAgentBenchError):
    """The run is over: no further action will be executed."""

    def __init__(self, kind: OutcomeKind, detail: str = "") -> None:
        super().__init__(detail or kind)
        self.kind: OutcomeKind = kind
        self.detail = detail


class RunFailed(MLAgentBenchError):
    """What the run stands on has failed; the agent is not to blame and gets no score."""

    def __init__(self, cause: FailureCause, detail: str) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause: FailureCause = cause
        self.detail = detail


class UsageError(MLAgentBenchError):
    """The person asked for something that cannot be; the text names thing, reason and next step."""
