"""What an agent is told of a run's past, and what it does anew."""

import pytest
from small_task import OpenRun

from mlagentbench.agents.resumable import ResumableRun
from mlagentbench.records import Action

pytestmark = pytest.mark.anyio

LOOK = Action(name="List Files")


@pytest.mark.parametrize("taken_over", [False, True])
async def test_only_its_own_steps_are_told_as_its_own(
    open_environment: OpenRun, taken_over: bool
) -> None:
    async with open_environment() as environment:
        await environment.execute(LOOK)
        if taken_over:
            environment._event("taken over")
    async with open_environment() as environment:
        run = ResumableRun(environment, "tree", asks_first=False)
        assert ("1 steps were taken" in run.problem) == taken_over
        assert run.used.steps == (1 if taken_over else 0)
        assert (await run.execute(LOOK)).n == (2 if taken_over else 1)
        assert len(environment.steps) == (2 if taken_over else 1)
