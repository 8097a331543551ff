"""The harness, which kills itself in the middle of something.

    python killed_harness.py MOMENT N ARGUMENT...

does what `mlagentbench ARGUMENT...` does until MOMENT comes for the Nth time: then it is gone by
SIGKILL, with the thing half done.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mlagentbench.cli import main
from mlagentbench.grading import grade as grading
from mlagentbench.runs import hash_chain
from mlagentbench.runs import record as run_record
from mlagentbench.runs.lease import Lease
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.restore import Restore
from mlagentbench.sandbox.bwrap.instance import Instance

GRADING_BEGUN = 0.05
"""Seconds after which the grader's sandbox is starting, or the grader is at work."""


class Countdown:
    """Says when the moment has come."""

    def __init__(self, times: int) -> None:
        self._left = times

    def is_over(self) -> bool:
        self._left -= 1
        return self._left == 0


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_a_line(kind: str, countdown: Countdown) -> None:
    """Half of a line of the journal is written."""
    write_all = vars(hash_chain)["write_all"]

    def write_half(target: int, contents: bytes) -> None:
        if b'"kind":"%s"' % kind.encode() in contents and countdown.is_over():
            write_all(target, contents[: len(contents) // 2])
            die()
        write_all(target, contents)

    vars(hash_chain)["write_all"] = write_half


def after(owner: type, method: str, countdown: Countdown) -> None:
    """A method has done its part of the work, and the rest is not done."""
    whole = getattr(owner, method)

    def do_and_die(*arguments: Any) -> Any:
        result = whole(*arguments)
        if countdown.is_over():
            die()
        return result

    setattr(owner, method, do_and_die)


def in_a_sandbox_start(countdown: Countdown) -> None:
    """bubblewrap is starting; nobody inside has answered."""
    wait = Instance._wait_until_ready

    async def die_waiting(*arguments: Any) -> None:
        if countdown.is_over():
            die()
        await wait(*arguments)

    Instance._wait_until_ready = die_waiting  # type: ignore[method-assign, assignment]


def in_grading(countdown: Countdown) -> None:
    """The grader is at work, or its sandbox is starting."""
    call = vars(grading)["call_task"]

    async def call_and_die(*arguments: Any, **named: Any) -> Any:
        called = asyncio.ensure_future(call(*arguments, **named))
        await asyncio.sleep(GRADING_BEGUN)
        if countdown.is_over():
            die()
        return await called

    vars(grading)["call_task"] = call_and_die


def in_a_grade(countdown: Countdown) -> None:
    """Half of the grade's line is written."""
    append = vars(grading)["append_line"]

    def append_half(
        path: Path, payload: bytes, journal: Path | None = None, lease: Lease | None = None
    ) -> None:
        if countdown.is_over():
            with path.open("ab") as file:
                file.write(payload[: len(payload) // 2])
            die()
        append(path, payload, journal, lease)

    vars(grading)["append_line"] = append_half


def in_the_record(countdown: Countdown) -> None:
    """run.json is half written, beside its place."""
    write = vars(run_record)["create_exclusively"]

    def write_half(path: Path, contents: bytes) -> bool:
        if countdown.is_over():
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / f".{path.name}.half").write_bytes(contents[: len(contents) // 2])
            die()
        return bool(write(path, contents))

    vars(run_record)["create_exclusively"] = write_half


MOMENTS: dict[str, Callable[[Countdown], None]] = {
    "record": in_the_record,
    "sandbox start": in_a_sandbox_start,
    "run line": partial(in_a_line, "run"),
    "reply line": partial(in_a_line, "reply"),
    "begin line": partial(in_a_line, "begin"),
    "snapshot": partial(after, ObjectStore, "put_file"),
    "end line": partial(in_a_line, "end"),
    "event line": partial(in_a_line, "event"),
    "restore": partial(after, Restore, "_write"),
    "outcome line": partial(in_a_line, "outcome"),
    "grading": in_grading,
    "grade line": in_a_grade,
}

if __name__ == "__main__":
    moment, times = sys.argv[1], int(sys.argv[2])
    sys.argv[1:] = sys.argv[3:]
    MOMENTS[moment](Countdown(times))
    main()
