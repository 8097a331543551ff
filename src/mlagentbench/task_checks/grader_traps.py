"""Whether a grader runs what was submitted: outputs that are traps for whoever executes them.

A trap ends the process with an exit code that nothing else has, at once and past every handler, so
that a grader which imports, unpickles or otherwise runs a part of a submission does not return.
"""

import pickle
import secrets
import shutil
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.grading.grade import call_grader
from mlagentbench.task_checks.verdicts import CheckResult
from mlagentbench.tasks.contract import InvalidSubmissionReported
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

NAME = "grading runs nothing that was submitted"
MODULES = ("sitecustomize.py", "usercustomize.py", "conftest.py", "__init__.py", "numpy.py")
"""Names under which Python would find a file by itself, were it on its path."""

OURS = ("timings.json", "requests", "starter")
"""What timed grading itself lays beside the submission."""


class _Trap:
    """Unpickled, it calls what the trap calls."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (self.source,)


async def grading_runs_nothing(
    task: Task, data: PreparedData, python_env: PythonEnv, outputs: Path, scratch: Path
) -> CheckResult:
    """Grade outputs whose code is a trap, and outputs that are pickled traps as a whole."""
    if not outputs.is_dir():
        return CheckResult(name=NAME, ok=False, detail="the solution left nothing to be graded")
    mark = f"trap-{secrets.token_hex(8)}"
    source = f"import os; os.write(2, b'{mark}'); os._exit(97)"
    for kind, lay in (("code", _lay_code), ("pickles", _lay_pickles)):
        trapped = scratch / f"trapped-{kind}"
        shutil.copytree(outputs, trapped)
        lay(trapped, _submitted(trapped), source)
        try:
            await call_grader(task, data, python_env, trapped)
        except InvalidSubmissionReported:
            continue
        except RunFailed as failure:
            if mark in failure.detail:
                detail = f"grade() ran {kind} of the submission; read it as data instead"
                return CheckResult(name=NAME, ok=False, detail=detail)
            reason = failure.detail.strip().splitlines()[-1]
            detail = f"grade() failed on a submission of {kind} instead of refusing it: {reason}"
            return CheckResult(name=NAME, ok=False, detail=detail)
    return CheckResult(name=NAME, ok=True, detail="traps in code and in pickles were not touched")


def _submitted(outputs: Path) -> list[Path]:
    """The files that came from the submission, not from the harness or the starter."""
    files = sorted(path for path in outputs.rglob("*") if path.is_file())
    return [file for file in files if file.relative_to(outputs).parts[0] not in OURS]


def _lay_code(outputs: Path, files: list[Path], source: str) -> None:
    for file in files:
        if file.suffix == ".py":
            file.write_text(f"{source}\n{file.read_text(encoding='utf-8', errors='replace')}")
    for folder in [outputs, *(path for path in outputs.rglob("*") if path.is_dir())]:
        for name in MODULES:
            if not (folder / name).exists():
                (folder / name).write_text(source)


def _lay_pickles(outputs: Path, files: list[Path], source: str) -> None:  # noqa: ARG001
    contents = pickle.dumps(_Trap(source))
    for file in files:
        file.write_bytes(contents)
