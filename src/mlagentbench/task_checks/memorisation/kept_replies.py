"""Ask a model questions, and keep each reply at once, so that an interruption loses none."""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from pydantic import ValidationError

from mlagentbench.errors import RunFailed
from mlagentbench.fs import write_all
from mlagentbench.models.provider_answers import (
    is_timeout,
    overflow,
    provider_error,
    with_a_reply,
)
from mlagentbench.models.question import Question, ReplyMetadata, question_context
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record
from mlagentbench.untrusted_text import preview

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelCost, ModelOutput

AT_ONCE = 10
"""Questions that are asked concurrently, as long as none of them times out."""
RETRIES = 5
"""Retries per call of a failing provider."""
TOLD_EVERY = 60.0
"""Seconds between two lines that say how far it is."""
ERROR_QUOTED = 300
"""Characters of a provider's error."""


class KeptReply(Record):
    """A reply to a prompt."""

    key: str
    """The hash of model and prompt."""
    reply: str
    stop_reason: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    answered_by: str | None = None


class KeptReplies:
    """A file with the replies of one model; a line each."""

    def __init__(
        self,
        file: Path,
        model: "Model",
        identity: str,
        *,
        max_tokens: int,
        price: "ModelCost | None",
        say: Callable[[str], None],
    ) -> None:
        self.file = file
        self.asked = 0
        """Questions that the model was asked now; the others had been answered before."""
        self._model = model
        self._identity = identity
        self._max_tokens = max_tokens
        self._price = price
        self._say = say
        self._found = {one.key: one for one in _read(file)}
        self._to_ask = 0
        self._told = time.monotonic()
        self._failure: RunFailed | None = None

    async def all(self, prompts: Sequence[str]) -> list[KeptReply]:
        """A reply for each prompt; RunFailed("model") if the model does not answer."""
        keys = [self._key(prompt) for prompt in prompts]
        missing = {
            key: number for number, key in reversed([*enumerate(keys)]) if key not in self._found
        }
        if len(missing) < len(set(keys)):
            kept = len(set(keys)) - len(missing)
            self._say(f"{counted(kept, 'reply', 'replies')} kept from before")
        self._to_ask = len(missing)
        limiter = anyio.CapacityLimiter(AT_ONCE)
        async with anyio.create_task_group() as group:

            async def one(key: str, number: int) -> None:
                try:
                    while not await self._ask(key, number, prompts[number], limiter):
                        pass
                except RunFailed as failure:
                    self._failure = self._failure or failure
                    group.cancel_scope.cancel()

            for key, number in sorted(missing.items(), key=lambda item: item[1]):
                group.start_soon(one, key, number)
        if self._failure is not None:
            raise self._failure
        return [self._found[key] for key in keys]

    def discard(self) -> None:
        """Remove the file: the result has all replies."""
        self.file.unlink(missing_ok=True)

    def _key(self, prompt: str) -> str:
        return hashlib.sha256(f"{self._identity}\0{prompt}".encode()).hexdigest()

    async def _ask(
        self, key: str, number: int, prompt: str, limiter: anyio.CapacityLimiter
    ) -> bool:
        """Ask and keep the reply; False if it timed out, and fewer are to be asked at once."""
        async with limiter:
            at_once = int(limiter.total_tokens)
            try:
                answer = await self._answer(number, prompt, alone=at_once == 1)
            except _TooManyAtOnce:
                if limiter.total_tokens == at_once:  # the first of them
                    limiter.total_tokens = at_once // 2
                    self._say(
                        f"a question timed out: asking {at_once // 2} at once instead of {at_once}"
                    )
                return False
        kept = answer.model_copy(update={"key": key})
        self._found[key] = kept
        _append(self.file, kept)
        self.asked += 1
        if time.monotonic() - self._told >= TOLD_EVERY:
            self._told = time.monotonic()
            self._say(f"{self.asked:,} of {self._to_ask:,} questions answered")
        return True

    async def _answer(self, number: int, prompt: str, *, alone: bool) -> KeptReply:
        from inspect_ai.model import compute_model_cost

        try:
            output = await self._output(number, prompt, alone=alone)
        except _TooManyAtOnce:
            raise
        except Exception as wrapped:  # each provider has errors of its own
            error = provider_error(wrapped)
            if overflow(self._model.name, error) is not None:
                return KeptReply(key="", reply="", stop_reason="model_length")
            said = preview(f"{type(error).__name__}: {error}", ERROR_QUOTED)
            raise RunFailed(
                "model",
                f"{self._model} does not answer: {said}; all replies so far are kept, run the same "
                "command again to continue",
            ) from wrapped
        answered, usage = with_a_reply(output), output.usage
        cost = compute_model_cost(self._price, usage) if usage and self._price else None
        return KeptReply(
            key="",
            reply=answered.message.text,
            stop_reason=answered.stop_reason,
            input_tokens=usage.input_tokens if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
            cost=cost,
            answered_by=ReplyMetadata.of(output).answered_by,
        )

    async def _output(self, number: int, prompt: str, *, alone: bool) -> "ModelOutput":
        """What the model says.

        A server that answers one question after the other may be too slow for many of them. To ask
        again would make its queue longer, so that is done only for a question that is alone.
        """
        if not alone:
            try:
                return await self._generate(number, prompt, retries=0)
            except Exception as wrapped:  # each provider has errors of its own
                if is_timeout(provider_error(wrapped)):
                    raise _TooManyAtOnce from wrapped
        return await self._generate(number, prompt, retries=RETRIES)

    async def _generate(self, number: int, prompt: str, *, retries: int) -> "ModelOutput":
        from inspect_ai.model import GenerateConfig

        config = GenerateConfig(max_retries=retries, max_tokens=self._max_tokens)
        question = Question(
            out="", run="memorisation", step=number + 1, role="main", number=1, prompt=prompt
        )
        with question_context(question):
            return await self._model.generate(prompt, config=config)


class _TooManyAtOnce(Exception):
    """A question timed out while others were asked."""


def _read(file: Path) -> list[KeptReply]:
    """All whole lines of the file; a crash can leave an incomplete one."""
    found = []
    for line in file.read_bytes().splitlines() if file.is_file() else ():
        try:
            found.append(KeptReply.model_validate_json(line))
        except ValidationError:
            continue
    return found


def _append(file: Path, reply: KeptReply) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # It begins with a line break, too: the line before may be incomplete.
        write_all(handle, f"\n{reply.model_dump_json()}\n".encode())
    finally:
        os.close(handle)
