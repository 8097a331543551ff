"""The fresh draws of a run: generated ones are made when needed, splits of full data before."""

from mlagentbench.errors import UsageError
from mlagentbench.records import Tier
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared
from mlagentbench.tasks.draws import fresh_draws
from mlagentbench.tasks.make_ready import make_ready
from mlagentbench.tasks.python_env.env import PythonEnvs
from mlagentbench.tasks.task import Task

FRESH_DRAWS = 3
"""The fresh draws of a rebuilding, unless another number is asked for."""


def require_fresh_data(task: Task, tier: Tier, draw: str, count: int) -> None:
    """A UsageError with the command to run, if data cannot be made when they are needed."""
    if tier != "full":
        return
    missing = [one for one in fresh_draws(draw, count) if find_prepared(task, tier, one) is None]
    if missing:
        raise UsageError(
            f"{task.id}: rebuilding on {count} other splits of the full data needs them prepared, "
            f"and {', '.join(missing)} are not; run: mlagentbench tasks prepare {task.address} "
            f"--tier full --splits {count}"
        )


async def fresh_data(
    task: Task, given: PreparedData, count: int, envs: PythonEnvs
) -> list[PreparedData]:
    """The data of the fresh draws of a draw, generated if necessary."""
    require_fresh_data(task, given.tier, given.draw, count)
    found = []
    for one in fresh_draws(given.draw, count):
        ready = await make_ready(task, given.tier, one, call=call_task, envs=envs)
        if ready.data.sources != given.sources:
            raise UsageError(
                f"{task.id}: the splits that are prepared are of other files than the run's data "
                f"({given.origin}); prepare those again: mlagentbench tasks prepare "
                f"{task.address} --tier full --splits {count} --from DIR"
            )
        found.append(ready.data)
    return found
