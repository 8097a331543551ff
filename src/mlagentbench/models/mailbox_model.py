"""`mlagentbench/mailbox`: a model whose replies are written into a directory by someone else.

    mlagentbench run --models mlagentbench/mailbox -M dir=DIR ...

For people, for clusters without a network and for models that cannot be reached directly. Each
question is a file, each answer is the file beside it (mailbox_folder.py). Waiting for an answer
does not count as run time. A killed run leaves its question in the mailbox and finds it there when
it is resumed, with the answer if there is one by then.
"""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import anyio
from inspect_ai.model import ModelOutput
from inspect_ai.tool import ToolCall
from inspect_ai.util import suspend_working_limit
from pydantic import Field

from mlagentbench.errors import RunFailed
from mlagentbench.models.builtin_model import BuiltinModel, ModelCall, model_output, tool_call_id
from mlagentbench.models.mailbox_folder import MailFolder, MailReply, MailRequest, ReplyWatch
from mlagentbench.models.question import Question, ReplyMetadata, current_question

BY_HAND = "hand"
"""Who answered, unless the reply says so."""
POLL_SECONDS = 0.1


class Mailbox(BuiltinModel):
    """A model that waits for replies in a directory."""

    dir: Path
    timeout: Annotated[float, Field(gt=0)] | None = None
    """Seconds to wait for one answer; without a limit by default."""

    def model_post_init(self, context: Any, /) -> None:  # noqa: ARG002
        MailFolder(self.dir).create()

    @property
    def answered_by(self) -> str:
        return "mailbox"

    async def answer(self, call: ModelCall) -> ModelOutput:
        folder = MailFolder(self.dir)
        request = _request(call, current_question())
        with suspend_working_limit():
            name = folder.post(request)
            try:
                answered = await self._wait(folder, name)
            finally:
                folder.withdraw(name)
        if answered.error is not None:
            raise RunFailed(
                "model", f"the mailbox's answer to {name} is an error: {answered.error}"
            )
        return _output(request, answered)

    async def _wait(self, folder: MailFolder, name: str) -> MailReply:
        watch = ReplyWatch(folder, name)
        with anyio.move_on_after(self.timeout):
            while (answered := watch.look()) is None:
                await anyio.sleep(POLL_SECONDS)
            return answered
        raise RunFailed(
            "model", f"no answer to {folder.path(name, 'request.json')} within {self.timeout:g} s"
        )


def _request(call: ModelCall, question: Question | None) -> MailRequest:
    values: dict[str, Any] = {"id": uuid4().hex[:12]}
    if question is not None:
        values = question.model_dump(include={"run", "step", "role", "number"})
        # The same after an interruption, so that an answer written meanwhile is not lost.
        parts = (question.out, *map(str, values.values()), question.prompt)
        values["id"] = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]
    return MailRequest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        messages=call.messages,
        tools=call.tools,
        tool_choice=call.tool_choice,
        config=call.config,
        **values,
    )


def _output(request: MailRequest, answered: MailReply) -> ModelOutput:
    place = (request.step or 0, request.role, request.number)
    calls = [
        ToolCall(
            id=tool_call_id(*place, number) if request.run else f"{request.id}-{number}",
            function=call.function,
            arguments=call.arguments,
        )
        for number, call in enumerate(answered.tool_calls, start=1)
    ]
    return model_output(
        answered.message or answered.text or "",
        answered.stop_reason or ("tool_calls" if calls else "stop"),
        calls=calls or None,
        usage=answered.usage,
        metadata=ReplyMetadata(answered_by=answered.answered_by or BY_HAND),
    )
