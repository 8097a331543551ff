"""A mailbox: a directory in which questions to a model lie as files until somebody answers.

    DIR/
      README.txt               how to answer
      NAME.request.json        what is asked (MailRequest)
      NAME.request.txt         the same, for reading
      NAME.claim               a worker is at it (Claim); touched as long as it lives
      NAME.reply.json          the answer (MailReply), or
      NAME.reply.txt           the answer, where it is only a text
      NAME.rejected-1.json     an answer that could not be understood,
      NAME.rejected-1.why.txt  and why

A NAME is the time of the question and its id, so names sort by time. Files of ours appear whole.
Whoever asked removes everything of a NAME as soon as it has the answer, or wants none any more.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import psutil
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelUsage,
    StopReason,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import ValidationError, model_validator

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.models.question import prompt_text
from mlagentbench.records import Json, Record

CLAIM_EXPIRES = 60.0
"""Seconds after which a claim that nobody has touched is a dead worker's."""
SETTLED = 1.0
"""Seconds for which a reply must not have changed, where it cannot be told that it is whole."""
README = """\
This directory is a mailbox of MLAgentBench: runs ask here, and wait for your answer.

Read      NAME.request.txt (the same as NAME.request.json, for reading)
Answer    with a file of the same NAME, either
            NAME.reply.txt    your answer as plain text, or
            NAME.reply.json   {"text": "...", "tool_calls": [{"function": "...", "arguments": {}}]}
          JSON may also have "stop_reason", "usage", "answered_by"; {"error": "..."} fails the run.
          Write it under another name first and rename it: what is half written may be taken.
Then      all files of NAME vanish: your answer was taken. If instead NAME.rejected-1.why.txt
          appears, it says what was wrong; answer again.
Others    at the same mailbox: take a request by creating NAME.claim, which must not exist yet.

To let a model answer: mlagentbench agents relay --mailbox DIR --model PROVIDER/NAME
"""


class MailRequest(Record):
    """What is asked: for which run, step and role, with which tools and settings."""

    v: Literal[1] = 1
    id: str
    created: str
    run: str | None = None
    step: int | None = None
    role: str = "main"
    number: int = 1
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolInfo, ...] = ()
    tool_choice: ToolChoice = "auto"
    config: GenerateConfig = GenerateConfig()


class MailCall(Record):
    """A tool call of a reply."""

    function: str
    arguments: dict[str, Json] = {}


class MailReply(Record):
    """An answer: a text, tool calls or both, or why there is none.

    `message` is a whole reply as Inspect has it, where a text and tool calls are not all of it.
    """

    text: str | None = None
    tool_calls: tuple[MailCall, ...] = ()
    message: ChatMessageAssistant | None = None
    stop_reason: StopReason | None = None
    usage: ModelUsage | None = None
    answered_by: str | None = None
    error: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "MailReply":
        if not self.tool_calls and {self.text, self.error} == {None} and self.message is None:
            raise ValueError("it has neither text nor tool_calls nor error")
        return self


class Claim(Record):
    """Who is answering a request."""

    worker: str
    host: str
    pid: int


class MailFolder:
    """The files of a mailbox, for those who ask and for those who answer."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()

    def create(self) -> None:
        """Make the directory and its README; a UsageError when that cannot be."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            readme = self.directory / "README.txt"
            if not readme.exists():
                write_atomically(readme, README.encode())
        except OSError as error:
            raise UsageError(f"mailbox {self.directory}: {error.strerror}") from error

    def require(self) -> None:
        """A UsageError when there is no such directory."""
        if not self.directory.is_dir():
            raise UsageError(f"mailbox {self.directory}: no such directory")

    def path(self, name: str, ending: str) -> Path:
        return self.directory / f"{name}.{ending}"

    def post(self, request: MailRequest) -> str:
        """Put a request into the mailbox, unless it still lies there; returns its NAME."""
        for file in self.directory.glob(f"*-{request.id}.request.json"):
            return file.name.removesuffix(".request.json")
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{request.id}"
        values = request.model_dump(mode="json", exclude_none=True)
        for message in values["messages"]:
            message.pop("id", None)
        write_atomically(self.path(name, "request.txt"), _for_reading(request, name).encode())
        write_atomically(self.path(name, "request.json"), json.dumps(values, indent=1).encode())
        return name

    def withdraw(self, name: str) -> None:
        """Remove everything of a request: it is answered, or nobody wants the answer any more."""
        self.path(name, "request.json").unlink(missing_ok=True)
        for file in self.directory.glob(f"{name}.*"):
            file.unlink(missing_ok=True)

    def read(self, name: str) -> MailRequest | None:
        """A request; None when it was withdrawn."""
        try:
            return MailRequest.model_validate_json(self.path(name, "request.json").read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            file = self.path(name, "request.json")
            raise UsageError(f"{file}: not a request: {error.errors()[0]['msg']}") from error

    def waiting(self) -> list[str]:
        """The requests that nobody has answered or claimed, the oldest first."""
        names = sorted(
            file.name.removesuffix(".request.json")
            for file in self.directory.glob("*.request.json")
        )
        return [name for name in names if not self._is_answered(name) and not self._is_taken(name)]

    def claim(self, name: str, worker: str) -> bool:
        """Take a request, so that no other worker does; a dead worker's claim does not count."""
        with self._locked():
            if not self.path(name, "request.json").exists():
                return False
            if self._is_answered(name) or self._is_taken(name):
                return False
            claim = Claim(worker=worker, host=socket.gethostname(), pid=os.getpid())
            write_atomically(self.path(name, "claim"), claim.model_dump_json().encode())
            return True

    def keep_claim(self, name: str) -> None:
        """Show that the worker still lives."""
        try:
            os.utime(self.path(name, "claim"))
        except FileNotFoundError:
            return  # the request was withdrawn, or a person released the claim

    def release(self, name: str) -> None:
        """Let others at a request again."""
        self.path(name, "claim").unlink(missing_ok=True)

    def answer(self, name: str, reply: MailReply) -> bool:
        """Answer a request; False when it was withdrawn meanwhile."""
        file = self.path(name, "reply.json")
        values = reply.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        write_atomically(file, json.dumps(values, indent=1).encode())
        if self.path(name, "request.json").exists():
            return True
        # It may have been withdrawn because somebody else's answer, or this one, was taken.
        file.unlink(missing_ok=True)
        return False

    def reject(self, name: str, file: Path, why: str) -> None:
        """Move an answer aside that cannot be understood, and say why."""
        number = 1 + len(list(self.directory.glob(f"{name}.rejected-*.why.txt")))
        note = f"{file.name}: {why}\nanswer again with {name}.reply.json or {name}.reply.txt\n"
        write_atomically(self.path(name, f"rejected-{number}.why.txt"), note.encode())
        file.rename(self.path(name, f"rejected-{number}{file.suffix}"))

    def _is_answered(self, name: str) -> bool:
        return any(self.path(name, ending).exists() for ending in ("reply.json", "reply.txt"))

    def _is_taken(self, name: str) -> bool:
        file = self.path(name, "claim")
        try:
            untouched = time.time() - file.stat().st_mtime
            contents = file.read_bytes()
        except FileNotFoundError:
            return False
        return untouched < CLAIM_EXPIRES and not _is_of_the_dead(contents)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the mailbox for a moment, so that two workers cannot take over one claim."""
        handle = os.open(self.directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


class ReplyWatch:
    """Looks for the answer to a request, and takes none that is only half written.

    JSON is whole when it can be read; anything else when it has not changed for a while.
    """

    def __init__(
        self, folder: MailFolder, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._name = name
        self._clock = clock
        self._seen: dict[Path, tuple[tuple[int, int], float]] = {}

    def look(self) -> MailReply | None:
        """The answer, if it is there."""
        for ending in ("reply.json", "reply.txt"):
            file = self._folder.path(self._name, ending)
            try:
                state = file.stat()
                raw = file.read_bytes()
            except FileNotFoundError:
                continue
            settled = self._is_settled(file, (state.st_size, state.st_mtime_ns))
            try:
                if ending == "reply.json":
                    return MailReply.model_validate_json(raw)
                if settled and raw.strip():
                    return MailReply(text=raw.decode().rstrip("\n"))
            except ValueError as error:
                if settled:
                    self._folder.reject(self._name, file, _what_is_wrong(error))
        return None

    def _is_settled(self, file: Path, state: tuple[int, int]) -> bool:
        now = self._clock()
        last, since = self._seen.get(file, (None, now))
        if state != last:
            since = now
        self._seen[file] = (state, since)
        return now - since >= SETTLED


def _is_of_the_dead(claim: bytes) -> bool:
    """Whether the worker ran on this machine and is gone; of others only time tells."""
    try:
        owner = Claim.model_validate_json(claim)
    except ValidationError:
        return False
    return owner.host == socket.gethostname() and not psutil.pid_exists(owner.pid)


def _what_is_wrong(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if place else said


def _for_reading(request: MailRequest, name: str) -> str:
    """The request as a text, with what was said last at its end."""
    asked_by = f"{request.run}, step {request.step}, " if request.run else ""
    parts = [
        f"{asked_by}role {request.role}",
        f"answer with {name}.reply.txt or {name}.reply.json (see README.txt)",
    ]
    for tool in request.tools:
        schema = tool.parameters.model_dump(mode="json", exclude_none=True)
        parts += ["", f"[you may call] {tool.name}: {tool.description}"]
        parts.append(json.dumps(schema["properties"]))
        parts.append(f"required: {', '.join(schema.get('required', [])) or 'nothing'}")
    return "\n".join([*parts, "", prompt_text(request.messages)]) + "\n"
