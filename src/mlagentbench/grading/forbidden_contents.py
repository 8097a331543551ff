"""What no submission may contain: the canary of hidden files, and, by some tasks, machine code.

The canary proves that answers or the solution were read. Every table of answers and every file of a
solution begins with its line, and nothing that an agent can see has it: problem texts carry the
canary in another form, and where our reference agents and measurements lay out a solution, the line
is left out.
"""

import re
from pathlib import Path

from mlagentbench.guest.mlagentbench_task import CANARY_LINE
from mlagentbench.tasks.call_contract import InvalidSubmissionReported

CANARY = re.compile(re.escape(CANARY_LINE.encode()))
ELF_HEADER = re.compile(rb"\x7fELF[\x01\x02][\x01\x02]\x01")
"""Its magic number, class, byte order and version."""
CHUNK = 1 << 20
LONGEST_MATCH = 256


def require_no_canary(submitted: Path) -> None:
    """Raise InvalidSubmissionReported if a submitted file contains the canary of hidden files."""
    file = _file_with(CANARY, submitted)
    if file is not None:
        raise InvalidSubmissionReported(
            f"{file} contains the canary of the task's hidden files", broken_rule=True
        )


def require_no_machine_code(submitted: Path) -> None:
    """Refuse ELF files, also inside other files; the sandbox would not execute them anyway."""
    file = _file_with(ELF_HEADER, submitted)
    if file is not None:
        raise InvalidSubmissionReported(
            f"{file} contains compiled code (an ELF file), which this task does not allow; "
            "submit source code only"
        )


def _file_with(pattern: re.Pattern[bytes], submitted: Path) -> Path | None:
    """The first regular file that contains the pattern, relative to the directory."""
    for file in sorted(submitted.rglob("*")):
        if file.is_file() and not file.is_symlink() and _contains(pattern, file):
            return file.relative_to(submitted)
    return None


def _contains(pattern: re.Pattern[bytes], file: Path) -> bool:
    """Whether a file of any size contains the pattern; it is read in overlapping chunks."""
    end = b""
    with file.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            if pattern.search(end + chunk):
                return True
            end = chunk[-LONGEST_MATCH:]
    return False
