"""The contract for calling a function of a task folder in a sandbox.

tasks/ may not import the sandbox, so callers pass an implementation.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from mlagentbench.records import Json
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

LONGEST_REASON = 2000


class InvalidSubmissionReported(Exception):
    """The submission cannot be scored; the text is the reason.

    Reasons quote what was submitted, so they are shortened and made encodable. `broken_rule`: it is
    not a mistake; grading proved that the submission breaks a rule.
    """

    def __init__(self, reason: str, *, broken_rule: bool = False) -> None:
        self.broken_rule = broken_rule
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]} [cut off]"
        super().__init__(reason.encode("utf-8", "backslashreplace").decode())


class CallTask(Protocol):
    """Runs `module.function` of a task's folder in its virtual environment, in a fresh sandbox.

    `read` and `write` give the function its directories or files by argument name (read-only and
    writable); `seed` becomes a numpy Generator named `rng`. Returns what the function returned, as
    JSON (a Grade becomes its fields; trivial predictors are written below the `write` directory
    `out`). Raises InvalidSubmissionReported when the function raised InvalidSubmission, and
    RunFailed("task" or "grader", the traceback's end) on any other error.
    """

    async def __call__(
        self,
        task: Task,
        python_env: PythonEnv,
        function: str,
        *,
        read: Mapping[str, Path] | None = None,
        write: Mapping[str, Path] | None = None,
        seed: int | None = None,
        timeout: float = 600.0,
    ) -> Json: ...
