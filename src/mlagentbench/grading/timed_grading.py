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
a request before its time counts.

All of this happens in one slot, whose cores no other run has: that of the run, or one that grading
takes. The machine is too busy if the control differs from the starter, or if other programs use
these cores while starter or control are asked. No submission has a part in this, since it is
stopped meanwhile. Another round follows later, with new servers and requests, after each of PAUSES;
then the run is not graded. Before that, a round without the submission shows whose noise it is.

OUTPUTS/
  requests/*.bin  submission/*.bin  starter/*.bin  timings.json  and the submitted files
"""

import asyncio
import os
import posixpath
import secrets
import shlex
import shutil
import statistics
import struct
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from mlagentbench.errors import RunFailed
from mlagentbench.fs import disk_trouble, scratch_directory
from mlagentbench.grading.machine_load import BusyClock, MachineLoad
from mlagentbench.grading.submitted_program import (
    collect_limits,
    fresh_directory,
    lay_out_submission,
)
from mlagentbench.guest.mlagentbench_task import CONTROL_TOLERANCE
from mlagentbench.machine.slots import slot_in_use
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record
from mlagentbench.sandbox.base import WORKSPACE, Bind, SandboxSpec
from mlagentbench.sandbox.executor.session import ProcessEnded, SandboxProcess
from mlagentbench.sandbox.sandbox_registry import fresh_sandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Collect
from mlagentbench.tasks.task import Task

Role = Literal["submission", "starter", "control"]

START_LIMIT = 120.0
PAUSES = (10.0, 30.0, 90.0)
"""Seconds before each round that is repeated."""
TIME_ANYWAY = "MLAGENTBENCH_TIME_ANYWAY"
"""With this environment variable, rounds count on a busy machine, too, and the grade says so."""
MIN_PAIRS = 9
MAX_REPLY = 256_000_000
MAX_REPLIES = 2_000_000_000
"""Bytes of all replies of a program in one round."""
ROUND_LIMIT = 10.0
"""How many times as long as one request may take, all requests of a round together may take."""
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
    load: MachineLoad
    own_noise: bool = False
    """Whether rounds are calm without the submission, and never with it."""
    busy: str = ""
    """Why the machine was too busy, if the round counts anyway."""

    def trouble(self, needed: int | None, there: int) -> str:
        """Why the machine was too busy for a task that needs so many of the processors that are
        there; empty if it was not. It depends on starter and control alone.
        """
        pairs = zip(self.control, self.starter, strict=True)
        control = statistics.median(one / other for one, other in pairs)
        if abs(control - 1) > CONTROL_TOLERANCE:
            return f"the starter took {control:.2f} times as long as the starter itself"
        return self.load.trouble(needed, there)


class TimedReply(Record):
    """How long a reply took, and how busy the machine was meanwhile."""

    seconds: float
    load: MachineLoad


class MachineBusy(RunFailed):
    """No round was calm enough to time the submission."""


async def collect_timed(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    submitted: Path,
    outputs: Path,
    announce: Callable[[str], None],
) -> None:
    """Time the submitted program against the starter and write their replies to `outputs`.

    Raises InvalidSubmissionReported when the submitted program ends, sends a malformed frame or
    takes too long; RunFailed("grader", ...) when the starter does; MachineBusy when the machine is.
    """
    shutil.copytree(submitted, outputs, dirs_exist_ok=True)
    timings = await TimedGrading(task, data, python_env, submitted, outputs, announce).run()
    (outputs / "timings.json").write_text(timings.model_dump_json(indent=2))


@dataclass(frozen=True)
class TimedGrading:
    """The timing rounds of one submission."""

    task: Task
    data: PreparedData
    python_env: PythonEnv
    submitted: Path
    outputs: Path
    announce: Callable[[str], None]

    async def run(self) -> TimingRecord:
        """Time rounds until one is calm; MachineBusy when none is."""
        rounds: list[_Round] = []
        for number, pause in enumerate((0.0, *PAUSES), start=1):
            if rounds:
                self.announce(f"timing again in {pause:g} s: {rounds[-1].trouble}")
                await asyncio.sleep(pause)
            rounds.append(await self._round(number))
            timings, trouble = rounds[-1]
            if timings is not None and (not trouble or TIME_ANYWAY in os.environ):
                return timings.model_copy(update={"busy": trouble})
        if all(one.timings is None for one in rounds):
            # Once may be the fault of a busy machine, every time is the program's own.
            raise InvalidSubmissionReported(rounds[-1].trouble, broken_rule=True)
        return await self._whose_noise(rounds)

    async def _whose_noise(self, rounds: Sequence["_Round"]) -> TimingRecord:
        """Time once more if the machine is calm without the submission, else MachineBusy.

        If that is noisy, too, the noise is the submission's own: none can choose not to be timed.
        """
        count = len(rounds)
        alone = await self._round(count + 1, self.task.starter)
        if alone.trouble:
            times = counted(count, "round")
            raise MachineBusy(
                "harness",
                f"{self.task.id}: the machine was too busy to time the submission in {times} "
                f"({rounds[-1].trouble}); repeat it when the machine is idle",
            )
        last = await self._round(count + 2)
        if last.timings is None:
            raise InvalidSubmissionReported(last.trouble, broken_rule=True)
        return last.timings.model_copy(update={"own_noise": bool(last.trouble)})

    async def _round(self, number: int, submitted: Path | None = None) -> "_Round":
        """Time the submission, or other files in its place."""
        self.announce("timing")
        try:
            timings = await self._time_round(number, submitted or self.submitted)
        except _RanWhileStopped as reason:
            return _Round(None, str(reason))
        return _Round(timings, timings.trouble(self.task.spec.resources.cpus, len(timed_cores())))

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

    async def _time_round(self, number: int, submitted: Path) -> TimingRecord:
        """Send new requests to three new servers and write their replies to `outputs`."""
        requests = await self.draw_requests()
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
                    lay_out_submission(self.task, submitted, workspace)
                else:
                    shutil.copytree(self.task.starter, workspace)
                kept = None if role == "control" else self.outputs / role
                if kept is not None:
                    fresh_directory(kept)
                server = Server(role, self.task, self.python_env, workspace, self.data.public, kept)
                servers.append(await stack.enter_async_context(server))
            for turn, (name, request) in enumerate(requests.items()):
                for server in _in_turn(servers, turn, name):
                    replies[server.role][name] = await server.answer(name, request)
            for server in servers:
                server.require_stillness()
        return _timing_record(replies, number)


def _timing_record(replies: dict[Role, dict[str, TimedReply]], number: int) -> TimingRecord:
    timed = {
        role: [reply for name, reply in own.items() if name.startswith("timed-")]
        for role, own in replies.items()
    }
    seconds = {role: tuple(reply.seconds for reply in own) for role, own in timed.items()}
    unaffected = [*timed["starter"], *timed["control"]]
    load = sum((reply.load for reply in unaffected), start=MachineLoad())
    return TimingRecord(
        submission=seconds["submission"],
        starter=seconds["starter"],
        control=seconds["control"],
        sittings=number,
        load=load,
    )


def _in_turn(servers: Sequence["Server"], turn: int, name: str) -> Sequence["Server"]:
    """The servers in the order in which they are asked; checks need no control."""
    if name.startswith("check-"):
        return [server for server in servers if server.role != "control"]
    return servers if turn % 2 == 0 else servers[::-1]


class Server:
    """A program that answers requests, in its own sandbox, stopped except while it is asked.

    A frame is its length (8 bytes, big-endian) and that many bytes. Each reply is written to `kept`
    as soon as it has come, unless that is None.
    """

    def __init__(
        self,
        role: Role,
        task: Task,
        python_env: PythonEnv,
        workspace: Path,
        public: Path,
        kept: Path | None,
    ) -> None:
        self.role = role
        self._kept = kept
        self._task = task
        self._collect = _collect_of(task)
        self._sandbox = fresh_sandbox(
            python_env,
            SandboxSpec(
                workspace=workspace,
                python_env=python_env.directory,
                binds=_public_binds(public),
                limits=collect_limits(task, self._collect.timeout),
                machine_code=self._collect.machine_code,
                tools=task.spec.resources.tools,
            ).in_slot(),
        )
        self._process: SandboxProcess
        self._answered = 0
        self._bytes = 0
        self._seconds_left = ROUND_LIMIT * self._collect.timeout

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
        self.require_stillness()
        used, busy = self._sandbox.processor_time(), BusyClock.now(timed_cores())
        self._sandbox.thaw()
        try:
            exchange = await self._within_limits(name, request)
            busy_now = BusyClock.now(timed_cores())
        finally:
            self._sandbox.freeze()
        self._answered += 1
        self._seconds_left -= exchange.seconds
        self._keep(name, exchange.reply)
        others = busy_now.seconds - busy.seconds - (self._sandbox.processor_time() - used)
        load = MachineLoad(others=others, elapsed=exchange.seconds)
        return TimedReply(seconds=exchange.seconds, load=load)

    async def _within_limits(self, name: str, request: bytes) -> "_Exchange":
        limit = self._collect.timeout
        is_last = self.role == "submission" and self._seconds_left < limit
        limit = max(0.0, self._seconds_left) if is_last else limit
        limit += START_LIMIT if self._answered == 0 else 0
        try:
            async with asyncio.timeout(limit):
                return await self._exchange(_LENGTH.pack(len(request)) + request)
        except TimeoutError:
            whole = ROUND_LIMIT * self._collect.timeout
            within = f"{whole:g} s for all requests" if is_last else f"{limit:g} s"
            raise self._failure(f"sent no reply to {name} within {within}") from None
        except ProcessEnded as end:
            how = f"was {end.limit}" if end.limit else "ended"
            words = end.stderr[-STDERR_QUOTED:].decode("utf-8", "replace").strip()
            raise self._failure(f"{how} instead of replying to {name}\n{words}".strip()) from None
        except _MalformedFrame as error:
            raise self._failure(f"sent a reply to {name} that {error}") from None

    def _keep(self, name: str, contents: bytes) -> None:
        """Write a reply to disk, where the grader finds it."""
        self._bytes += len(contents)
        if self._bytes > MAX_REPLIES:
            raise self._failure(f"sent more than {MAX_REPLIES:,} bytes of replies")
        if self._kept is None:
            return
        try:
            (self._kept / name).write_bytes(contents)
        except OSError as error:
            reason = f"cannot write {self._kept / name}: {disk_trouble(error)}"
            raise RunFailed("harness", reason) from error

    def require_stillness(self) -> None:
        """Detect a stopped program that resumed itself: it has used the processor.

        Not before the first reply: a program may have been stopped while it was still starting.
        """
        if self.role == "submission" and self._answered and not self._sandbox.stayed_frozen():
            raise _RanWhileStopped(f"`{self._collect.command}` ran while others were timed")

    async def _exchange(self, frame: bytes) -> "_Exchange":
        start = time.perf_counter()
        await self._process.write(frame)
        size = _LENGTH.unpack(await self._process.read_exactly(_LENGTH.size))[0]
        if size > MAX_REPLY:
            raise _MalformedFrame(
                f"says to be {size:,} bytes long; at most {MAX_REPLY:,} are allowed"
            )
        reply = await self._process.read_exactly(size)
        return _Exchange(reply, time.perf_counter() - start)

    def _failure(self, what: str) -> Exception:
        """A failing submission is invalid; a failing starter is the grader's fault."""
        message = f"`{self._collect.command}` {what}"
        if self.role == "submission":
            return InvalidSubmissionReported(message)
        return RunFailed("grader", f"{self._task.id}: the starter failed: {message}")


class _Exchange(NamedTuple):
    """A reply, and the seconds from the first byte of its request to its own last one."""

    reply: bytes
    seconds: float


class _Round(NamedTuple):
    """The timings of a round, if the submission was still when it was stopped.

    `trouble` says why they do not count; empty if they do.
    """

    timings: TimingRecord | None
    trouble: str


class _RanWhileStopped(Exception):
    """The submission ran while it should have been stopped."""


class _MalformedFrame(Exception):
    """The bytes that came back are not a reply."""


def timed_cores() -> Collection[int]:
    """The cores that programs are timed on: those of the slot, else all of this process's."""
    slot = slot_in_use()
    return os.sched_getaffinity(0) if slot is None else slot.cpus


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
