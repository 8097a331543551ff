"""Inspect's own check of a sandbox provider, run on ours. Only `exec_as_user` may fail."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine

import pytest
from inspect_ai.util import SandboxEnvironment
from inspect_ai.util._sandbox import self_check

from mlagentbench.environment.sandbox.inspect_provider import BubblewrapSandboxEnvironment

Check = Callable[[SandboxEnvironment], Coroutine[None, None, None]]
NEEDS_ROOT_INSIDE = {"test_exec_as_user"}
CHECKS = [
    name for name in self_check.__all__ if inspect.iscoroutinefunction(getattr(self_check, name))
]


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in NEEDS_ROOT_INSIDE])
def test_self_check(name: str) -> None:
    check: Check = getattr(self_check, name)

    async def run() -> None:
        environments = await BubblewrapSandboxEnvironment.sample_init("check", None, {})
        try:
            await check(environments["default"])
        finally:
            await BubblewrapSandboxEnvironment.sample_cleanup("check", None, environments, False)

    asyncio.run(run())


def test_all_checks_are_run() -> None:
    assert len(CHECKS) > 30
    assert set(CHECKS) >= NEEDS_ROOT_INSIDE
