"""A mailbox: a directory of questions to a model, each a file that waits for an answer.

    DIR/
      README.txt               how to answer
      NAME.request.json        what is asked (MailRequest)
      NAME.request.txt         the same, for reading
      NAME.claim               a worker is answering (Claim); touched as long as it is alive
      NAME.reply.json          the answer (MailReply), or
      NAME.reply.txt           the answer, where it is only a text
      NAME.rejected-1.json     an answer that could not be read,
      NAME.rejected-1.why.txt  and why

A NAME is the time of the question and its id, so names sort by time. Files that MLAgentBench writes
appear complete. The side that asked removes all files of a NAME when it has the answer or no longer
needs one.
"""

import json
import os
import socket
import time
from collections.abc import Callable
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
from mlagentbench.fs import file_lock, write_atomically
from mlagentbench.models.question import prompt_text
from mlagentbench.records import Json, Record, first_problem

CLAIM_EXPIRES = 60.0
"""Seconds after which an untouched claim expires: its worker is dead."""
SETTLE_SECONDS = 1.0
"""Seconds without a change after which a reply counts as complete, where its format cannot tell."""
README = """\
This directory is a mailbox of MLAgentBench: runs write requests here and wait for your answer.

Read      NAME.request.txt (the same as NAME.request.json, for reading)
Answer    with a file of the same NAME, either
            NAME.reply.txt    your answer as plain text, or
            NAME.reply.json   {"text": "...", "tool_calls": [{"function": "...", "arguments": {}}]}
          JSON may also have "stop_reason", "usage", "answered_by"; {"error": "..."} fails the run.
          Write it under another name first, then rename it: a half-written file may be read.
Then      all files of NAME disappear: your answer was accepted. If NAME.rejected-1.why.txt
          appears instead, it says what was wrong; answer again.
Sharing   a mailbox: claim a request by creating NAME.claim, which must not exist yet.

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

    `message` is the complete reply as Inspect has it, if it is more than a text and tool calls.
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
    """The files of a mailbox, for both sides."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()

    def create(self) -> None:
        """Create the directory and its README; raises UsageError when that fails."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            readme = self.directory / "README.txt"
            if not readme.exists():
                write_atomically(readme, README.encode())
        except OSError as error:
            raise UsageError(f"mailbox {self.directory}: {error.strerror}") from error

    def require(self) -> None:
        """Raise UsageError when there is no such directory."""
        if not self.directory.is_dir():
            raise UsageError(f"mailbox {self.directory}: no such directory")

    def path(self, name: str, ending: str) -> Path:
        return self.directory / f"{name}.{ending}"

    def post(self, request: MailRequest) -> str:
        """Put a request into the mailbox, unless it is there already; returns its NAME."""
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
        """Remove all files of a request that was answered or is no longer needed."""
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
            raise UsageError(f"{file}: not a request: {first_problem(error)}") from error

    def waiting(self) -> list[str]:
        """The requests that are neither answered nor claimed, oldest first."""
        names = sorted(
            file.name.removesuffix(".request.json")
            for file in self.directory.glob("*.request.json")
        )
        return [name for name in names if not self._is_answered(name) and not self._is_taken(name)]

    def claim(self, name: str, worker: str) -> bool:
        """Take a request, so that no other worker does; a dead worker's claim is ignored."""
        with file_lock(self.directory / ".lock"):
            if not self.path(name, "request.json").exists():
                return False
            if self._is_answered(name) or self._is_taken(name):
                return False
            claim = Claim(worker=worker, host=socket.gethostname(), pid=os.getpid())
            write_atomically(self.path(name, "claim"), claim.model_dump_json().encode())
            return True

    def keep_claim(self, name: str) -> None:
        try:
            os.utime(self.path(name, "claim"))
        except FileNotFoundError:
            return  # the request was withdrawn, or a person released the claim

    def release(self, name: str) -> None:
        self.path(name, "claim").unlink(missing_ok=True)

    def answer(self, name: str, reply: MailReply) -> bool:
        """Answer a request; False when it has been withdrawn."""
        file = self.path(name, "reply.json")
        values = reply.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        write_atomically(file, json.dumps(values, indent=1).encode())
        if self.path(name, "request.json").exists():
            return True
        # It was withdrawn because this answer, or another one, has been taken.
        file.unlink(missing_ok=True)
        return False

    def reject(self, name: str, file: Path, why: str) -> None:
        """Move an answer aside that cannot be read, and say why."""
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
        return untouched < CLAIM_EXPIRES and not _is_abandoned(contents)


class ReplyWatch:
    """Looks for the answer to a request, and ignores one that is only half written.

    JSON is complete when it can be read; a text when it has not changed for a while.
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
            except ValidationError as error:
                if settled:
                    self._folder.reject(self._name, file, first_problem(error))
            except UnicodeDecodeError as error:
                if settled:
                    self._folder.reject(self._name, file, str(error))
        return None

    def _is_settled(self, file: Path, state: tuple[int, int]) -> bool:
        now = self._clock()
        last, since = self._seen.get(file, (None, now))
        if state != last:
            since = now
        self._seen[file] = (state, since)
        return now - since >= SETTLE_SECONDS


def _is_abandoned(claim: bytes) -> bool:
    """Whether the worker ran on this machine and is gone; those of others only expire."""
    try:
        owner = Claim.model_validate_json(claim)
    except ValidationError:
        return False
    return owner.host == socket.gethostname() and not psutil.pid_exists(owner.pid)


def _for_reading(request: MailRequest, name: str) -> str:
    """The request as a text, the latest message last."""
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
