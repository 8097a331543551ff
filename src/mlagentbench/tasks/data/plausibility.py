"""Are raw files without a checksum what they should be? The task's own code knows what to expect.

`check_raw(raw)` in a task's prepare.py returns every difference from the official data: counts,
shapes, classes, dates. It is asked only if a file is unverified.
"""

from pathlib import Path

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.tasks.call_contract import CallTask, TaskCodeFailed
from mlagentbench.tasks.data.own_files import source_name
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.data.sources import Gathered, official_sources
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

CHECK = "prepare.check_raw"
TIMEOUT = 3600.0


async def check_plausible(
    task: Task,
    raw: Path,
    gathered: Gathered,
    *,
    accept_unverified: bool,
    call: CallTask,
    python_env: PythonEnv,
    progress: Progress,
) -> Gathered:
    """What was gathered, with accepted differences; a UsageError names those not accepted."""
    if not gathered.unverified or not task.defines(CHECK):
        return gathered
    progress.say(f"{task.id}: checking what has no checksum")
    try:
        value = await call(task, python_env, CHECK, read={"raw": raw}, timeout=TIMEOUT)
    except TaskCodeFailed as error:
        reason = error.detail.strip().rpartition("\n")[2]
        differences = [f"the files cannot be read: {reason}"]
    else:
        if not isinstance(value, list):
            raise RunFailed(
                "task",
                f"{task.id}: {CHECK} returned {type(value).__name__}, not a list of differences; "
                "return [] if there are none",
            )
        differences = [str(text) for text in value]
    if differences and not accept_unverified:
        names = " and of ".join(source_name(source) for source in official_sources(task))
        raise UsageError(
            f"{task.id}: these are not the files of {names}:"
            + "".join(f"\n  {text}" for text in differences)
            + "\nGet the official files, or continue with --accept-unverified: every result will "
            "then name these differences"
        )
    for text in differences:
        progress.say(f"{task.id}: {text}; accepted")
    accepted = (*gathered.accepted, *differences)
    return gathered.model_copy(update={"accepted": accepted})
