"""The measured figures in bench/results: each part with the commit and machine that it is of."""

import json
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mlagentbench.records import Json, Record
from mlagentbench.runs.disclosure import hardware

RESULTS = Path(__file__).parent / "results"


def keep(file: str, part: str, figures: Sequence[Record]) -> None:
    """Put a part's figures into a file; those of its other parts stay."""
    path = RESULTS / file
    facts: dict[str, Json] = json.loads(path.read_text()) if path.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=RESULTS
    ).stdout.strip()
    facts[part] = {
        "commit": commit,
        "python": platform.python_version(),
        "machine": hardware(),
        "figures": [one.model_dump(mode="json") for one in figures],
    }
    path.write_text(json.dumps(facts, indent=2) + "\n")
