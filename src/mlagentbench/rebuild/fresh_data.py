"""The fresh draws of a run: generated ones are made when needed, splits of full data before."""

from mlagentbench.errors import UsageError
from mlagentbench.records import Tier
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared, find_split
from mlagentbench.tasks.draws import FRESH_MARK, FreshKey, fresh_draws, is_keyed
from mlagentbench.tasks.make_ready import make_ready
from mlagentbench.tasks.python_env.env import PythonEnvs
from mlagentbench.tasks.task import Task

FRESH_DRAWS = 3
"""The fresh draws of a rebuilding, unless another number is asked for."""
SPARE_DRAWS = 5
"""So many more are tried at most, in place of fresh draws that cannot be measured."""


def require_fresh_data(
    task: Task, tier: Tier, draw: str, count: int, given: PreparedData | None = None
) -> None:
    """A UsageError with the command to run, if data cannot be made when they are needed.

    In the full tier they are splits of `given`, or else of the data that runs use.
    """
    if is_keyed(task, tier):
        return
    found = {
        one: find_prepared(task, tier, one) if given is None else find_split(task, given, one)
        for one in fresh_draws(draw, count)
    }
    missing = [one for one, data in found.items() if data is None]
    if missing:
        of = "the full data" if given is None else f"the full data from {given.origin}"
        files = "" if given is None else given.made_with
        raise UsageError(
            f"{task.id}: rebuilding on {count} other splits of {of} needs them prepared, and "
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not; run: mlagentbench "
            f"tasks prepare {task.address} --tier full --splits {count}{files}"
        )


def fresh_numbers(given: PreparedData, count: int, key: FreshKey | None) -> list[str]:
    """The fresh draws in the order in which they are tried: a few more than are needed."""
    return fresh_draws(given.draw, count + SPARE_DRAWS, key=key)


async def fresh_data(
    task: Task, given: PreparedData, draw: str, envs: PythonEnvs, key: FreshKey | None
) -> PreparedData:
    """The data of a fresh draw of a draw, generated if necessary; splits have no key."""
    if key is not None:
        data = (await make_ready(task, given.tier, draw, call=call_task, envs=envs, key=key)).data
        if data.recipe != given.recipe:
            raise UsageError(
                f"{task.id}: the data of this run ({given.draw}) were made by another version of "
                "the task's generator, so its fresh draws are of another kind; run it again"
            )
        return data
    split = find_split(task, given, draw)
    if split is None:
        number = int(draw.rpartition(FRESH_MARK)[2])
        require_fresh_data(task, given.tier, given.draw, number, given)
        raise UsageError(f"{task.id}: {draw} was removed just now; run the same command again")
    return split
