"""What `--json` prints: JSON on stdout, and nothing else."""

import json
import sys

from mlagentbench.records import Json


def print_json(values: Json) -> None:
    sys.stdout.write(json.dumps(values, indent=2) + "\n")
