"""Are the raw files of the full tier what they should be? The task's own code knows what to expect.

`check_raw(raw)` in a task's prepare.py compares them with the official data: counts, shapes,
classes, dates. It is asked only if a file is unverified. What it finds is of two kinds:

| kind       | example                                    | with --accept-unverified    |
|------------|--------------------------------------------|-----------------------------|
| difference | other counts, another checksum             | disclosed with every result |
| fault      | a file that cannot be read, missing labels | refused, too                |
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.records import Json, Record
from mlagentbench.tasks.call_contract import CallTask, TaskCodeFailed
from mlagentbench.tasks.data.own_files import source_name
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.data.sources import Gathered, official_sources
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

CHECK = "prepare.check_raw"
TIMEOUT = 3600.0
FAULTS_SHOWN = 20
"""Thousands of files may be damaged in the same way."""

_OF_THE_MACHINE = re.compile(r"OSError: \[Errno|[\w.]*MemoryError\b|BlockingIOError: ")
"""How the last line of a failure begins that no file is to blame for."""


class RawFindings(Record):
    """What check_raw() found: differences, which can be accepted, and faults, which cannot."""

    differences: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


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
    """What was gathered, with accepted differences; a UsageError names all that is wrong."""
    findings = RawFindings()
    if gathered.unverified and task.defines(CHECK) and gathered.is_complete:
        progress.say(f"{task.id}: comparing the files with the official data")
        findings = await _ask(task, raw, call, python_env)
    known = (*gathered.refused, *gathered.accepted, *findings.differences)
    if findings.faults or (known and not accept_unverified):
        raise UsageError(_refusal(task, known, findings.faults))
    for text in findings.differences:
        progress.say(f"{task.id}: {text}; accepted")
    accepted = (*gathered.accepted, *findings.differences)
    return gathered.model_copy(update={"accepted": accepted})


@contextmanager
def failure_blamed_on_files(task: Task, accepted: Sequence[str]) -> Iterator[None]:
    """Turn a failure of prepare() on files with accepted differences into a UsageError."""
    try:
        yield
    except TaskCodeFailed as error:
        if not accepted or not is_of_the_files(error):
            raise
        raise UsageError(
            f"{task.id}: no data can be prepared from these files: {last_line(error)}\n"
            f"They differ from the official ones, which was accepted:{_lines(accepted)}\n"
            f"Download the official files again (see: mlagentbench tasks show {task.address})"
        ) from error


async def _ask(task: Task, raw: Path, call: CallTask, python_env: PythonEnv) -> RawFindings:
    """What the task's check finds; a failure of it is a fault of the files, or of the machine."""
    try:
        value = await call(task, python_env, CHECK, read={"raw": raw}, timeout=TIMEOUT)
    except TaskCodeFailed as error:
        reason = last_line(error)
        if not is_of_the_files(error):
            raise RunFailed(
                "sandbox",
                f"{task.id}: the files could not be checked: {reason}\nThis is not the files' "
                "fault: free some memory, or raise the limit on open files (ulimit -n), and run "
                "the same command again",
            ) from error
        return RawFindings(faults=(f"the files cannot be read: {reason}",))
    return _as_findings(task, value)


def last_line(error: TaskCodeFailed) -> str:
    """What failed, without the traceback before it."""
    return error.detail.strip().rpartition("\n")[2]


def is_of_the_files(error: TaskCodeFailed) -> bool:
    """Whether a failure may be due to the files, not to the machine or to a limit."""
    return not error.how.startswith("was ") and not _OF_THE_MACHINE.match(last_line(error))


def _as_findings(task: Task, value: Json) -> RawFindings:
    try:
        return RawFindings.model_validate(
            {"differences": value} if isinstance(value, list) else value
        )
    except ValidationError as error:
        raise RunFailed(
            "task",
            f"{task.id}: {CHECK} returned {type(value).__name__}, not Findings or a list "
            "of differences; return [] if there are none",
        ) from error


def _refusal(task: Task, differences: Sequence[str], faults: Sequence[str]) -> str:
    names = " and of ".join(source_name(source) for source in official_sources(task))
    text = f"{task.id}: these are not the files of {names}:{_lines(differences)}\n"
    if not faults:
        return (
            f"{text}Download the official files again, or continue with --accept-unverified: "
            'every result will then say "unverified" and name these differences'
        )
    shown = _lines(faults[:FAULTS_SHOWN])
    if len(faults) > FAULTS_SHOWN:
        shown += f"\n  and {len(faults) - FAULTS_SHOWN:,} more"
    beginning = f"{text}No" if differences else f"{task.id}: no"
    return (
        f"{beginning} data can be prepared from these files, even with --accept-unverified:"
        f"{shown}\nDownload the files of {names} again "
        f"(see: mlagentbench tasks show {task.address})"
    )


def _lines(texts: Sequence[str]) -> str:
    return "".join(f"\n  {text}" for text in texts)
