"""The contract for calling a function of a task folder in a sandbox.

tasks/ may not import the sandbox, so callers pass an implementation.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from mlagentbench.errors import FailureCause, RunFailed
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


class TaskCodeFailed(RunFailed):
    """A function of a task folder has failed: its own fault, or that of what it was given.

    `how` completes a sentence that begins with the function.
    """

    def __init__(self, cause: FailureCause, function: str, how: str, detail: str) -> None:
        super().__init__(cause, detail)
        self.function = function
        self.how = how


class CallTask(Protocol):
    """Runs `module.function` of a task's folder in its virtual environment, in a fresh sandbox.

    `read` and `write` give the function its directories or files by argument name (read-only and
    writable); `seed` becomes a numpy Generator named `rng`; `pool` is that of the hard tier's
    mechanisms. Returns what the function returned, as
    JSON (a Grade becomes its fields; the submissions of trivial.py are written below the `write`
    directory `out`). Raises InvalidSubmissionReported when the function raised InvalidSubmission,
    TaskCodeFailed("task" or "grader", the traceback's end) when it failed in another way, exceeded
    a limit or returned something else than it should, and RunFailed when it could not be called.
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
        pool: str | None = None,
        timeout: float = 600.0,
    ) -> Json: ...
