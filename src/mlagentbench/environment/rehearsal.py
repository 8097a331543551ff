"""`--protocol rebuild` as the agent meets it: what it is told, and data to rehearse on.

    generated data   another draw, DRAW~0-KEY, on which nothing is ever graded
    other data       the held-out part of the training data in the place of the test data
                     (prepare.hold_out): a program never reads a label that the agent does not have
    neither          nothing: the program is only run on the data of the run

A split of full data, as submissions are graded on after the run, would show the program the labels
of the run's own test data, and its output the agent.
"""

import shutil
from pathlib import Path

from mlagentbench.environment.feedback import hold_out, hold_out_function
from mlagentbench.fs import link, reset_times, whole_directory
from mlagentbench.limit_table import duration
from mlagentbench.prompts import prompt
from mlagentbench.records import Record
from mlagentbench.runs.objects.source_files import (
    MAX_ALL,
    MAX_FILES,
    MAX_KEPT,
    MAX_PROGRAM,
    MAX_SETTINGS,
    SETTINGS,
)
from mlagentbench.tasks.call_contract import CallTask
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.draws import FreshKey, fresh_draws
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import REPRODUCE
from mlagentbench.tasks.task import Task

VALIDATION, TEST = "validation", "test"


class Rehearsal(Record):
    """A run whose submission will be made again."""

    command: str | None
    """What makes it again; None if the submission itself is the program."""
    public: Path | None = None
    """Other public data than the run's; None if there are none to rehearse on."""
    data: PreparedData | None = None
    """The draw that they are of, if they are one of their own."""


async def prepare_rehearsal(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    call_task: CallTask,
    key: FreshKey | None,
    *,
    feedback: bool,
    execution: bool = True,
) -> Rehearsal:
    """What runs on these data rehearse with; made once for each data set and key.

    Without executions, nothing can be rehearsed.
    """
    command = task.spec.rebuild.command
    if command is None or not execution:
        return Rehearsal(command=command)
    can_hold_out = task.defines(hold_out_function(task))
    if key is not None:
        [draw] = fresh_draws(data.draw, 1, first=0, key=key)
        data = await prepare(
            task, data.tier, call=call_task, python_env=python_env, draw=draw, key=key
        )
        public = data.public
        if feedback:
            public = (await hold_out(task, data, python_env, call_task, 1)).public
        return Rehearsal(command=command, public=public, data=data)
    if can_hold_out:
        held = await hold_out(task, data, python_env, call_task, 1)
        name = "rehearsal-with-feedback" if feedback else "rehearsal"
        public = _in_place_of_test(held.public, data.directory / name, keep=feedback)
    else:
        return Rehearsal(command=command)
    return Rehearsal(command=command, public=public)


def rebuild_explanation(task: Task, rehearsal: Rehearsal, *, execution: bool = True) -> str:
    """The explanation of rebuilding that follows the problem.

    Without executions, it says so, and that the program is run after the agent has submitted.
    """
    rebuild, submission = task.spec.rebuild, task.spec.submission.path
    name = "protocols/rebuild" if execution else "protocols/no_execution"
    if rehearsal.command is None:
        text = prompt(f"{name}_program", submission=submission, fresh=rebuild.fresh)
        return f"{text}\n"
    sources = _written_by_hand(task)
    text = prompt(
        name,
        script=REPRODUCE,
        command=rehearsal.command,
        submission=submission,
        limit=duration(task.spec.limits.command_time),
        fresh=rebuild.fresh,
        exception=f", except {sources}" if sources else "",
        rules=_rules(task, execution=execution),
        rehearsed="nowhere else" if rehearsal.public is None else "on other data like these",
    )
    return f"{text}\n"


def _written_by_hand(task: Task) -> str:
    """What of the submission's directory is written by hand."""
    submission = task.spec.submission.path
    return ", ".join(f"`{submission}/{path}`" for path in task.spec.rebuild.sources)


def _rules(task: Task, *, execution: bool) -> str:
    """What a program must keep to that is run in a new directory."""
    submission, sources = task.spec.submission.path, _written_by_hand(task)
    again = "again" if execution else "by the program"
    return prompt(
        "protocols/rebuild_rules",
        programs=".py, .sh, .c, .cpp, .rs, .js, .r, Makefile and the like",
        program_size=f"{MAX_PROGRAM // 1000} KB",
        settings=", ".join(sorted(SETTINGS)),
        settings_size=f"{MAX_SETTINGS // 1000} KB",
        all_size=f"{MAX_ALL // 1_000_000} MB",
        files=f"{MAX_FILES:,}",
        sources=f" Of `{submission}`, {sources} is one of them, up to {MAX_KEPT // 1000} KB; the "
        f"rest is made {again}."
        if sources
        else "",
        again=again,
    )


def _in_place_of_test(held: Path, target: Path, *, keep: bool) -> Path:
    """Held-out data whose validation files are also, or only, the test files."""
    if target.is_dir():
        return target
    with whole_directory(target) as scratch:
        for name, source in _sources(held, keep=keep).items():
            _link(source, scratch / name)
        reset_times(scratch)
    return target


def _sources(held: Path, *, keep: bool) -> dict[str, Path]:
    """For each name, what of the held-out data is shown under it."""
    names = sorted(path.name for path in held.iterdir())
    shown = {name: held / name for name in names if keep or not name.startswith(VALIDATION)}
    for name in names:
        if name.startswith(VALIDATION):
            others = (name.replace(VALIDATION, TEST, 1), name.removeprefix(f"{VALIDATION}_"))
            replaced = next((other for other in others if other in names), None)
            if replaced is not None:
                shown[replaced] = held / name
    return shown


def _link(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir(mode=0o755)
        for path in source.iterdir():
            _link(path, target / path.name)
    elif not link(source, target):
        shutil.copyfile(source, target)
