"""The measurements of a draw: made once on a machine, when they are first needed.

The first run on a draw measures it, before its agent begins; everything else that needs the
measurements meanwhile waits for it. They are stored in the home by the hash of the data.
"""

from mlagentbench.errors import RunFailed, UnusableDraw
from mlagentbench.home import holding
from mlagentbench.machine.slots import slot_for
from mlagentbench.task_checks.measure import forget_trials, measure, runs_on
from mlagentbench.task_checks.trial_runs import Announce, once_per_reason
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.draws import draws_text
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import home_file, store_in_home, stored_measurements
from mlagentbench.tasks.task import Task


async def ensure_measured(
    task: Task, data: PreparedData, python_env: PythonEnv, tool: str | None, announce: Announce
) -> Measured:
    """The stored measurements of these data, which are made if there are none.

    On the public draw the starter runs as often as in `tasks measure`. UsageError if the GPUs of
    the task's profile are not here; UnusableDraw if floor and reference are too close together on
    this draw; RunFailed if they cannot be made for another reason.
    """
    found = stored_measurements(task, data.tier, data.hash, tool)
    if found is not None:
        return found
    if (gpus := task.gpus_of_profile()) is not None:
        gpus.require_here()
    which = f"{task.id}, {draws_text(data.draw)}"

    def tell(text: str) -> None:
        announce(f"{which}: {text.removeprefix(f'{task.id}: ')}")

    # The slot comes first, as in runs: one that had the lock only would wait for a run that waits
    # for the lock.
    async with (
        slot_for(task.spec.resources.need(), f"measuring {which}", once_per_reason(tell)),
        holding(_lock(task, data, tool), lambda: tell("another process is measuring it; waiting")),
    ):
        found = stored_measurements(task, data.tier, data.hash, tool)
        if found is not None:
            return found
        tell("measuring floor, reference and bar")
        try:
            runs = runs_on(data.tier, data.draw)
            measured = await measure(
                task, data, python_env, runs.starter, runs.reference, tell, tool
            )
        except UnusableDraw as unusable:
            raise UnusableDraw(f"{task.id} cannot be measured on {unusable.detail}") from unusable
        except RunFailed as failed:
            detail = f"{which} cannot be measured, so runs on it have no bar: {failed.detail}"
            raise RunFailed(failed.cause, detail) from failed
        store_in_home(task, data.tier, measured)
        forget_trials(task, data, python_env, measured.tool)
    return measured


def _lock(task: Task, data: PreparedData, tool: str | None) -> str:
    file = home_file(task, data.tier, data.hash, tool or task.spec.tool_model)
    return f"measure-{task.id}-{file.stem}"
