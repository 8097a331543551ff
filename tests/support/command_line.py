"""Typing commands of ours as a person would."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

COMMAND = Path(sys.prefix) / "bin" / "mlagentbench"
Result = subprocess.CompletedProcess[str]
Run = Callable[..., Result]
