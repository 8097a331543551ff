"""What commands of ours are typed with."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def environment_variables(kept_home: Path) -> dict[str, str]:
    return {**os.environ, "MLAGENTBENCH_HOME": str(kept_home), "COLUMNS": "120"}
