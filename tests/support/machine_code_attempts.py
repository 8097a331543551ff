"""The attempts of machine_code.py, laid out in a workspace."""

import importlib.util
import shutil
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "redteam" / "machine_code.py"


def lay_out(workspace: Path) -> None:
    """Write the attempts to a workspace, with the machine code that they bring."""
    shutil.copyfile(PROGRAM, workspace / PROGRAM.name)
    specification = importlib.util.spec_from_file_location("machine_code", PROGRAM)
    assert specification is not None and specification.loader is not None
    attacking = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(attacking)
    shutil.copyfile(attacking.library(), workspace / "submitted.so")
    (workspace / "submitted.bin").write_bytes(attacking.CODE.ljust(attacking.PAGE, b"\0"))
