"""Timed grading: how long a submitted program takes to answer, relative to the starter.

    requests.make   draws the requests of this timing round, from a fresh seed
    three servers   the submission, the starter, and the starter once more as a control; each runs
                    the task's collect command in its own fresh sandbox, beside the public data
    warm-up         not timed
    timed           each request to all three in turn, forwards, then backwards
    check           other requests, not timed

Only the server that is asked runs; all processes of the others are stopped. A submission that used
the processor while it was stopped is invalid. The harness measures the time, from before the first
byte of a request is written until the last byte of the reply is read, so a program knows nothing of
a request before its time counts. If the control differs from the starter, the machine was busy:
another round follows, with new servers and requests.

OUTPUTS/
  requests/*.bin  submission/*.bin  starter/*.bin  timings.json  and the submitted files
"""

import asyncio
import posixpath
import secrets
import shlex
import shutil
import statistics
import struct
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlagentbench.errors import RunFailed
from mlagentbench.fs import disk_trouble, scratch_directory
from mlagentbench.grading.submitted_program import (
    collect_limits,
    fresh_directory,
    lay_out_submission,
)
from mlagentbench.guest.mlagentbench_task import CONTROL_TOLERANCE
from mlagentbench.home import holding
from mlagentbench.records import Record
from mlagentbench.sandbox.base import WORKSPACE, Bind, SandboxSpec
from mlagentbench.sandbox.bwrap.sandbox import BubblewrapSandbox
from mlagentbench.sandbox.bwrap.session import ProcessEnded, SandboxProcess
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Collect
from mlagentbench.tasks.task import Task

Role = Literal["submission", "starter", "control"]

START_LIMIT = 120.0
MAX_ROUNDS = 3
MIN_PAIRS = 9
MAX_REPLY = 256_000_000
STDERR_QUOTED = 1000
"""Characters of a failed program's stderr that the reason quotes."""

_LENGTH = struct.Struct(">Q")


class TimingRecord(Record):
    """Seconds by timed request, in the same order for all; `timings.json`.

    `sittings` is the number of timing rounds, under the name that graders of tasks read.
    """

    submission: tuple[float, ...]
    starter: tuple[float, ...]
    control: tuple[float, ...]
    sittings: int

    def control_is_off(self) -> bool:
        pairs = zip(self.control, self.starter, strict=True)
        return abs(statistics.median(one / other for one, other in pairs) - 1) > CONTROL_TOLERANCE


class TimedReply(Record):
    contents: bytes
    seconds: float


async def collect_timed(
    task: Task, data: PreparedData, python_env: PythonEnv, submitted: Path, outputs: Path
) -> None:
    """Time the submitted program against the starter and write their replies to `outputs`.

    Raises InvalidSubmissionReported when the submitted program ends, sends a malformed frame or
    takes too long; RunFailed("grader", ...) when the starter does.
    """
    shutil.copytree(submitted, outputs, dirs_exist_ok=True)
    async with holding("timing"):
        timings = await TimedGrading(task, data, python_env, submitted, outputs).run()
    (outputs / "timings.json").write_text(timings.model_dump_json(indent=2))


@dataclass(frozen=True)
class TimedGrading:
    """The timing rounds of one submission."""

    task: Task
    data: PreparedData
    python_env: PythonEnv
    submitted: Path
    outputs: Path

    async def run(self) -> TimingRecord:
        """Repeat the round while the machine is busy or the submission runs when stopped."""
        for number in range(1, MAX_ROUNDS + 1):
            is_last = number == MAX_ROUNDS
            requests = await self.draw_requests()
            try:
                timings = await self._time_round(requests, number)
            except _RanWhileStopped as reason:
                # Once may be the fault of a busy machine, every time is the program's own.
                if is_last:
                    raise InvalidSubmissionReported(str(reason), broken_rule=True) from None
                continue
            if is_last or not timings.control_is_off():
                return timings
        raise AssertionError("the last round returns or raises")

    async def draw_requests(self) -> dict[str, bytes]:
        """New requests by name, in the order in which they are sent."""
        directory = self.outputs / "requests"
        fresh_directory(directory)
        await call_task(
            self.task,
            self.python_env,
            "requests.make",
            read={"private": self.data.private},
            write={"directory": directory},
            seed=secrets.randbits(128),
        )
        kinds = ("warm-up", "timed", "check")
        files = [file for kind in kinds for file in sorted(directory.glob(f"{kind}-*.bin"))]
        if sum(file.name.startswith("timed-") for file in files) < MIN_PAIRS:
            reason = f"{self.task.id}: requests.py makes fewer than {MIN_PAIRS} timed requests"
            raise RunFailed("task", reason)
        return {file.name: file.read_bytes() for file in files}

    async def _time_round(self, requests: dict[str, bytes], number: int) -> TimingRecord:
        """Send all requests to three new servers and write their replies to `outputs`."""
        replies: dict[Role, dict[str, TimedReply]] = {
            "submission": {},
            "starter": {},
            "control": {},
        }
        async with AsyncExitStack() as stack:
            directory = stack.enter_context(scratch_directory("timing"))
            servers = []
            for role in replies:
                workspace = directory / role
                if role == "submission":
                    lay_out_submission(self.task, self.submitted, workspace)
                else:
                    shutil.copytree(self.task.starter, workspace)
                server = Server(role, self.task, self.python_env, workspace, self.data.public)
                servers.append(await stack.enter_async_context(server))
            for turn, (name, request) in enumerate(requests.items()):
                for server in _in_turn(servers, turn, name):
                    replies[server.role][name] = await server.answer(name, request)
            for server in servers:
                server.require_stillness()
        for role in ("submission", "starter"):
            _write_replies(self.outputs / role, replies[role])
        timed = {
            role: tuple(reply.seconds for name, reply in own.items() if name.startswith("timed-"))
            for role, own in replies.items()
        }
        return TimingRecord(**timed, sittings=number)


def _in_turn(servers: Sequence["Server"], turn: int, name: str) -> Sequence["Server"]:
    """The servers in the order in which they are asked; checks need no control."""
    if name.startswith("check-"):
        return [server for server in servers if server.role != "control"]
    return servers if turn % 2 == 0 else servers[::-1]


def _write_replies(directory: Path, replies: dict[str, TimedReply]) -> None:
    try:
        fresh_directory(directory)
        for name, reply in replies.items():
            (directory / name).write_bytes(reply.contents)
    except OSError as error:
        reason = f"cannot write {directory}: {disk_trouble(error)}"
        raise RunFailed("harness", reason) from error


class Server:
    """A program that answers requests, in its own sandbox, stopped except while it is asked.

    A frame is its length (8 bytes, big-endian) and that many bytes.
    """

    def __init__(
        self, role: Role, task: Task, python_env: PythonEnv, workspace: Path, public: Path
    ) -> None:
        self.role = role
        self._task = task
        self._collect = _collect_of(task)
        self._sandbox = BubblewrapSandbox(
            SandboxSpec(
                workspace=workspace,
                python_env=python_env.directory,
                binds=_public_binds(public),
                limits=collect_limits(task, self._collect.timeout),
                machine_code=self._collect.machine_code,
                tools=task.spec.resources.tools,
            )
        )
        self._process: SandboxProcess
        self._answered = 0

    async def __aenter__(self) -> "Server":
        await self._sandbox.start()
        try:
            self._process = await self._sandbox.open_process(shlex.split(self._collect.command))
        except BaseException:
            await self._sandbox.stop()
            raise
        self._sandbox.freeze()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            self._sandbox.thaw()
            await self._process.close()
        finally:
            await self._sandbox.stop()

    async def answer(self, name: str, request: bytes) -> TimedReply:
        """Send a request and wait for its reply; the first may take as long as starting does."""
        limit = self._collect.timeout + (START_LIMIT if self._answered == 0 else 0)
        self.require_stillness()
        self._sandbox.thaw()
        try:
            async with asyncio.timeout(limit):
                reply = await self._exchange(_LENGTH.pack(len(request)) + request)
        except TimeoutError:
            raise self._failure(f"sent no reply to {name} within {limit:g} s") from None
        except ProcessEnded as end:
            how = f"was {end.limit}" if end.limit else "ended"
            words = end.stderr[-STDERR_QUOTED:].decode("utf-8", "replace").strip()
            raise self._failure(f"{how} instead of replying to {name}\n{words}".strip()) from None
        except _MalformedFrame as error:
            raise self._failure(f"sent a reply to {name} that {error}") from None
        finally:
            self._sandbox.freeze()
        self._answered += 1
        return reply

    def require_stillness(self) -> None:
        """Detect a stopped program that resumed itself: it has used the processor.

        Not before the first reply: a program may have been stopped while it was still starting.
        """
        if self.role == "submission" and self._answered and not self._sandbox.stayed_frozen():
            raise _RanWhileStopped(f"`{self._collect.command}` ran while others were timed")

    async def _exchange(self, frame: bytes) -> TimedReply:
        start = time.perf_counter()
        await self._process.write(frame)
        size = _LENGTH.unpack(await self._process.read_exactly(_LENGTH.size))[0]
        if size > MAX_REPLY:
            raise _MalformedFrame(
                f"says to be {size:,} bytes long; at most {MAX_REPLY:,} are allowed"
            )
        contents = await self._process.read_exactly(size)
        return TimedReply(contents=contents, seconds=time.perf_counter() - start)

    def _failure(self, what: str) -> Exception:
        """A failing submission is invalid; a failing starter is the grader's fault."""
        message = f"`{self._collect.command}` {what}"
        if self.role == "submission":
            return InvalidSubmissionReported(message)
        return RunFailed("grader", f"{self._task.id}: the starter failed: {message}")


class _RanWhileStopped(Exception):
    """The submission ran while it should have been stopped."""


class _MalformedFrame(Exception):
    """The bytes that came back are not a reply."""


def _collect_of(task: Task) -> Collect:
    if task.spec.collect is None:
        raise RunFailed("task", f"{task.id}: task.toml needs collect.command")
    return task.spec.collect


def _public_binds(public: Path) -> tuple[Bind, ...]:
    """The public data as the agent had it: read-only, at the top of the workspace."""
    return tuple(
        Bind(source=entry, target=posixpath.join(WORKSPACE, entry.name))
        for entry in sorted(public.iterdir())
    )
