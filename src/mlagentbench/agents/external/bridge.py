"""Foreign agents that live inside the sandbox and reach their model through Inspect's bridge.

    a client inside  ->  127.0.0.1:13131  ->  Inspect's sandbox bridge  ->  `ModelCalls.answer`

Each model call is a step of the run: the reply, then what the agent printed and made of the
workspace until it asked again. When the budget is used up the next call gets no answer, and the
agent is ended. What it cannot know by itself stands in environment variables and in a file.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from mlagentbench.agents.status_text import with_past
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.services.tool_services import ENVIRONMENT
from mlagentbench.errors import ContextOverflow, ModelRefused, RunEnded, RunFailed
from mlagentbench.records import Action, Observation
from mlagentbench.sandbox.base import CommandResult
from mlagentbench.sandbox.bwrap.layout import HOME
from mlagentbench.sandbox.bwrap.sandbox import BubblewrapSandbox

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput
    from inspect_ai.tool import ToolChoice, ToolInfo

PORT = 13131
URL = f"http://127.0.0.1:{PORT}"
MODEL = "inspect"
FOLDER = f"{HOME}/agent"
"""Where the agent's own files are: beside the workspace, so that they are never handed in."""
PROBLEM = f"{HOME}/PROBLEM.md"
SHOWN_OUTPUT = 20_000
LAST_WORDS = 2_000
UNPACK = """
import sys, tarfile
tarfile.open(fileobj=sys.stdin.buffer, mode="r|").extractall(sys.argv[1])
"""
WAIT = """
import socket, sys, time
for _ in range(600):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit("nobody listens there")
"""


async def run_inside(
    environment: Environment,
    command: Sequence[str],
    *,
    files: Mapping[str, bytes] | None = None,
    archive: bytes | None = None,
) -> None:
    """Run a foreign agent in the workspace to its end, which ends the run.

    In FOLDER it finds `files`, by name, and what is in `archive`, as tar makes them. Always raises:
    RunEnded, or RunFailed when something broke down or the agent failed before it had asked
    anything.
    """
    if not isinstance(environment.sandbox, BubblewrapSandbox):
        raise RunFailed("sandbox", "an agent that lives inside the sandbox needs our own one")
    if environment.steps or environment.models.replies:
        environment.note("the agent starts again, on the workspace as it is")
    told = with_past(environment, len(environment.steps))
    await environment.sandbox.write(PROBLEM, told.encode("utf-8", "replace"))
    for name, contents in (files or {}).items():
        await environment.sandbox.write(f"{FOLDER}/{name}", contents)
    if archive is not None:
        await _python(environment, UNPACK, FOLDER, stdin=archive)
    calls = ModelCalls(environment)
    result: CommandResult | None = None
    environment.foreign_at_work = True
    try:
        async with _bridge(environment, calls):
            with calls.command:
                result = await environment.sandbox.run(
                    command,
                    env=describe(environment),
                    timeout=math.inf,
                    on_output=calls.take_output,
                )
    finally:
        environment.foreign_at_work = False
        how = "the agent was cut off" if result is None else _in_words(result)
        asked = f"{calls.count} model calls"
        environment.note(f"{how}, after {asked}; its last output:\n{calls.last_words}")
    if calls.error is not None:
        raise calls.error
    await calls.end_step()
    if calls.count == 0 and result is not None and result.exit_code != 0:
        raise RunFailed("harness", f"{how}, and asked nothing: {calls.last_words}")
    raise RunEnded("submitted", how)


def describe(environment: Environment) -> dict[str, str]:
    """What the agent is told in environment variables.

    Where a task's own programs have a model, the usual variables stay theirs.
    """
    spec, left = environment.task.spec, environment.budget.remaining()
    told = {
        "MODEL_URL": URL,
        "MODEL": MODEL,
        "AGENT": FOLDER,
        "PROBLEM": PROBLEM,
        "SUBMISSION": spec.submission.path,
        "METRIC": spec.metric.name,
        "BETTER": spec.metric.better,
        "COMMAND_SECONDS": f"{spec.limits.command_time:.0f}",
        "STEPS_LEFT": None if left.steps is None else str(left.steps),
        "SECONDS_LEFT": None if left.time is None else f"{left.time:.0f}",
        "TOKENS_LEFT": None if left.tokens is None else str(left.tokens),
        "DOLLARS_LEFT": None if left.cost is None else f"{left.cost:.4f}",
    }
    return {
        "OPENAI_BASE_URL": f"{URL}/v1",
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": URL,
        "ANTHROPIC_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": URL,
        "GEMINI_API_KEY": "none",
        **(ENVIRONMENT if spec.needs_model else {}),
        **{f"MLAGENTBENCH_{name}": value for name, value in told.items() if value is not None},
    }


class ModelCalls:
    """The model calls of a foreign agent, answered one after the other."""

    def __init__(self, environment: Environment) -> None:
        self.command = anyio.CancelScope()
        """Around the agent's command: it is left when a call can have no answer."""
        self.error: Exception | None = None
        """Why a call had no answer."""
        self.count = 0
        self._environment = environment
        self._one_at_a_time = anyio.Lock()
        self._reply: int | None = None
        """The journal's line with the reply that the agent is acting on."""
        self._said = b""
        self._last_words = b""

    @property
    def last_words(self) -> str:
        """The end of all that the agent printed."""
        return self._last_words.decode("utf-8", "replace").strip() or "(nothing)"

    def take_output(self, output: bytes) -> None:
        self._environment.take_output(output)
        self._said = (self._said + output)[-SHOWN_OUTPUT:]
        self._last_words = (self._last_words + output)[-LAST_WORDS:]

    async def answer(
        self,
        model: "Model",
        messages: "list[ChatMessage]",
        tools: "list[ToolInfo]",
        tool_choice: "ToolChoice | None",
        config: "GenerateConfig",
    ) -> "ModelOutput":
        """The bridge's filter: every call goes through the Environment, whatever model it names."""
        from inspect_ai.model import ModelOutput
        from inspect_ai.util import LimitExceededError

        async with self._one_at_a_time:
            try:
                await self.end_step()
                if self._environment.ended is not None:
                    raise self._environment.ended
                output = await self._environment.models.ask(
                    messages, tools=tools, tool_choice=tool_choice, config=config
                )
            except ContextOverflow as error:
                output = ModelOutput.from_content(model.name, str(error), "model_length")
            except ModelRefused as error:
                output = ModelOutput.from_content(model.name, str(error), "content_filter")
            except (RunEnded, RunFailed, LimitExceededError) as error:
                self.error = error
                self.command.cancel()
                await anyio.sleep_forever()
            self.count += 1
            self._reply = self._environment.models.replies[-1].n
            return output

    async def end_step(self) -> None:
        """Count the last call as a step, with what the agent has made of its reply."""
        if self._reply is None:
            return
        action = Action(name="Model Call", arguments={"reply": self._reply})
        text = self._said.decode("utf-8", "replace") or "The agent printed nothing."
        self._reply, self._said = None, b""
        await self._environment.note_step(action, Observation(text=text))


@asynccontextmanager
async def _bridge(environment: Environment, calls: ModelCalls) -> AsyncIterator[None]:
    """Inspect's bridge, once it listens inside."""
    from inspect_ai.agent import sandbox_agent_bridge

    try:
        async with sandbox_agent_bridge(filter=calls.answer, port=PORT):
            await _python(environment, WAIT, str(PORT))
            yield
    except RuntimeError as error:
        raise RunFailed("sandbox", f"the bridge to the model broke down: {error}") from error


async def _python(
    environment: Environment, program: str, argument: str, stdin: bytes = b""
) -> None:
    python = str(environment.python_env.python)
    call = [python, "-c", program, argument]
    result = await environment.sandbox.run(call, stdin=stdin, tidy=False)
    if result.exit_code != 0:
        raise RunFailed("sandbox", f"cannot make ready for the agent: {result.output.strip()}")


def _in_words(result: CommandResult) -> str:
    if result.limit is not None:
        return f"the agent was {result.limit}"
    if result.restarted:
        return "the agent broke the sandbox"
    return f"the agent ended with exit code {result.exit_code}"
