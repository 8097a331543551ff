"""Answer the requests of a mailbox with any Inspect model.

The relay runs where both the model and the mailbox can be reached, on any number of machines: a
request is claimed before it is answered.
"""

import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import anyio
from inspect_ai.model import Model, get_model

from mlagentbench.errors import UsageError
from mlagentbench.models.mailbox_folder import MailFolder, MailReply, MailRequest
from mlagentbench.models.model_check import require_model
from mlagentbench.models.model_choice import ModelChoice
from mlagentbench.records import Json

POLL_SECONDS = 0.2
HEARTBEAT_SECONDS = 10.0
"""Seconds; a claim that is not touched for a minute expires."""
SHOWN_ERROR = 300

Say = Callable[[str], None]


def relay(
    mailbox: Path,
    model: str,
    arguments: Mapping[str, Json],
    *,
    roles: Mapping[str, str],
    workers: int,
    once: bool,
    say: Say,
) -> int:
    """Answer requests until stopped, with `once` until none is left; returns their number."""
    folder = MailFolder(mailbox)
    folder.require()
    others = {role: _find(ModelChoice(name=name)) for role, name in roles.items()}
    main = _find(ModelChoice(name=model, arguments=dict(arguments)))
    answering = Relay(folder, main, others, once=once, say=say)
    try:
        anyio.run(answering.work, workers)
    except KeyboardInterrupt:
        say("stopped")
    return answering.answered


def _find(choice: ModelChoice) -> Model:
    require_model(choice)
    return get_model(choice.name, memoize=False, **choice.arguments)


@dataclass
class Relay:
    """Workers that answer one mailbox with one model, or with others in some roles."""

    folder: MailFolder
    model: Model
    roles: Mapping[str, Model] = field(default_factory=dict)
    _: KW_ONLY
    once: bool
    say: Say
    answered: int = 0

    async def work(self, workers: int) -> None:
        """Answer up to this many requests at the same time."""
        async with anyio.create_task_group() as group:
            for number in range(1, workers + 1):
                group.start_soon(self._worker, f"{socket.gethostname()}/{os.getpid()}/{number}")

    async def _worker(self, worker: str) -> None:
        while True:
            name = self._take(worker)
            if name is not None:
                await self._answer(name)
            elif self.once:
                return
            else:
                await anyio.sleep(POLL_SECONDS)

    def _take(self, worker: str) -> str | None:
        waiting = self.folder.waiting()
        return next((name for name in waiting if self.folder.claim(name, worker)), None)

    async def _answer(self, name: str) -> None:
        started = anyio.current_time()
        async with self._claimed(name):
            try:
                request = self.folder.read(name)
            except UsageError as error:
                self.folder.answer(name, MailReply(error=str(error)))
                self.say(str(error))
                return
            if request is None:
                return
            reply = await ask(self.roles.get(request.role, self.model), request)
            if self.folder.answer(name, reply):
                self.answered += 1
                took = anyio.current_time() - started
                self.say(f"{_place(request)}: {_summary(reply)} ({took:.1f} s)")
            else:
                self.say(f"{_place(request)}: withdrawn, the answer is no longer needed")

    @asynccontextmanager
    async def _claimed(self, name: str) -> AsyncIterator[None]:
        """Keep the claim alive meanwhile, and release it whatever happens."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._heartbeat, name)
                yield
                group.cancel_scope.cancel()
        finally:
            self.folder.release(name)

    async def _heartbeat(self, name: str) -> None:
        while True:
            await anyio.sleep(HEARTBEAT_SECONDS)
            self.folder.keep_claim(name)


async def ask(model: Model, request: MailRequest) -> MailReply:
    """The model's reply; an error of its provider becomes a reply, too."""
    try:
        output = await model.generate(
            list(request.messages), list(request.tools), request.tool_choice, request.config
        )
    except Exception as error:  # noqa: BLE001  # providers raise errors of their own
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return MailReply(error=f"{model}: {said[:SHOWN_ERROR]}", answered_by=str(model))
    return MailReply(
        message=output.message,
        stop_reason=output.stop_reason,
        usage=output.usage,
        answered_by=str(model),
    )


def _place(request: MailRequest) -> str:
    return f"{request.run or request.id} step {request.step or '-'} {request.role}"


def _summary(reply: MailReply) -> str:
    if reply.error is not None:
        return f"error: {reply.error}"
    tokens = 0 if reply.usage is None else reply.usage.total_tokens
    return f"answered, {tokens:,} tokens"
