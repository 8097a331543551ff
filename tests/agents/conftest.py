"""Runs on a small task, and what foreign agents need, for the tests of this folder."""

from pathlib import Path
from typing import Any

import pytest
from environment_fixtures import (  # noqa: F401
    anyio_backend,
    data,
    numpy_env,
    open_environment,
    python_env,
    task,
)


@pytest.fixture
def foreign_agents(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that keeps their python environments, and a bridge that need not be waited for.

    Inspect looks for an agent's calls every two seconds.
    """
    from inspect_ai.agent._bridge.sandbox import service

    served = vars(service)["sandbox_service"]

    async def often(**options: Any) -> None:
        await served(**(options | {"polling_interval": 0.2}))

    monkeypatch.setattr(service, "sandbox_service", often)
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))
