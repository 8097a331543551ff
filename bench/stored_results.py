"""Stored measurements in bench/results: each part names the commit and machine it ran on.

`load_average` covers the minute before a part was stored, with the measured work itself in it. A
value well above what that work can cause means that the machine was busy with something else.
"""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mlagentbench.records import Json, Record
from mlagentbench.runs.machine_facts import hardware

RESULTS = Path(__file__).parent / "results"


def keep(file: str, part: str, measurements: Sequence[Record]) -> None:
    """Store the measurements of one part in a file, and keep those of the other parts."""
    path = RESULTS / file
    facts: dict[str, Json] = json.loads(path.read_text()) if path.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=RESULTS
    ).stdout.strip()
    facts[part] = {
        "commit": commit,
        "python": platform.python_version(),
        "machine": hardware(),
        "load_average": round(os.getloadavg()[0], 1),
        "measurements": [one.model_dump(mode="json") for one in measurements],
    }
    path.write_text(json.dumps(facts, indent=2) + "\n")
