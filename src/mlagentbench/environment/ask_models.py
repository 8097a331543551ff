"""Ask models by role through Inspect; every reply is on disk before it is acted on.

    output = await environment.models.ask([ChatMessageUser(content="...")], role="fast")

Roles are Inspect's model roles: `main` decides what to do next, `edit` rewrites files, `fast` reads
and summarises; an unbound role uses the main model. Problems and their effects:

| problem                                         | effect                                         |
|-------------------------------------------------|------------------------------------------------|
| rate limits, outages                            | waiting, which does not count as run time      |
| an outage of a day, a provider's error          | RunFailed("model"): the run can be resumed     |
| the money of the whole plan is spent            | RunInterrupted: the run can be resumed         |
| the prompt is longer than the model can read    | ContextOverflow: shorten it, or the run is over|
| the model or a content filter refuses           | retried, then ModelRefused: the run is over    |
| an empty reply, or one that was cut off         | an ordinary reply, left to the agent           |
| the tokens or the money are used up             | RunEnded, with the last reply in the journal   |
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from mlagentbench.environment.budget import Budget
from mlagentbench.errors import ContextOverflow, ModelRefused, RunFailed
from mlagentbench.models.provider_answers import (
    overflow,
    provider_error,
    refuses,
    with_a_reply,
)
from mlagentbench.models.question import Question, ReplyMetadata, prompt_text, question_context
from mlagentbench.records import Json, RunRecord, Step
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EventLine, ReplyFault, ReplyLine, WriteLine
from mlagentbench.runs.objects.object_store import ObjectStore

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput
    from inspect_ai.tool import Tool, ToolChoice, ToolInfo

MAIN, EDIT, FAST = "main", "edit", "fast"
TRIES = 3
"""The number of attempts when a model refuses."""
SHOWN_ERROR = 600


class AsksText(Protocol):
    """Answers a question with a text: a run's models, or their earlier replies."""

    async def ask_text(self, prompt: str, role: str) -> str: ...


class Models:
    """The models of a run, by role."""

    def __init__(
        self,
        run: RunDirectory,
        store: ObjectStore,
        budget: Budget,
        steps: Sequence[Step],
        write: WriteLine,
        names: "Mapping[str, str | Model] | None" = None,
    ) -> None:
        self.replies: list[ReplyLine] = []
        """All replies so far, each with its step."""
        self._run = run
        self._store = store
        self._budget = budget
        self._steps = steps
        self._write = write
        self._names = dict(names or {})
        """The models of roles that Inspect has not bound; outside of Inspect, of all roles."""
        self._asked: list[Question] = []
        """The questions without a reply yet."""

    @property
    def state(self) -> Json:
        """The state that the agent last stored with a reply, to resume after an interruption."""
        states = (line.state for line in reversed(self.replies) if line.state is not None)
        return next(states, None)

    @property
    def step(self) -> int:
        return len(self._steps) + 1

    def find(self, role: str = MAIN) -> "Model":
        from inspect_ai.model import get_model

        default = self._names.get(role, self._names.get(MAIN))
        return get_model(default) if role == MAIN else get_model(role=role, default=default)

    async def ask(
        self,
        messages: "Sequence[ChatMessage]",
        *,
        role: str = MAIN,
        tools: "Sequence[Tool | ToolInfo]" = (),
        tool_choice: "ToolChoice | None" = None,
        config: "GenerateConfig | None" = None,
        state: Json = None,
    ) -> "ModelOutput":
        """Ask for a reply, and write it with the agent's `state` to the journal.

        Raises ContextOverflow, ModelRefused and RunFailed("model") as in the table above, and
        RunEnded when this reply has used up the tokens or the money.
        """
        from inspect_ai.model import GenerateConfig

        model = self.find(role)
        call = (list(messages), list(tools), tool_choice, config or GenerateConfig())
        for last in (*[False] * (TRIES - 1), True):
            with self._asking(role, messages):
                output = await _generate(model, call)
            self._record(messages, role, output, state)
            self._budget.check_spending()
            if output.stop_reason == "model_length":
                said = _short(output.completion)
                raise ContextOverflow(f"the prompt is longer than {output.model} can read: {said}")
            if not refuses(output.message, output.stop_reason):
                return output
            if last:
                raise ModelRefused(f"{output.model} refuses: {_short(output.completion)}")
        raise AssertionError("the last try returns or raises")

    async def ask_text(self, prompt: str, role: str) -> str:
        """Ask one question, and return the text of the reply."""
        from inspect_ai.model import ChatMessageUser

        return (await self.ask([ChatMessageUser(content=prompt)], role=role)).completion

    @contextmanager
    def _asking(self, role: str, messages: "Sequence[ChatMessage]") -> Iterator[None]:
        """Make this the current question, for built-in models."""
        place = (self.step, role)
        asked: list[ReplyLine | Question] = [*self.replies, *self._asked]
        question = Question(
            out=str(self._run.out),
            run=self._run.relative.as_posix(),
            step=self.step,
            role=role,
            number=1 + sum((one.step, one.role) == place for one in asked),
            prompt=prompt_text(messages),
            record=self._record_of_run,
        )
        self._asked.append(question)
        try:
            with question_context(question):
                yield
        finally:
            self._asked.remove(question)

    @cached_property
    def _record_of_run(self) -> RunRecord | None:
        file = self._run.run_json
        return RunRecord.model_validate_json(file.read_bytes()) if file.is_file() else None

    def _record(
        self, messages: "Sequence[ChatMessage]", role: str, output: "ModelOutput", state: Json
    ) -> None:
        usage = output.usage
        answered = ReplyMetadata.of(output)
        self.record(
            role=role,
            prompt=prompt_text(messages),
            reply=output.completion,
            message=_message(output),
            stop_reason=output.stop_reason,
            input_tokens=_input_tokens(output),
            output_tokens=usage.output_tokens if usage else 0,
            cached_tokens=(usage.input_tokens_cache_read or 0) if usage else 0,
            reasoning_tokens=(usage.reasoning_tokens or 0) if usage else 0,
            cost=usage.total_cost if usage else None,
            seconds=None if output.time is None else round(output.time, 3),
            state=state,
            **answered.model_dump(),
        )

    def record(self, *, role: str, prompt: str, reply: str, **facts: Json) -> None:
        """Write a reply to disk; `facts` are the other fields of a ReplyLine."""
        prompt_hash = self._store.put(prompt.encode("utf-8", "replace"))
        self._store.commit()
        line = self._write(
            ReplyLine, step=self.step, role=role, prompt_hash=prompt_hash, reply=reply, **facts
        )
        self._budget.add_reply(line.input_tokens, line.output_tokens, line.cost)
        self.replies.append(line)

    def note_unreadable(self, line: ReplyLine, form: ReplyFault, why: str) -> None:
        """Record that a reply was unreadable; a resumed agent may record it again."""
        self._write(EventLine, event="unreadable", reply=line.n, form=form, detail=_short(why))


async def _generate(model: "Model", call: tuple[Any, ...]) -> "ModelOutput":
    """The model's output; raises RunFailed("model") when there is none."""
    from inspect_ai.util import LimitExceededError

    try:
        return with_a_reply(await model.generate(*call))
    except (LimitExceededError, RunFailed):
        raise
    except Exception as wrapped:  # providers raise errors of their own
        error = provider_error(wrapped)
        too_long = overflow(model.name, error)
        if too_long is None:
            said = f"{type(error).__name__}: {_short(str(error))}"
            raise RunFailed("model", f"{model} does not answer: {said}") from wrapped
        return too_long


def _message(output: "ModelOutput") -> Json:
    """The complete reply as Inspect has it, if it is more than a text."""
    message = output.message
    if isinstance(message.content, str) and not message.tool_calls:
        return None
    dumped: Json = message.model_dump(mode="json", exclude_none=True, exclude={"id", "model"})
    return dumped


def _input_tokens(output: "ModelOutput") -> int:
    """All tokens that the model read, including cached ones."""
    usage = output.usage
    if usage is None:
        return 0
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_ERROR else f"{line[:SHOWN_ERROR]} ..."
