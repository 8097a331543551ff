"""The `langchain` agent: LangChain's agent, with MLAgentBench's actions as its tools.

LangChain calls an OpenAI model whose name begins with "inspect/". Inspect's bridge answers these
calls with the run's model, and the tools execute actions of the Environment. A resumed run repeats
the replies and steps of the journal until it is where it was.
"""

from typing import TYPE_CHECKING, Any

from inspect_ai.agent import agent_bridge
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    GenerateConfig,
    GenerateFilter,
    Model,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.solver import Solver, solver
from inspect_ai.tool import ToolChoice, ToolInfo

from mlagentbench.agents.conversation import reply_message
from mlagentbench.agents.resumable import ResumableRun
from mlagentbench.agents.runner import as_solver
from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunEnded
from mlagentbench.prompts import prompt
from mlagentbench.records import Action
from mlagentbench.runs.journal import ReplyLine

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

TURNS_WITHOUT_LIMIT = 10_000
SPARE_TURNS = 5
"""Replies without a known tool, beyond one for each step."""


@solver
def langchain(
    actions: list[str] | None = None,  # noqa: ARG001 (the Environment offers these already)
) -> Solver:
    """LangChain's `create_agent`, unchanged, with MLAgentBench's actions as its tools.

    Args:
        actions: The actions to offer as tools, by name; by default the standard ones.
    """
    return as_solver(act)


async def act(environment: Environment) -> None:
    """Run LangChain's agent until it stops calling tools or the run ends."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langgraph.errors import GraphRecursionError
    from pydantic import SecretStr

    run = ResumableRun(environment, "langchain")
    model = f"inspect/{environment.models.find()}"
    agent = create_agent(
        ChatOpenAI(model=model, api_key=SecretStr("none"), use_responses_api=False),
        [_tool(run, spec) for spec in environment.actions.specs.values()],
        system_prompt=_system_prompt(environment),
    )
    steps = environment.budget.limits.get("steps")
    turns = TURNS_WITHOUT_LIMIT if steps is None else int(steps) + SPARE_TURNS
    async with agent_bridge(filter=_asking(run)):
        try:
            await agent.ainvoke(
                {"messages": [{"role": "user", "content": run.problem}]},
                {"recursion_limit": 2 * turns},
            )
        except GraphRecursionError as error:
            raise RunEnded("steps", f"LangChain's limit of {turns} turns is used up") from error


def _system_prompt(environment: Environment) -> str:
    name = "agents/langchain" if environment.can_execute else "agents/langchain_no_execution"
    return prompt(name, submission=environment.task.spec.submission.path)


def _tool(run: ResumableRun, spec: ActionSpec) -> "BaseTool":
    """An action as a LangChain tool; its errors go back to the model as the tool's errors.

    The schema is JSON, not a pydantic model, so that the action itself checks the arguments.
    """
    from langchain_core.tools import StructuredTool, ToolException

    async def execute(**arguments: Any) -> str:
        step = await run.execute(Action(name=spec.name, arguments=arguments))
        if step.observation.status in ("error", "refused"):
            raise ToolException(step.observation.text)
        return step.observation.text

    return StructuredTool(
        name=spec.tool_name,
        description=spec.description,
        args_schema=spec.parameters,
        coroutine=execute,
        handle_tool_error=True,
    )


def _asking(run: ResumableRun) -> GenerateFilter:
    """A filter for Inspect's bridge that returns the run's replies, those of the journal first."""

    async def ask(
        model: Model,
        messages: list[ChatMessage],
        tools: list[ToolInfo],
        _tool_choice: ToolChoice | None,
        _config: GenerateConfig,
    ) -> ModelOutput:
        return _output(model.name, await run.ask(messages, tools=tools))

    return ask


def _output(model: str, line: ReplyLine) -> ModelOutput:
    choice = {"message": reply_message(line), "stop_reason": line.stop_reason}
    return ModelOutput(
        model=model,
        choices=[ChatCompletionChoice.model_validate(choice)],
        usage=ModelUsage(
            input_tokens=line.input_tokens,
            output_tokens=line.output_tokens,
            total_tokens=line.input_tokens + line.output_tokens,
        ),
    )
