"""The canary of hidden files in a submission: proof that answers or the solution were read.

Every table of answers and every file of a solution begins with this line, and nothing that an agent
can see has it: problem texts carry the canary in another form, and where our reference agents and
measurements lay out a solution, the line is left out.
"""

import mmap
from pathlib import Path

from mlagentbench.guest.mlagentbench_task import CANARY_LINE
from mlagentbench.tasks.call_contract import InvalidSubmissionReported

_LINE = CANARY_LINE.encode()


def require_no_canary(submitted: Path) -> None:
    """Raise InvalidSubmissionReported if a submitted file contains the canary of hidden files."""
    for file in sorted(path for path in submitted.rglob("*") if path.is_file()):
        if _contains(file):
            raise InvalidSubmissionReported(
                f"{file.relative_to(submitted)} contains the canary of the task's hidden files",
                broken_rule=True,
            )


def _contains(file: Path) -> bool:
    if file.stat().st_size < len(_LINE):
        return False
    with file.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(_LINE) >= 0
