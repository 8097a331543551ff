"""Check that a grader does not run what was submitted, by outputs that are traps.

A trap ends the process immediately, with a mark of its own, so a grader that imports, unpickles or
otherwise runs a part of a submission does not return.
"""

import pickle
import secrets
import shutil
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.grading.grade import call_grader
from mlagentbench.task_checks.verdicts import Check, CheckResult
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

CHECK = Check("grading runs nothing that was submitted")
MODULES = ("sitecustomize.py", "usercustomize.py", "conftest.py", "__init__.py", "numpy.py")
"""Files that Python would import by itself if they were on its path."""

FROM_TIMED_GRADING = ("timings.json", "requests", "starter")
"""Files that timed grading adds to the submission."""


class _Trap:
    """Runs the trap when it is unpickled."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (self.source,)


async def grading_runs_nothing(
    task: Task, data: PreparedData, python_env: PythonEnv, outputs: Path, scratch: Path
) -> CheckResult:
    """Grade outputs whose code contains a trap, and outputs that are pickled traps."""
    if not outputs.is_dir():
        return CHECK.fails("the solution left nothing to be graded")
    mark = f"trap-{secrets.token_hex(8)}"
    source = f"import os; os.write(2, b'{mark}'); os._exit(97)"
    for kind, write_traps in (("code", _write_code_traps), ("pickles", _write_pickle_traps)):
        trapped = scratch / f"trapped-{kind}"
        shutil.copytree(outputs, trapped)
        write_traps(trapped, _submitted(trapped), source)
        try:
            await call_grader(task, data, python_env, trapped)
        except InvalidSubmissionReported:
            continue
        except RunFailed as failure:
            if mark in failure.detail:
                return CHECK.fails(f"grade() ran {kind} of the submission; read it as data instead")
            reason = failure.detail.strip().splitlines()[-1]
            failed = f"grade() failed on a submission of {kind} instead of refusing it"
            return CHECK.fails(f"{failed}: {reason}")
    return CHECK.holds("traps in code and in pickles were not touched")


def _submitted(outputs: Path) -> list[Path]:
    """The files that came from the submission, not from the harness or the starter."""
    files = sorted(path for path in outputs.rglob("*") if path.is_file())
    return [file for file in files if file.relative_to(outputs).parts[0] not in FROM_TIMED_GRADING]


def _write_code_traps(outputs: Path, files: list[Path], source: str) -> None:
    for file in files:
        if file.suffix == ".py":
            file.write_text(f"{source}\n{file.read_text(encoding='utf-8', errors='replace')}")
    for folder in [outputs, *(path for path in outputs.rglob("*") if path.is_dir())]:
        for name in MODULES:
            if not (folder / name).exists():
                (folder / name).write_text(source)


def _write_pickle_traps(outputs: Path, files: list[Path], source: str) -> None:  # noqa: ARG001
    contents = pickle.dumps(_Trap(source))
    for file in files:
        file.write_bytes(contents)
