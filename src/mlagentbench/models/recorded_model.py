"""`mlagentbench/recorded`: a model that replays the replies of a recording.

    mlagentbench run --models mlagentbench/recorded -M file=FILE ...

Without a file it replays the recordings that come with the package.

A run gets the replies recorded for its task, agent, settings and epoch; a single recorded run
serves every epoch. A reply is found by step, role and number, so an interrupted run can be resumed.
The prompt should equal the recorded one after normalisation (prompt_matching.py). Otherwise
`on_mismatch` decides:

- `refuse` (the default): the run fails and shows the difference;
- `continue`: the reply is given anyway and counted as not matched.

Outside of a run, for example with a custom agent, the replies are given in order.
"""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage
from pydantic import PrivateAttr

from mlagentbench.errors import RunFailed
from mlagentbench.models.builtin_model import BuiltinModel, ModelCall, model_output, tool_call_id
from mlagentbench.models.prompt_matching import normalised
from mlagentbench.models.question import Question, ReplyMetadata, current_question, prompt_text
from mlagentbench.models.recording import (
    SHIPPED,
    RecordedReply,
    RecordedRun,
    Recording,
    RecordingHeader,
    read_recordings,
    shared_prefix,
)
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import RunRecord

SHOWN_LINES = 3
SHOWN_CHARACTERS = 160


class Recorded(BuiltinModel):
    """A model whose replies are in a file."""

    file: Path = SHIPPED
    """A recording, or a directory of them."""
    on_mismatch: Literal["refuse", "continue"] = "refuse"
    _recording: Recording = PrivateAttr()
    _given: int = PrivateAttr(default=0)
    """The number of replies given outside of a run."""

    def model_post_init(self, context: Any, /) -> None:  # noqa: ARG002
        self._recording = read_recordings(self.file)

    @property
    def answered_by(self) -> str:
        return "; ".join(dict.fromkeys(run.run.answered_by for run in self._recording.runs))

    @property
    def content_hash(self) -> str:
        return self._recording.sha256

    async def answer(self, call: ModelCall) -> ModelOutput:
        question = current_question()
        if question is None:
            recorded, prompt = self._next_in_order(), prompt_text(call.messages)
        else:
            recorded, prompt = self._recorded_for(question), question.prompt
        readable = prompt.encode("utf-8", "replace").decode()  # as the object store keeps it
        now, then = normalised(readable), normalised(recorded.prompt)
        if now != then and self.on_mismatch == "refuse":
            raise RunFailed("model", _refusal(self.file, recorded, then, now))
        return _output(recorded, matched=now == then)

    def _next_in_order(self) -> RecordedReply:
        replies = [one for run in self._recording.runs for one in run.replies]
        if self._given >= len(replies):
            raise RunFailed(
                "model", f"{self.file} has only {counted(len(replies), 'reply', 'replies')}"
            )
        self._given += 1
        return replies[self._given - 1]

    def _recorded_for(self, question: Question) -> RecordedReply:
        run = self._run_for(question.record)
        place = (question.step, question.role, question.number)
        for one in run.replies:
            if (one.step, one.role, one.number) == place:
                return one
        raise RunFailed(
            "model",
            f"{self.file} has no reply for {_place(*place)}: {_name(run.run)} ends with "
            f"{_place_of(run.replies[-1]) if run.replies else 'nothing'}",
        )

    def _run_for(self, record: RunRecord | None) -> RecordedRun:
        """The recorded run that matches the run of this record."""
        runs = self._recording.runs
        if record is None:
            found = list(runs)
            wanted = "a run without a record"
        else:
            facts = record.disclosure
            key = (facts.task, facts.agent, facts.agent_settings)
            found = [
                one for one in runs if (one.run.task, one.run.agent, one.run.agent_settings) == key
            ]
            found = [one for one in found if one.run.tier == facts.tier] or found
            same_epoch = [one for one in found if one.run.epoch == record.epoch]
            found = found if len(found) == 1 else same_epoch
            wanted = _words(facts.task, facts.agent, facts.agent_settings, record.epoch)
        if len(found) == 1:
            return found[0]
        there = "; ".join(_name(one.run) for one in (found or runs))
        problem = f"{len(found)} runs" if found else "no run"
        raise RunFailed("model", f"{self.file} holds {problem} for {wanted}; it has: {there}")


def _output(recorded: RecordedReply, *, matched: bool) -> ModelOutput:
    message = recorded.reply if recorded.message is None else _message(recorded)
    total = recorded.input_tokens + recorded.output_tokens
    usage = ModelUsage(
        input_tokens=recorded.input_tokens,
        output_tokens=recorded.output_tokens,
        total_tokens=total,
    )
    return model_output(
        message,
        recorded.stop_reason,
        usage=usage if total else None,
        metadata=ReplyMetadata(matched=matched),
    )


def _message(recorded: RecordedReply) -> ChatMessageAssistant:
    """The complete reply; the ids of its tool calls are the same in every replay."""
    message = ChatMessageAssistant.model_validate(recorded.message)
    for number, call in enumerate(message.tool_calls or (), start=1):
        call.id = tool_call_id(recorded.step, recorded.role, recorded.number, number)
    return message


def _refusal(file: Path, recorded: RecordedReply, then: str, now: str) -> str:
    shown = "\n".join(first_difference(then.split("\n"), now.split("\n")))
    return (
        f"the prompt of {_place_of(recorded)} differs from the one recorded in {file}:\n"
        f"{shown}\nto use the recorded replies anyway: -M on_mismatch=continue"
    )


def first_difference(then: Sequence[str], now: Sequence[str]) -> list[str]:
    """Where two texts first differ: the line number, and the next few lines that differ."""
    pairs = list(zip_longest(then, now))
    first = next(number for number, (old, new) in enumerate(pairs) if old != new)
    shown = [pair for pair in pairs[first : first + SHOWN_LINES] if pair[0] != pair[1]]
    column = shared_prefix(shown[0][0] or "", shown[0][1] or "")
    start = max(0, column - SHOWN_CHARACTERS // 2)
    cut = slice(start, start + SHOWN_CHARACTERS)
    return [
        f"  line {first + 1}:",
        *(f"  - {old[cut]}" for old, _ in shown if old is not None),
        *(f"  + {new[cut]}" for _, new in shown if new is not None),
    ]


def _place(step: int, role: str, number: int) -> str:
    return f"step {step}, role {role}, reply {number}"


def _place_of(recorded: RecordedReply) -> str:
    return _place(recorded.step, recorded.role, recorded.number)


def _name(run: RecordingHeader) -> str:
    return _words(run.task, run.agent, run.agent_settings, run.epoch)


def _words(task: str, agent: str, settings: dict[str, Any], epoch: int) -> str:
    shown = ", ".join(f"{key}={value}" for key, value in settings.items())
    return f"{task}, {agent}({shown}), run {epoch}"
