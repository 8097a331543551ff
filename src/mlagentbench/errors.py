"""All errors by whose fault they are, which is decided where they are raised.

| error          | whose fault            | effect                                               |
|----------------|------------------------|------------------------------------------------------|
| ActionError    | the agent's            | the observation of its step; the run continues       |
| RunEnded       | none                   | the run's outcome: submitted, a budget is used up,   |
|                |                        | the prompt is too long, or the model refuses         |
| RunFailed      | sandbox, model or task | no score; the run can be started again               |
| RunInterrupted | none                   | no score; the run waits to be resumed                |
| UsageError     | the user's             | one clear line on the terminal, no traceback         |
"""

from typing import Literal

OutcomeKind = str
"""submitted, context, refusal, interrupted, failed; or the name of the limit that is used up."""
FailureCause = Literal["sandbox", "model", "task", "grader", "harness"]
ActionFault = Literal["unknown action", "bad arguments"]


class MLAgentBenchError(Exception):
    """Base class of all errors that this package raises on purpose."""


class ActionError(MLAgentBenchError):
    """An action cannot be carried out as requested; the text is its observation.

    `fault` is set if its form is wrong.
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
    """The prompt is longer than the model can read; an agent may try a shorter one."""

    def __init__(self, detail: str) -> None:
        super().__init__("context", detail)


class ModelRefused(RunEnded):
    """The model, or a filter in front of it, refuses to answer in every attempt."""

    def __init__(self, detail: str) -> None:
        super().__init__("refusal", detail)


class RunFailed(MLAgentBenchError):
    """Infrastructure of the run has failed; the agent is not to blame and gets no score."""

    def __init__(self, cause: FailureCause, detail: str) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause: FailureCause = cause
        self.detail = detail


class UnusableDraw(RunFailed):
    """Floor and reference of a draw are too close together for a scale; another draw may do."""

    def __init__(self, detail: str) -> None:
        super().__init__("task", detail)


class RunInterrupted(RunFailed):
    """The run has to wait: what all runs may use together is used up. It can be resumed."""

    def __init__(self, detail: str) -> None:
        super().__init__("model", detail)


class UsageError(MLAgentBenchError):
    """The user asked for something impossible; the text names thing, reason and next step."""
