"""In-sandbox agents, which reach their model through Inspect's bridge.

    a client in the sandbox -> 127.0.0.1:13131 -> Inspect's sandbox bridge -> `ModelCalls.answer`

Each model call is a step of the run: the reply, then what the agent printed and changed in the
workspace before its next call. When the budget is used up, the next call gets no answer, and the
agent is ended. Environment variables and a file describe the task to the agent.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from inspect_ai.agent import sandbox_agent_bridge
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo
from inspect_ai.util import LimitExceededError

from mlagentbench.agents.status_text import problem_with_history
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ContextOverflow, ModelRefused, RunEnded, RunFailed
from mlagentbench.program_services.services import service_variables
from mlagentbench.records import Action, Observation
from mlagentbench.runs.results import read_record
from mlagentbench.sandbox.base import CommandResult
from mlagentbench.sandbox.executor.places import HOME
from mlagentbench.sandbox.sandbox_registry import require_in_sandbox_agents
from mlagentbench.tasks.spec import REPRODUCE

PORT = 13131
URL = f"http://127.0.0.1:{PORT}"
MODEL = "inspect"
FOLDER = f"{HOME}/agent"
"""The agent's own files: outside of the workspace, so that they are never submitted."""
PROBLEM = f"{HOME}/PROBLEM.md"
MAX_STEP_OUTPUT = 20_000
MAX_LAST_OUTPUT = 2_000
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
    sys.exit("the bridge does not listen")
"""


async def run_in_sandbox(
    environment: Environment,
    command: Sequence[str],
    *,
    files: Mapping[str, bytes] | None = None,
    archive: bytes | None = None,
) -> None:
    """Run an agent in the sandbox until it ends, which ends the run.

    In FOLDER it finds `files`, by name, and the contents of the tar file `archive`. Always raises:
    RunEnded, or RunFailed when the infrastructure failed or the agent failed before its first call.
    """
    require_in_sandbox_agents(read_record(environment.run).disclosure.sandbox, "this")
    if environment.steps or environment.models.replies:
        environment.note("the agent is restarted on the current workspace")
    problem = problem_with_history(environment, len(environment.steps))
    await environment.sandbox.write(PROBLEM, problem.encode("utf-8", "replace"))
    for name, contents in (files or {}).items():
        await environment.sandbox.write(f"{FOLDER}/{name}", contents)
    if archive is not None:
        await _python(environment, UNPACK, FOLDER, stdin=archive)
    calls = ModelCalls(environment)
    result: CommandResult | None = None
    environment.external_agent_running = True
    try:
        async with _bridge(environment, calls):
            with calls.command:
                result = await environment.sandbox.run(
                    command,
                    env=agent_variables(environment),
                    timeout=math.inf,
                    on_output=calls.take_output,
                )
    finally:
        environment.external_agent_running = False
        how = "the agent was cut off" if result is None else _describe_end(result)
        made = f"{calls.count} model calls"
        environment.note(f"{how}, after {made}; its last output:\n{calls.last_output}")
    if calls.error is not None:
        raise calls.error
    await calls.end_step()
    if calls.count == 0 and result is not None and result.exit_code != 0:
        raise RunFailed("harness", f"{how}, without a model call: {calls.last_output}")
    raise RunEnded("submitted", how)


def agent_variables(environment: Environment) -> dict[str, str]:
    """The environment variables that describe the task to the agent.

    If a task's programs have a model, the usual variables keep pointing to that.
    """
    spec, left = environment.task.spec, environment.budget.remaining()
    told = {
        "MODEL_URL": URL,
        "MODEL": MODEL,
        "AGENT": FOLDER,
        "PROBLEM": PROBLEM,
        "SUBMISSION": spec.submission.path,
        "PROGRAM": None if environment.rebuilt_by is None else REPRODUCE,
        "METRIC": spec.metric.name,
        "BETTER": spec.metric.better,
        "COMMAND_SECONDS": f"{spec.limits.command_time:.0f}",
        **{limit.variable: limit.plain(amount) for limit, amount in left.items()},
    }
    return {
        "OPENAI_BASE_URL": f"{URL}/v1",
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": URL,
        "ANTHROPIC_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": URL,
        "GEMINI_API_KEY": "none",
        **service_variables(environment.task),
        **{f"MLAGENTBENCH_{name}": value for name, value in told.items() if value is not None},
    }


class ModelCalls:
    """The model calls of an in-sandbox agent, answered one after the other."""

    def __init__(self, environment: Environment) -> None:
        self.command = anyio.CancelScope()
        """The scope of the agent's command, cancelled when a call can have no answer."""
        self.error: Exception | None = None
        """Why a call had no answer."""
        self.count = 0
        self._environment = environment
        self._one_at_a_time = anyio.Lock()
        self._reply: int | None = None
        """The journal line of the reply that the agent is acting on."""
        self._step_output = b""
        self._last_output = b""

    @property
    def last_output(self) -> str:
        """The end of everything the agent printed."""
        return self._last_output.decode("utf-8", "replace").strip() or "(nothing)"

    def take_output(self, output: bytes) -> None:
        self._environment.take_output(output)
        self._step_output = (self._step_output + output)[-MAX_STEP_OUTPUT:]
        self._last_output = (self._last_output + output)[-MAX_LAST_OUTPUT:]

    async def answer(
        self,
        model: Model,
        messages: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice | None,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The bridge's filter: every call, to whatever model, goes through the Environment."""
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
        """Record the last call as a step, with what the agent did after its reply."""
        if self._reply is None:
            return
        action = Action(name="Model Call", arguments={"reply": self._reply})
        text = self._step_output.decode("utf-8", "replace") or "The agent printed nothing."
        self._reply, self._step_output = None, b""
        await self._environment.note_step(action, Observation(text=text))


@asynccontextmanager
async def _bridge(environment: Environment, calls: ModelCalls) -> AsyncIterator[None]:
    """Inspect's bridge, listening in the sandbox."""
    try:
        async with sandbox_agent_bridge(filter=calls.answer, port=PORT):
            await _python(environment, WAIT, str(PORT))
            yield
    except RuntimeError as error:
        raise RunFailed("sandbox", f"the bridge to the model failed: {error}") from error


async def _python(
    environment: Environment, program: str, argument: str, stdin: bytes = b""
) -> None:
    call = ["python", "-c", program, argument]
    result = await environment.sandbox.run(call, stdin=stdin, tidy=False)
    if result.exit_code != 0:
        raise RunFailed("sandbox", f"cannot set up the agent: {result.output.strip()}")


def _describe_end(result: CommandResult) -> str:
    if result.limit is not None:
        return f"the agent was {result.limit}"
    if result.restarted:
        return "the agent broke the sandbox"
    return f"the agent ended with exit code {result.exit_code}"
