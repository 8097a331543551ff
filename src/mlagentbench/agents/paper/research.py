"""The paper's agents, which write their actions as text: one loop, three sets of fields.

`research` reflects, plans and checks facts before it acts, `react_text` only thinks, `act` only
acts. Each prompt has the problem, the actions, the format of a reply and the last few steps; with
`retrieval`, also what the fast model finds relevant in a log of all steps.

The prompts follow from the run's steps and replies alone, so that a resumed run continues with the
same prompt. The agent is not told its budget.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated

from inspect_ai.solver import Solver, solver
from pydantic import ConfigDict, Field

from mlagentbench.agents.paper.text_protocol import (
    ACTION,
    ACTION_INPUT,
    OBSERVATION,
    ParsedReply,
    ReplyError,
    parse_reply,
)
from mlagentbench.agents.registry import make_settings
from mlagentbench.agents.reply_memory import Recall
from mlagentbench.agents.runner import UNUSABLE_REPLY, as_solver
from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.ask_models import MAIN
from mlagentbench.environment.chunked_text import clipped, summarise_long
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.research_log import ResearchLog
from mlagentbench.errors import ActionError, ContextOverflow, ModelRefused
from mlagentbench.prompts import prompt
from mlagentbench.records import Json, Observation, Record, Step
from mlagentbench.runs.journal import ReplyLine

REFLECTION, PLAN, FACT_CHECK = "Reflection", "Research Plan and Status", "Fact Check"
THOUGHT = "Thought"
MEANINGS = {
    REFLECTION: "agents/research_reflection",
    PLAN: "agents/research_plan",
    FACT_CHECK: "agents/research_fact_check",
    THOUGHT: "agents/research_thought",
    ACTION: "agents/research_action",
    ACTION_INPUT: "agents/research_action_input",
}
"""The prompt that explains each field."""

STEPS_IN_CONTEXT = 3
MAX_REPLY_TOKENS = 4096
RETRIES = 5
"""How often the model is reminded of the format before the reply costs a step."""
LONG_OBSERVATION = 5_000
"""Characters of an observation up to which it is not summarised."""
MAX_FABRICATED = 300
"""Characters of a fabricated observation that the journal records."""


class Settings(Record):
    """The fields of the agent's replies, and what it remembers."""

    model_config = ConfigDict(strict=True)

    reflection: bool = False
    plan: bool = False
    fact_check: bool = False
    thought: bool = False
    retrieval: bool = False
    steps_in_context: Annotated[int, Field(gt=0)] = STEPS_IN_CONTEXT
    max_reply_tokens: Annotated[int, Field(gt=0)] = MAX_REPLY_TOKENS

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields before the action."""
        switched = {
            REFLECTION: self.reflection,
            PLAN: self.plan,
            FACT_CHECK: self.fact_check,
            THOUGHT: self.thought,
        }
        return tuple(name for name, on in switched.items() if on)


@solver
def research(
    retrieval: bool = False,
    plan: bool = True,
    fact_check: bool = True,
    reflection: bool = True,
    steps_in_context: int = STEPS_IN_CONTEXT,
    max_reply_tokens: int = MAX_REPLY_TOKENS,
    actions: list[str] | None = None,  # noqa: ARG001 (the Environment offers these already)
) -> Solver:
    """Reflect, plan and check facts in every reply, then act: the paper's agent.

    Args:
        retrieval: Keep a log of all steps, and show the relevant part of it.
        plan: Write the whole plan and its status in every reply.
        fact_check: Say for each new claim whether an observation confirms it.
        reflection: Say what the last observation means.
        steps_in_context: The number of recent steps that the model sees.
        max_reply_tokens: The most tokens of one reply.
        actions: The actions to offer, by name; by default the paper's.
    """
    return _agent(
        "research",
        reflection=reflection,
        plan=plan,
        fact_check=fact_check,
        thought=True,
        retrieval=retrieval,
        steps_in_context=steps_in_context,
        max_reply_tokens=max_reply_tokens,
    )


def _agent(name: str, **values: Json) -> Solver:
    settings = make_settings(name, Settings, values)

    async def loop(environment: Environment) -> None:
        await ResearchAgent(environment, settings).act()

    return as_solver(loop)


def _short_agent(name: str, description: str, thought: bool) -> Callable[..., Solver]:
    """An agent whose replies have at most a thought before the action."""

    def build(
        steps_in_context: int = STEPS_IN_CONTEXT,
        max_reply_tokens: int = MAX_REPLY_TOKENS,
        actions: list[str] | None = None,  # noqa: ARG001 (the Environment offers these already)
    ) -> Solver:
        return _agent(
            name,
            thought=thought,
            steps_in_context=steps_in_context,
            max_reply_tokens=max_reply_tokens,
        )

    function = name.replace("-", "_")
    build.__name__ = build.__qualname__ = function
    build.__doc__ = f"{description}\n\n{_SHORT_AGENT_SETTINGS}"
    return solver(name=function)(build)


_SHORT_AGENT_SETTINGS = """Args:
    steps_in_context: The number of recent steps that the model sees.
    max_reply_tokens: The most tokens of one reply.
    actions: The actions to offer, by name; by default the paper's.
"""
react_text = _short_agent("react-text", "Think, then act: the paper's ReAct agent.", thought=True)
act = _short_agent("act", "Act without any text: the paper's plain agent.", thought=False)


class ResearchAgent:
    """One run of the agent."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self._environment = environment
        self._settings = settings
        self._recall = Recall(environment.models, settings.max_reply_tokens)
        self._shown: dict[int, str] = {}
        """Each step as the model sees it."""

    async def act(self) -> None:
        """Ask and act until the run is over."""
        for step in self._steps_perhaps_not_logged():
            await self._log(step)
        while (end := self._environment.ended) is None:
            try:
                reply = await self._next_reply()
            except ReplyError as error:
                await self._count_lost_step(error)
            else:
                await self._environment.execute(reply.action)
                await self._log(self._environment.steps[-1])
        raise end

    # Asking

    async def _next_reply(self) -> ParsedReply:
        """The next reply; raises ReplyError when all attempts were unreadable."""
        asked = first = await self._prompt()
        problem = ReplyError()
        for _ in range(1 + RETRIES):
            line = await self._recall.ask(asked)
            try:
                reply = parse_reply(line.reply, self._settings.fields)
            except ReplyError as error:
                problem = self._explained(error, line)
                self._environment.models.note_unreadable(line, problem.form, str(error))
                asked = f"{first}\n\n{self._reminder(problem)}"
            else:
                self._note_fabrication(reply)
                return reply
        raise problem

    async def _prompt(self) -> str:
        steps = [await self._step_text(step) for step in self._recent()]
        log = await self._relevant_log()
        so_far = [prompt("agents/research_log_part", log=log)] if log else []
        specs = self._environment.actions.specs.values()
        rules = "agents/research_rules"
        return self._with_format(
            "agents/research",
            rules=prompt(rules if self._environment.can_execute else f"{rules}_no_execution"),
            problem=self._environment.problem.strip(),
            actions="\n".join(map(_usage, specs)),
            so_far="\n\n".join([*so_far, *steps]) or prompt("agents/research_first_step"),
        )

    def _with_format(self, name: str, **values: object) -> str:
        """A prompt that describes the format of a reply."""
        fields = (*self._settings.fields, ACTION, ACTION_INPUT)
        meanings = "\n".join(f"{field}: {prompt(MEANINGS[field])}" for field in fields)
        return prompt(name, format=meanings, first=fields[0], last=fields[-1], **values)

    def _reminder(self, problem: ReplyError) -> str:
        specs = list(self._environment.actions.specs.values())
        simplest = min(specs, key=lambda spec: len(_required(spec)))
        arguments = simplest.example() if _required(simplest) else "{}"
        example = f"{ACTION}: {simplest.name}\n{ACTION_INPUT}: {arguments}"
        return self._with_format("agents/research_reminder", problem=problem, example=example)

    def _explained(self, error: ReplyError, line: ReplyLine) -> ReplyError:
        if line.stop_reason != "max_tokens":
            return error
        most = self._settings.max_reply_tokens
        said = f"{error} It was cut off after {most} tokens: write less at once."
        return ReplyError(said, "cut off")

    def _note_fabrication(self, reply: ParsedReply) -> None:
        if reply.fabricated:
            text = clipped(reply.cut_off, MAX_FABRICATED)
            self._environment.note(f"the model fabricated an observation: {text}")

    async def _count_lost_step(self, error: ReplyError) -> None:
        text = f"Nothing was done: {1 + RETRIES} replies in a row could not be read. {error}"
        await self._environment.note_step(UNUSABLE_REPLY, Observation(text=text, status="error"))

    # Remembering

    def _recent(self) -> list[Step]:
        """The last steps; malformed ones are dropped as soon as a well-formed one follows."""
        steps = self._environment.steps
        well_formed = [step.n for step in steps if not self._is_malformed(step)]
        last = well_formed[-1] if well_formed else 0
        recent = [step for step in steps if step.n > last or step.n in well_formed]
        return recent[-self._settings.steps_in_context :]

    def _is_malformed(self, step: Step) -> bool:
        if step.action == UNUSABLE_REPLY:
            return True
        try:
            self._environment.actions.find(step.action.name).check(step.action.arguments)
        except ActionError:
            return True
        return False

    def _reply_of(self, step: Step) -> ParsedReply | None:
        """The reply that led to a step; None for steps of another agent."""
        replies = self._environment.models.replies
        lines = [line for line in replies if line.step == step.n and line.role == MAIN]
        try:
            return parse_reply(lines[-1].reply, self._settings.fields) if lines else None
        except ReplyError:
            return None

    async def _step_text(self, step: Step) -> str:
        """A step as the model sees it: its reply and its observation."""
        if step.n not in self._shown:
            reply = self._reply_of(step) or ParsedReply(texts={}, action=step.action)
            said = "" if step.action == UNUSABLE_REPLY else f"{reply.as_text()}\n"
            observed = await self._observed(step)
            self._shown[step.n] = f"{said}{OBSERVATION}:\n```\n{observed}\n```"
        return self._shown[step.n]

    async def _observed(self, step: Step) -> str:
        text = step.observation.text.strip()
        if len(text) <= LONG_OBSERVATION:
            return text
        question = prompt("agents/research_observation", action=step.action.name)
        asked = summarise_long(self._recall.at(step.n + 1), text, question)
        return await self._ask_fast(asked, otherwise=clipped(text, LONG_OBSERVATION))

    async def _ask_fast(self, asked: Awaitable[str], otherwise: str) -> str:
        """The fast model's answer, or a substitute when it cannot or will not answer."""
        try:
            return await asked or otherwise
        except (ContextOverflow, ModelRefused) as end:
            self._environment.note(f"the agent continues without the fast model's help: {end}")
            return otherwise

    # The research log

    def _steps_perhaps_not_logged(self) -> list[Step]:
        """The steps whose log entries an interruption may have undone with the workspace.

        An entry is written after its step's snapshot, so only the next snapshot has it.
        """
        steps = self._environment.steps
        first = len(steps) - 1
        while first > 0 and steps[first].observation.status == "interrupted":
            first -= 1
        return steps[max(first, 0) :]

    async def _log(self, step: Step) -> None:
        """Add an entry for a step to the log, unless it will not be read any more."""
        needed = self._settings.retrieval and self._environment.ended is None
        if not needed or self._is_malformed(step):
            return
        log = self._log_at(step.n + 1)
        entry = await self._ask_fast(log.condense(await self._step_text(step)), otherwise="")
        if entry in await log.read():
            return
        try:
            await log.append(entry)
        except ActionError as error:
            self._environment.note(f"the research log lacks step {step.n}: {error}")

    async def _relevant_log(self) -> str:
        """The relevant part of the log, once there are more steps than the model sees."""
        step = self._environment.models.step
        if not self._settings.retrieval or step <= self._settings.steps_in_context:
            return ""
        replies = filter(None, map(self._reply_of, reversed(self._environment.steps)))
        last = next(replies, None)
        plan = "" if last is None else last.texts.get(PLAN) or last.as_text()
        return await self._ask_fast(self._log_at(step).retrieve(plan), otherwise="")

    def _log_at(self, step: int) -> ResearchLog:
        return ResearchLog(self._recall.at(step), self._environment.sandbox)


def _usage(spec: ActionSpec) -> str:
    """An action as listed in the prompt."""
    optional = [name for name in spec.arguments.model_fields if name not in _required(spec)]
    remark = f"\n  ({', '.join(optional)} may be left out)" if optional else ""
    return f"- {spec.name}: {spec.description}\n  {ACTION_INPUT}: {spec.example()}{remark}"


def _required(spec: ActionSpec) -> list[str]:
    return [name for name, info in spec.arguments.model_fields.items() if info.is_required()]
