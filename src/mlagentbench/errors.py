"""Whose fault it is, decided once, where it happens.

| error        | whose fault            | what becomes of it                                   |
|--------------|------------------------|------------------------------------------------------|
| ActionError  | the agent's            | the observation of its step; the run goes on         |
| RunEnded     | nobody's               | the run's outcome: submitted, a budget is used up,   |
|              |                        | the model cannot read so much, or refuses to go on   |
| RunFailed    | sandbox, model or task | no score; the run can be started again               |
| UsageError   | the person's           | one clear line on the terminal, no traceback         |
"""

from typing import Literal

OutcomeKind = Literal[
    "submitted", "steps", "time", "tokens", "cost", "context", "refusal", "interrupted", "failed"
]
FailureCause = Literal["sandbox", "model", "task", "grader", "harness"]
ActionFault = Literal["unknown action", "bad arguments"]


class MLAgentBenchError(Exception):
    """Base of every error that this package raises on purpose."""


class ActionError(MLAgentBenchError):
    """An action cannot be carried out as the agent asked; the text is its observation.

    `fault` is set where not even its form is right.
    """

    def __init__(self, text: str = "", fault: ActionFault | None = None) -> None:
        super().__init__(text)
        self.fault = fault


class RunEnded(MLAgentBenchError):
    """The run is over: no further action will be executed."""

    def __init__(self, kind: OutcomeKind, detail: str = "") -> None:
        super().__init__(detail or kind)
        self.kind: OutcomeKind = kind
        self.detail = detail


class ContextOverflow(RunEnded):
    """What the model was asked is longer than it can read; an agent may ask less instead."""

    def __init__(self, detail: str) -> None:
        super().__init__("context", detail)


class ModelRefused(RunEnded):
    """The model, or a filter before it, refuses to answer this, every time that it is asked."""

    def __init__(self, detail: str) -> None:
        super().__init__("refusal", detail)


class RunFailed(MLAgentBenchError):
    """What the run stands on has failed; the agent is not to blame and gets no score."""

    def __init__(self, cause: FailureCause, detail: str) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause: FailureCause = cause
        self.detail = detail


class UsageError(MLAgentBenchError):
    """The person asked for something that cannot be; the text names thing, reason and next step."""
