"""How each provider's API says what a model can say, and what can go wrong with it.

Every answer that has usage figures has the same: READ tokens read, CACHED of them from the
provider's cache where it tells, and WRITTEN tokens written, THOUGHT of them before the reply.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import pytest
from wire_servers import Answer, Request, WireServer

READ, CACHED, WRITTEN, THOUGHT = 100, 40, 20, 5
REFUSAL = "I cannot help with that."
Headers = Mapping[str, str]
NONE: Headers = {}


class WireFormat(Protocol):
    """A provider's API, as far as the tests need it."""

    model: str
    """As a person would name it after --models."""
    path: str
    """Where its client asks for a reply."""
    tells_cached: bool

    def variables(self, url: str) -> Mapping[str, str]:
        """What leads the client to a server of ours."""

    def aside(self, request: Request) -> Answer | None:
        """Answers what the client asks of its own accord."""

    def text(self, text: str) -> Answer: ...

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> Answer: ...

    def empty(self) -> Sequence[Answer]:
        """The ways in which it says nothing."""

    def overflows(self) -> Sequence[Answer]:
        """The ways in which it says that the prompt is too long."""

    def refusals(self) -> Sequence[Answer]:
        """The ways in which it refuses, other than in words."""

    def error(self, status: int, message: str, headers: Headers = NONE) -> Answer: ...


@contextmanager
def serving(wire: WireFormat, patch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    """A server of ours, which the provider's client is led to."""
    with WireServer(wire.aside).running() as server:
        for name, value in wire.variables(server.url).items():
            patch.setenv(name, value)
        yield server


class ChatCompletions:
    """OpenAI's older API, which everybody else's servers speak, too."""

    path = "/v1/chat/completions"
    tells_cached = True

    def __init__(self, model: str, service: str, *overflows: Answer) -> None:
        self.model = model
        self._service = service
        self._overflows = overflows

    def variables(self, url: str) -> Mapping[str, str]:
        return {f"{self._service}_BASE_URL": f"{url}/v1", f"{self._service}_API_KEY": "key"}

    def aside(self, request: Request) -> Answer | None:
        return Answer({"object": "list", "data": []}) if request.path == "/v1/models" else None

    def text(self, text: str) -> Answer:
        return self._completion({"content": text})

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": "call_1", "type": "function", "function": function}]
        return self._completion({"content": None, "tool_calls": calls}, "tool_calls")

    def empty(self) -> Sequence[Answer]:
        nothing = self._completion({"content": ""})
        return self._completion({"content": None}), Answer({**nothing.body, "choices": []})

    def overflows(self) -> Sequence[Answer]:
        return self._overflows

    def refusals(self) -> Sequence[Answer]:
        return (
            self._completion({"content": None, "refusal": REFUSAL}),
            self._completion({"content": REFUSAL}, "content_filter"),
            openai_error(400, f"content management policy: {REFUSAL}", code="content_filter"),
        )

    def error(self, status: int, message: str, headers: Headers = NONE) -> Answer:
        return openai_error(status, message, headers=headers)

    def _completion(self, message: Mapping[str, Any], finish_reason: str = "stop") -> Answer:
        choice = {"role": "assistant", **message}
        return Answer(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 0,
                "model": self.model.rpartition("/")[2],
                "choices": [{"index": 0, "message": choice, "finish_reason": finish_reason}],
                "usage": {
                    "prompt_tokens": READ,
                    "prompt_tokens_details": {"cached_tokens": CACHED},
                    "completion_tokens": WRITTEN,
                    "completion_tokens_details": {"reasoning_tokens": THOUGHT},
                    "total_tokens": READ + WRITTEN,
                },
            }
        )


class Responses:
    """OpenAI's API for its present models."""

    model = "openai/gpt-6-sol"
    path = "/v1/responses"
    tells_cached = True

    def variables(self, url: str) -> Mapping[str, str]:
        return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "key"}

    def aside(self, request: Request) -> Answer | None:
        """Inspect tries once for each model whether summaries of thoughts are to be had."""
        tries = request.body["input"] == "Please say 'hello, world'"
        return self.text("hello, world") if tries else None

    def text(self, text: str) -> Answer:
        return self._response(self._message({"type": "output_text", "text": text}))

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        call = {"name": name, "arguments": json.dumps(arguments), "status": "completed"}
        return self._response({"type": "function_call", "id": "fc_1", "call_id": "call_1", **call})

    def empty(self) -> Sequence[Answer]:
        return self._response(), self.text("")

    def overflows(self) -> Sequence[Answer]:
        said = "Your input exceeds the context window of this model."
        return (openai_error(400, said, code="context_length_exceeded"),)

    def refusals(self) -> Sequence[Answer]:
        cut_off = self.text(REFUSAL).body
        cut_off |= {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
        return (
            self._response(self._message({"type": "refusal", "refusal": REFUSAL})),
            Answer(cut_off),
            openai_error(400, f"Invalid prompt: {REFUSAL}", code="invalid_prompt"),
        )

    def error(self, status: int, message: str, headers: Headers = NONE) -> Answer:
        return openai_error(status, message, headers=headers)

    def _message(self, part: Mapping[str, Any]) -> dict[str, Any]:
        content = [{"annotations": [], **part}]
        return {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": content,
        }  # fmt: skip

    def _response(self, *output: Mapping[str, Any]) -> Answer:
        return Answer(
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 0,
                "model": "gpt-6-sol",
                "status": "completed",
                "output": list(output),
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "usage": {
                    "input_tokens": READ,
                    "input_tokens_details": {"cached_tokens": CACHED},
                    "output_tokens": WRITTEN,
                    "output_tokens_details": {"reasoning_tokens": THOUGHT},
                    "total_tokens": READ + WRITTEN,
                },
            }
        )


class Messages:
    """Anthropic's API, as a stream of events, which its client asks for."""

    model = "anthropic/claude-opus-5-5"
    path = "/v1/messages"
    tells_cached = True

    def variables(self, url: str) -> Mapping[str, str]:
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "key"}

    def aside(self, request: Request) -> Answer | None:
        return None

    def text(self, text: str) -> Answer:
        return self._stream(text_block(text))

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        start = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return self._stream((start, delta), stop_reason="tool_use")

    def empty(self) -> Sequence[Answer]:
        return self._stream(), self.text("")

    def overflows(self) -> Sequence[Answer]:
        return (
            self.error(400, "prompt is too long: 1000004 tokens > 1000000 maximum"),
            self.error(413, "Request exceeds the maximum size"),
        )

    def refusals(self) -> Sequence[Answer]:
        return (
            self._stream(text_block(REFUSAL), stop_reason="refusal"),
            self.error(400, "Output blocked by content filtering policy"),
        )

    def error(self, status: int, message: str, headers: Headers = NONE) -> Answer:
        kinds = {400: "invalid_request_error", 413: "request_too_large", 429: "rate_limit_error"}
        error = {"type": kinds.get(status, "api_error"), "message": message}
        return Answer({"type": "error", "error": error}, status, headers)

    def _stream(
        self,
        *blocks: tuple[Mapping[str, Any], Mapping[str, Any]],
        stop_reason: str = "end_turn",
    ) -> Answer:
        read = {"input_tokens": READ - CACHED, "cache_read_input_tokens": CACHED}
        message: dict[str, Any] = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {**read, "cache_creation_input_tokens": 0, "output_tokens": 1},
        }  # fmt: skip
        events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
        for index, (start, delta) in enumerate(blocks):
            events += [
                {"type": "content_block_start", "index": index, "content_block": start},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        end = {"stop_reason": stop_reason, "stop_sequence": None}
        usage = {"output_tokens": WRITTEN}
        events += [
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        ]
        return Answer("".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events))


def text_block(text: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}


class GenerateContent:
    """Google's API."""

    model = "google/gemini-4-argon"
    path = "/v1/models/gemini-4-argon:generateContent"
    tells_cached = True

    def variables(self, url: str) -> Mapping[str, str]:
        return {"GOOGLE_BASE_URL": url, "GOOGLE_API_KEY": "key"}

    def aside(self, request: Request) -> Answer | None:
        return None

    def text(self, text: str) -> Answer:
        return self._candidate([{"text": text}])

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        return self._candidate([{"functionCall": {"name": name, "args": dict(arguments)}}])

    def empty(self) -> Sequence[Answer]:
        return self._candidate([]), Answer({"usageMetadata": self._usage()})

    def overflows(self) -> Sequence[Answer]:
        said = "The input token count (1048590) exceeds the maximum number of tokens allowed"
        return (self.error(400, f"{said} (1048576)."),)

    def refusals(self) -> Sequence[Answer]:
        blocked = {"blockReason": "PROHIBITED_CONTENT"}
        return (
            Answer({"promptFeedback": blocked, "usageMetadata": self._usage()}),
            self._candidate([{"text": REFUSAL}], "SAFETY"),
        )

    def error(self, status: int, message: str, headers: Headers = NONE) -> Answer:
        names = {
            400: "INVALID_ARGUMENT",
            401: "UNAUTHENTICATED",
            429: "RESOURCE_EXHAUSTED",
            500: "INTERNAL",
        }
        error = {"code": status, "message": message, "status": names[status]}
        return Answer({"error": error}, status, headers)

    def _usage(self) -> dict[str, int]:
        return {
            "promptTokenCount": READ,
            "cachedContentTokenCount": CACHED,
            "candidatesTokenCount": WRITTEN - THOUGHT,
            "thoughtsTokenCount": THOUGHT,
            "totalTokenCount": READ + WRITTEN,
        }

    def _candidate(self, parts: list[dict[str, Any]], finish_reason: str = "STOP") -> Answer:
        content = {"role": "model", "parts": parts}
        candidate = {"index": 0, "content": content, "finishReason": finish_reason}
        return Answer({"candidates": [candidate], "usageMetadata": self._usage()})


class Conversations:
    """Mistral's API, which tells nothing of its cache and refuses in words only."""

    model = "mistral/mistral-medium-2604"
    path = "/v1/conversations"
    tells_cached = False

    def variables(self, url: str) -> Mapping[str, str]:
        return {"MISTRAL_BASE_URL": url, "MISTRAL_API_KEY": "key"}

    def aside(self, request: Request) -> Answer | None:
        return None

    def text(self, text: str) -> Answer:
        return self._conversation({"type": "message.output", "role": "assistant", "content": text})

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        call = {"tool_call_id": "call00001", "name": name, "arguments": json.dumps(arguments)}
        return self._conversation({"type": "function.call", **call})

    def empty(self) -> Sequence[Answer]:
        return self._conversation(), self.text("")

    def overflows(self) -> Sequence[Answer]:
        said = "Prompt contains 262145 tokens, too large for model with 262144"
        return (self.error(400, f"{said} maximum context length"),)

    def refusals(self) -> Sequence[Answer]:
        return ()

    def error(self, status: int, message: str, headers: Headers = NONE) -> Answer:
        error = {"object": "error", "message": message, "type": "error", "code": "3000"}
        return Answer(error, status, headers)

    def _conversation(self, *outputs: Mapping[str, Any]) -> Answer:
        usage = {
            "prompt_tokens": READ,
            "completion_tokens": WRITTEN,
            "total_tokens": READ + WRITTEN,
        }
        entries = [{"object": "entry", "id": "entry_1", **output} for output in outputs]
        return Answer({"conversation_id": "conv_1", "outputs": entries, "usage": usage})


def openai_error(
    status: int, message: str, code: str | None = None, headers: Headers = NONE
) -> Answer:
    kinds = {400: "invalid_request_error", 429: "requests"}
    error = {"message": message, "type": kinds.get(status, "server_error"), "code": code}
    return Answer({"error": error}, status, headers)
