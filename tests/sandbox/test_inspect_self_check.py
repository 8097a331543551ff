"""Inspect's own check of a sandbox provider, run on ours. Only `exec_as_user` may fail."""

import asyncio
import inspect

import pytest
from inspect_ai.util._sandbox import self_check

from mlagentbench.sandbox.inspect_provider import BubblewrapSandboxEnvironment

pytestmark = pytest.mark.slow

NEEDS_ROOT_INSIDE = "test_exec_as_user"
CHECKS = [
    name
    for name in self_check.__all__
    if inspect.iscoroutinefunction(getattr(self_check, name)) and name != NEEDS_ROOT_INSIDE
]


async def run_check(name: str) -> None:
    environments = await BubblewrapSandboxEnvironment.sample_init("check", None, {})
    try:
        await getattr(self_check, name)(environments["default"])
    finally:
        await BubblewrapSandboxEnvironment.sample_cleanup("check", None, environments, False)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, BaseException | None]:
    """How all checks ended; they run side by side, since some of them mostly sleep."""

    async def run_all() -> list[BaseException | None]:
        return await asyncio.gather(*map(run_check, CHECKS), return_exceptions=True)

    return dict(zip(CHECKS, asyncio.run(run_all()), strict=True))


@pytest.mark.parametrize("name", CHECKS)
def test_self_check(name: str, outcomes: dict[str, BaseException | None]) -> None:
    outcome = outcomes[name]
    if outcome is not None:
        raise outcome


def test_the_checks_are_all_there() -> None:
    assert len(CHECKS) > 30
    assert NEEDS_ROOT_INSIDE in self_check.__all__
