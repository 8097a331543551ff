"""The fresh draws of a run: generated ones are made when needed, splits of full data before."""

from mlagentbench.errors import UsageError
from mlagentbench.records import Tier
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared
from mlagentbench.tasks.draws import FRESH_MARK, fresh_draws
from mlagentbench.tasks.make_ready import make_ready
from mlagentbench.tasks.python_env.env import PythonEnvs
from mlagentbench.tasks.task import Task

FRESH_DRAWS = 3
"""The fresh draws of a rebuilding, unless another number is asked for."""
SPARE_DRAWS = 5
"""So many more are tried at most, in place of fresh draws that cannot be measured."""


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


def fresh_numbers(given: PreparedData, count: int) -> list[str]:
    """The fresh draws in the order in which they are tried: a few more than are needed."""
    return fresh_draws(given.draw, count + SPARE_DRAWS)


async def fresh_data(task: Task, given: PreparedData, draw: str, envs: PythonEnvs) -> PreparedData:
    """The data of a fresh draw of a draw, generated if necessary."""
    number = int(draw.rpartition(FRESH_MARK)[2])
    require_fresh_data(task, given.tier, given.draw, number)
    data = (await make_ready(task, given.tier, draw, call=call_task, envs=envs)).data
    if data.sources != given.sources:
        raise UsageError(
            f"{task.id}: the splits that are prepared are of other files than the run's data "
            f"({given.origin}); prepare those again: mlagentbench tasks prepare "
            f"{task.address} --tier full --splits {number} --from DIR"
        )
    return data
