"""A model and a paper search on the sandbox's loopback, for tasks with `needs_model`.

    POST http://127.0.0.1:8420/v1/chat/completions   compatible with OpenAI's clients
    GET  http://127.0.0.1:8420/api/query             compatible with arXiv's API

The sandbox has no network: its executor opens the port and passes it to the harness, which answers.
So the papers, the model's key and the usage counts stay outside of the sandbox.
"""

import json
import socket
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mlagentbench.errors import RunFailed
from mlagentbench.program_services.http_server import HttpServer, error_response, read_body
from mlagentbench.program_services.paper_search import BadQuery, PaperRecord, PaperSearch
from mlagentbench.program_services.services import ServiceUsage, TokenBudget
from mlagentbench.program_services.tool_model import (
    ChatReply,
    ChatRequest,
    RecordedTool,
    ToolModel,
    load_tool,
    read_logged_replies,
)
from mlagentbench.records import Json, Record, ToolUsage, first_problem
from mlagentbench.tasks.task import Task

PORT = 8420
ENVIRONMENT = {
    "OPENAI_BASE_URL": f"http://127.0.0.1:{PORT}/v1",
    "OPENAI_API_KEY": "none",
    "PAPER_SEARCH_URL": f"http://127.0.0.1:{PORT}/api/query",
}
"""The environment variables with the addresses, for programs in the sandbox."""
COMPLETIONS, QUERY = "/v1/chat/completions", "/api/query"
_IGNORED = {"model", "stream", "n", "user", "max_completion_tokens"}
_PAPERS = TypeAdapter(tuple[PaperRecord, ...])


class ServiceLimits(Record):
    """The most searches and tokens; None is no limit."""

    searches: int | None = None
    tokens: int | None = None


class ToolServices:
    """The server of one sandbox, which counts usage and enforces limits."""

    port = PORT

    def __init__(
        self,
        tool: ToolModel,
        papers: Path,
        limits: ServiceLimits,
        budget: TokenBudget | None = None,
    ) -> None:
        self.tool = tool
        self.limits = limits
        self._used = ToolUsage(model=tool.name)
        self._failure: RunFailed | None = None
        """The last failure to answer."""
        self._budget = budget
        self._search = PaperSearch(_PAPERS.validate_json(papers.read_bytes()))
        self._server = HttpServer(self._app())

    async def serve(self, listening: socket.socket) -> None:
        await self._server.serve(listening)

    async def close(self) -> None:
        await self._server.close()

    def usage(self) -> ServiceUsage:
        if self._failure is not None:
            raise self._failure
        return ServiceUsage(used=self._used, refused=self._refusals())

    def _refusals(self) -> str | None:
        found = []
        if self._used.refused_searches:
            found.append(f"{self._used.refused_searches} searches beyond {self.limits.searches}")
        if self._used.refused_calls:
            found.append(
                f"{self._used.refused_calls} model calls beyond {self.limits.tokens:,} tokens"
            )
        return f"refused: {', '.join(found)}" if found else None

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route(QUERY, self._search_papers, methods=["GET"]),
                Route(COMPLETIONS, self._complete, methods=["POST"]),
            ],
            exception_handlers={HTTPException: _refuse, Exception: self._break_down},
        )

    async def _break_down(self, _request: Request, error: Exception) -> Response:
        self._failure = RunFailed("harness", f"{type(error).__name__}: {error}")
        return error_response(500, self._failure.detail)

    async def _search_papers(self, request: Request) -> Response:
        limit = self.limits.searches
        if limit is not None and self._used.searches >= limit:
            self._count(refused_searches=1)
            raise HTTPException(429, f"all {limit} searches are used")
        try:
            feed = self._search.answer(request.query_params)
        except BadQuery as error:
            raise HTTPException(400, str(error)) from error
        self._count(searches=1)
        return Response(feed, media_type="application/atom+xml")

    async def _complete(self, request: Request) -> Response:
        try:
            asked = read_request(await read_body(request))
        except ValueError as error:
            raise HTTPException(400, str(error)) from error
        limit = self.limits.tokens
        if self._budget is not None and self._budget.remaining().get("tokens") == 0:
            raise HTTPException(429, "the run's tokens are used up")
        if limit is not None and self._used.input_tokens + self._used.output_tokens >= limit:
            self._count(refused_calls=1)
            raise HTTPException(429, f"all {limit:,} tokens are used")
        try:
            reply = await self.tool.ask(asked)
        except RunFailed as failure:
            self._failure = failure
            raise HTTPException(503, failure.detail) from failure
        self._count(
            calls=1,
            cached_calls=int(reply.cached),
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
        )
        if self._budget is not None:
            self._budget.add_reply(reply.input_tokens, reply.output_tokens, reply.cost)
        return JSONResponse(_completion(self.tool.name, reply))

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._used, name) + number for name, number in more.items()}
        self._used = self._used.model_copy(update=counts)


class LoggedServices(ToolServices):
    """Services that repeat the replies of a run, step by step."""

    def __init__(self, tool: RecordedTool, papers: Path, budget: TokenBudget) -> None:
        super().__init__(tool, papers, ServiceLimits(), budget)
        self.select_step = tool.select_step


async def _refuse(request: Request, error: Exception) -> Response:
    status, message = getattr(error, "status_code", 400), getattr(error, "detail", "")
    if status in (404, 405):
        known = f"known: GET {QUERY}, POST {COMPLETIONS}"
        message = f"{request.method} {request.url.path[:200]} is not here; {known}"
    return error_response(status, message)


def read_request(body: bytes) -> ChatRequest:
    """Parse a request; raises ValueError that says what is wrong with it."""
    try:
        values = json.loads(body)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"the body is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ValueError("the body is not a JSON object")
    if values.get("stream") or values.get("n", 1) != 1:
        raise ValueError("stream and n are not supported: one whole reply comes at a time")
    values = {name: value for name, value in values.items() if value is not None}
    if "max_completion_tokens" in values:
        values["max_tokens"] = values["max_completion_tokens"]
    if isinstance(values.get("stop"), str):
        values["stop"] = [values["stop"]]
    fields = {name: value for name, value in values.items() if name not in _IGNORED}
    try:
        return ChatRequest.model_validate(fields)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from error


def _completion(model: str, reply: ChatReply) -> Json:
    return {
        "id": "chatcmpl-tool",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "finish_reason": reply.stop_reason,
            }
        ],
        "usage": {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
        },
    }


def development_services(
    task: Task, private: Path, tool: ToolModel, budget: TokenBudget | None
) -> ToolServices:
    """Services with the development papers."""
    return ToolServices(tool, _development_papers(task, private), ServiceLimits(), budget)


def logged_services(
    task: Task, private: Path, name: str, logs: Sequence[Path], budget: TokenBudget
) -> LoggedServices:
    """Services with the development papers that repeat logged replies."""
    logged = [reply for log in logs for reply in read_logged_replies(log)]
    otherwise = None if any(log.exists() for log in logs) else load_tool(name)
    tool = RecordedTool(name, logged, otherwise)
    return LoggedServices(tool, _development_papers(task, private), budget)


def _development_papers(task: Task, private: Path) -> Path:
    return private / task.spec.required_tool.development_papers


def hidden_services(task: Task, private: Path, tool: ToolModel) -> ToolServices:
    """Services with the hidden papers, within the task's limits."""
    needs = task.spec.required_tool
    limits = ServiceLimits(searches=needs.searches, tokens=needs.tokens)
    return ToolServices(tool, private / needs.papers, limits)
