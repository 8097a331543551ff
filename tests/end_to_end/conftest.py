"""A home that all tests of whole runs share: python environments take long to build."""

import os
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, Result, Run


@pytest.fixture
def environment_variables(kept_home: Path) -> dict[str, str]:
    return {**os.environ, "MLAGENTBENCH_HOME": str(kept_home), "COLUMNS": "120"}


@pytest.fixture
def run(tmp_path: Path, environment_variables: dict[str, str]) -> Run:
    """Types a command of ours in an empty directory and waits for its end."""

    def type_command(*arguments: str, expect: int = 0, **variables: str) -> Result:
        result = subprocess.run(
            [COMMAND, *arguments],
            cwd=tmp_path,
            env={**environment_variables, **variables},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert result.returncode == expect, f"{result.stdout}\n{result.stderr}"
        return result

    return type_command
