"""The `react` agent: native tool calls in one conversation whose beginning never changes.

Every result ends with the remaining budget and the best submission so far. If the budget ends
before the model submits, that one is submitted; where nothing can be executed, the workspace is.
Old turns are compacted into a summary before the conversation outgrows the model's context.
"""

from inspect_ai.model import ChatMessageTool, ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolInfo

from mlagentbench.agents.best_submission import BestSubmission, validation_metric
from mlagentbench.agents.conversation import Conversation, reply_message, shortened, without_middle
from mlagentbench.agents.resumable import ResumableRun
from mlagentbench.agents.runner import UNUSABLE_REPLY, run_agent
from mlagentbench.agents.status_text import remaining_budget_text
from mlagentbench.environment.actions.action import ActionSpec, tool_parameters
from mlagentbench.environment.ask_models import FAST
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.run_context import current_environment
from mlagentbench.errors import ContextOverflow, UsageError
from mlagentbench.prompts import prompt
from mlagentbench.records import Action, Observation
from mlagentbench.runs.journal import ReplyFault, ReplyLine

CONTEXT_TOKENS = 100_000
RECENT_SHARE = 0.25
"""The share of the conversation that is not compacted: the last turns."""
OVERFLOWS = 3
"""The number of prompts in a row that may be too long for the model."""
IDLE_REPLIES = 3
"""The number of replies in a row without a tool call that cost a step."""
SHOWN_TO_SUMMARISE = (4_000, 1_000, 250)
"""Characters of each message that the fast model is shown; fewer if they are too many for it."""
MAX_REASON = 1_000
NUDGE = "Your reply calls no tool, so nothing was done. Call a tool; `final_answer` submits."
CUT_OFF = (
    "Your reply was cut off: it is longer than one reply may be. Say less at once; a long file can "
    "be written in parts."
)


@solver
def react(
    context_tokens: int = CONTEXT_TOKENS,
    actions: list[str] | None = None,  # noqa: ARG001 (the Environment offers these already)
) -> Solver:
    """Think and act by native tool calls; submit the best result.

    Args:
        context_tokens: The length at which the conversation is compacted.
        actions: The actions to offer as tools, by name; by default the standard ones.
    """
    if context_tokens < 1:
        raise UsageError(f"agent react: context_tokens={context_tokens} should be more than 0")

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        environment = current_environment()
        agent = ReactAgent(environment, context_tokens)
        await run_agent(environment, agent.act, agent.at_end)
        return state

    return solve


class ReactAgent:
    """One run of the agent."""

    def __init__(self, environment: Environment, context_tokens: int = CONTEXT_TOKENS) -> None:
        self._run = ResumableRun(environment, "react")
        # Where nothing is executed, no submission exists before the run has ended.
        self._best = BestSubmission(environment) if environment.can_execute else None
        self._context_tokens = context_tokens
        self._tools = {spec.tool_name: spec for spec in environment.actions.specs.values()}
        self._offered = [_tool_info(spec) for spec in self._tools.values()]
        self._conversation = _opening(self._run)
        self._idle_replies = 0

    async def act(self, _environment: Environment) -> None:
        while True:
            await self._carry_out(await self._ask())

    def at_end(self, _environment: Environment) -> None:
        if self._best is not None:
            self._best.submit()

    # Asking

    async def _ask(self) -> ReplyLine:
        if self._conversation.tokens > self._context_tokens:
            await self._compact(self._context_tokens * RECENT_SHARE)
        for overflows in range(1, OVERFLOWS + 1):
            try:
                return await self._run.ask(self._conversation.messages, tools=self._offered)
            except ContextOverflow:
                recent = self._conversation.tokens * RECENT_SHARE / overflows
                if overflows == OVERFLOWS or not await self._compact(recent):
                    raise
        raise AssertionError("the last overflow is raised")

    async def _compact(self, recent_tokens: float) -> bool:
        """Replace all but the last turns by a summary; False when there are no others."""
        older = self._conversation.older_than(recent_tokens)
        if not older:
            return False
        for shown in SHOWN_TO_SUMMARISE:
            past = shortened(older, shown)
            try:
                summary = await self._summarise(past)
                break
            except ContextOverflow:
                if shown == SHOWN_TO_SUMMARISE[-1]:
                    raise
        self._conversation.compact(summary or past, recent_tokens)
        return True

    async def _summarise(self, past: str) -> str:
        question = ChatMessageUser(content=prompt("agents/react_summarise", past=past))
        return (await self._run.ask([question], role=FAST)).reply.strip()

    # Acting

    async def _carry_out(self, line: ReplyLine) -> None:
        self._conversation.begin_turn(line)
        calls = reply_message(line).tool_calls or []
        cut_off = f"\n{CUT_OFF}" if line.stop_reason == "max_tokens" else ""
        for call in calls:
            text = await self._result(call) + (cut_off if call is calls[-1] else "")
            self._conversation.add(
                ChatMessageTool(content=text, tool_call_id=call.id, function=call.function)
            )
        if any(call.parse_error is None for call in calls):
            self._idle_replies = 0
            return
        self._note_unreadable(line, calls)
        cost = await self._count_idle_reply()
        if not calls:
            self._conversation.add(ChatMessageUser(content=f"{NUDGE}{cut_off}{cost}"))

    async def _result(self, call: ToolCall) -> str:
        if call.parse_error is not None:
            why = without_middle(call.parse_error, MAX_REASON)
            return f"Error: nothing was done, the arguments cannot be read: {why}"
        spec = self._tools.get(call.function)
        name = call.function if spec is None else spec.name
        step = await self._run.execute(Action(name=name, arguments=call.arguments))
        if self._best is not None:
            await self._best.note(step)
        return f"{step.observation.text}\n\n{self._status()}"

    def _note_unreadable(self, line: ReplyLine, calls: list[ToolCall]) -> None:
        form: ReplyFault = "cut off" if line.stop_reason == "max_tokens" else "no tool call"
        errors = "; ".join(call.parse_error or "" for call in calls)
        if calls:
            form = "json"
        self._run.environment.models.note_unreadable(line, form, errors or NUDGE)

    async def _count_idle_reply(self) -> str:
        """Count a reply without a tool call; returns a message when it costs a step."""
        self._idle_replies += 1
        if self._idle_replies < IDLE_REPLIES:
            return ""
        self._idle_replies = 0
        said = f"{IDLE_REPLIES} replies in a row did nothing: this cost a step."
        await self._run.note_step(UNUSABLE_REPLY, Observation(text=said, status="error"))
        return f" {said}\n\n{self._status()}"

    def _status(self) -> str:
        left = remaining_budget_text(self._run.limits, self._run.used)
        best = "" if self._best is None else f" {self._best.status()}"
        return f"[Left: {left}.{best}]"


def _opening(run: ResumableRun) -> Conversation:
    environment = run.environment
    spec = environment.task.spec
    system = prompt(
        "agents/react" if environment.can_execute else "agents/react_no_execution",
        submission=spec.submission.path,
        metric=spec.metric.name,
        better=spec.metric.better,
        validation=validation_metric(environment.task) or "METRIC",
    )
    budget = remaining_budget_text(run.limits, run.used)
    return Conversation(system, f"{run.problem.strip()}\n\n[Left: {budget}.]")


def _tool_info(spec: ActionSpec) -> ToolInfo:
    return ToolInfo(
        name=spec.tool_name, description=spec.description, parameters=tool_parameters(spec)
    )
