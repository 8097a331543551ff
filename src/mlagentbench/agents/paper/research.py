"""The paper's agents, which write their actions as text: one loop, three sets of fields.

`research` reflects, plans and checks facts before it acts, `react_text` only thinks, `act` only
acts. Each prompt holds the problem, the actions, the format of a reply and the last few steps; with
`retrieval`, also what the fast model finds in a log that it keeps of all steps.

What the agent knows follows from the run's steps and replies alone, so that a run that was
interrupted goes on with the prompt that it would have had. It is not told its budget.
"""

from collections.abc import Awaitable
from typing import Annotated

from inspect_ai.solver import Solver, solver
from pydantic import ConfigDict, Field, ValidationError

from mlagentbench.agents.paper.text_protocol import (
    ACTION,
    ACTION_INPUT,
    OBSERVATION,
    ParsedReply,
    ReplyError,
    parse_reply,
)
from mlagentbench.agents.recall import Recall
from mlagentbench.agents.runner import UNUSABLE_REPLY, as_solver
from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.asking import MAIN
from mlagentbench.environment.chunked_text import clipped, summarise_long
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.research_log import ResearchLog
from mlagentbench.errors import ActionError, ContextOverflow, ModelRefused, UsageError
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
"""For each field, the prompt that says what stands in it."""

STEPS_IN_CONTEXT = 3
MAX_REPLY_TOKENS = 4096
RETRIES = 5
"""How often the model is reminded of the fields before a step is lost."""
LONG_OBSERVATION = 5_000
"""Characters of the longest observation that the model sees as it is."""
SHOWN_MADE_UP = 300
"""Characters of a made-up observation that the journal notes."""


class Settings(Record):
    """How the agent works: which fields its replies have, and what it remembers."""

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
        retrieval: Keep a log of all steps, and show what of it matters now.
        plan: Write down the whole plan, and what of it is done, in every reply.
        fact_check: Say of each new claim whether an observation confirms it.
        reflection: Say what the last observation means.
        steps_in_context: How many of the last steps the model sees.
        max_reply_tokens: Tokens of the longest reply.
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


@solver
def react_text(
    steps_in_context: int = STEPS_IN_CONTEXT,
    max_reply_tokens: int = MAX_REPLY_TOKENS,
    actions: list[str] | None = None,  # noqa: ARG001 (the Environment offers these already)
) -> Solver:
    """Think, then act: the paper's ReAct agent.

    Args:
        steps_in_context: How many of the last steps the model sees.
        max_reply_tokens: Tokens of the longest reply.
        actions: The actions to offer, by name; by default the paper's.
    """
    return _agent(
        "react-text",
        thought=True,
        steps_in_context=steps_in_context,
        max_reply_tokens=max_reply_tokens,
    )


@solver
def act(
    steps_in_context: int = STEPS_IN_CONTEXT,
    max_reply_tokens: int = MAX_REPLY_TOKENS,
    actions: list[str] | None = None,  # noqa: ARG001 (the Environment offers these already)
) -> Solver:
    """Act and say nothing else: the paper's plain agent.

    Args:
        steps_in_context: How many of the last steps the model sees.
        max_reply_tokens: Tokens of the longest reply.
        actions: The actions to offer, by name; by default the paper's.
    """
    return _agent("act", steps_in_context=steps_in_context, max_reply_tokens=max_reply_tokens)


def _agent(name: str, **values: Json) -> Solver:
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        reason = first["msg"].replace("Input should", "it should")
        raise UsageError(
            f"agent {name}: {first['loc'][0]}={first['input']!r}: {reason}; "
            f"see: mlagentbench agents show {name}"
        ) from error

    async def loop(environment: Environment) -> None:
        await ResearchAgent(environment, settings).act()

    return as_solver(loop)


class ResearchAgent:
    """One run of the agent."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self._environment = environment
        self._settings = settings
        self._recall = Recall(environment.models, settings.max_reply_tokens)
        self._shown: dict[int, str] = {}
        """What the model sees of each step."""

    async def act(self) -> None:
        """Ask and act until the run is over; nothing is asked that could not be acted on."""
        for step in self._perhaps_not_in_the_log():
            await self._log(step)
        while (end := self._environment.ended) is None:
            try:
                reply = await self._next_reply()
            except ReplyError as error:
                await self._lose_a_step(error)
            else:
                await self._environment.execute(reply.action)
                await self._log(self._environment.steps[-1])
        raise end

    # Asking

    async def _next_reply(self) -> ParsedReply:
        """What to do next; ReplyError when the model cannot say it in all its tries."""
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
                self._note_what_was_made_up(reply)
                return reply
        raise problem

    async def _prompt(self) -> str:
        steps = [await self._in_words(step) for step in self._recent()]
        log = await self._from_the_log()
        so_far = [prompt("agents/research_log_part", log=log)] if log else []
        specs = self._environment.actions.specs.values()
        return self._with_format(
            "agents/research",
            problem=self._environment.problem.strip(),
            actions="\n".join(map(_usage, specs)),
            so_far="\n\n".join([*so_far, *steps]) or prompt("agents/research_first_step"),
        )

    def _with_format(self, name: str, **values: object) -> str:
        """A prompt that says what a reply looks like."""
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

    def _note_what_was_made_up(self, reply: ParsedReply) -> None:
        if reply.made_up:
            shown = clipped(reply.cut_off, SHOWN_MADE_UP)
            self._environment.note(f"the model made up an observation: {shown}")

    async def _lose_a_step(self, error: ReplyError) -> None:
        text = f"Nothing was done: {1 + RETRIES} replies in a row could not be read. {error}"
        await self._environment.note_step(UNUSABLE_REPLY, Observation(text=text, status="error"))

    # Remembering

    def _recent(self) -> list[Step]:
        """The last steps; those that the model got wrong in form, only until one is right."""
        steps = self._environment.steps
        right = [step.n for step in steps if not self._is_malformed(step)]
        last_right = right[-1] if right else 0
        kept = [step for step in steps if step.n > last_right or step.n in right]
        return kept[-self._settings.steps_in_context :]

    def _is_malformed(self, step: Step) -> bool:
        if step.action == UNUSABLE_REPLY:
            return True
        try:
            self._environment.actions.find(step.action.name).check(step.action.arguments)
        except ActionError:
            return True
        return False

    def _reply_of(self, step: Step) -> ParsedReply | None:
        """The reply that led to a step; there is none for what another agent did."""
        replies = self._environment.models.replies
        own = [line for line in replies if line.step == step.n and line.role == MAIN]
        try:
            return parse_reply(own[-1].reply, self._settings.fields) if own else None
        except ReplyError:
            return None

    async def _in_words(self, step: Step) -> str:
        """A step as the model sees it: its reply, and what was observed."""
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
        return await self._helped(asked, otherwise=clipped(text, LONG_OBSERVATION))

    async def _helped(self, asked: Awaitable[str], otherwise: str) -> str:
        """What the fast model says, or something else when it cannot or will not answer."""
        try:
            return await asked or otherwise
        except (ContextOverflow, ModelRefused) as end:
            self._environment.note(f"the agent goes on without the fast model's help: {end}")
            return otherwise

    # The research log

    def _perhaps_not_in_the_log(self) -> list[Step]:
        """The steps whose entries an interruption may have taken back with the workspace.

        An entry is written after its step's snapshot, and is only safe with the next one.
        """
        steps = self._environment.steps
        first = len(steps) - 1
        while first > 0 and steps[first].observation.status == "interrupted":
            first -= 1
        return steps[max(first, 0) :]

    async def _log(self, step: Step) -> None:
        """Have the log hold an entry for a step, as long as somebody will read it."""
        needed = self._settings.retrieval and self._environment.ended is None
        if not needed or self._is_malformed(step):
            return
        log = self._log_at(step.n + 1)
        entry = await self._helped(log.condense(await self._in_words(step)), otherwise="")
        if entry in await log.read():
            return
        try:
            await log.append(entry)
        except ActionError as error:
            self._environment.note(f"the research log lacks step {step.n}: {error}")

    async def _from_the_log(self) -> str:
        """What the log says that matters now, once there are more steps than the model sees."""
        step = self._environment.models.step
        if not self._settings.retrieval or step <= self._settings.steps_in_context:
            return ""
        replies = filter(None, map(self._reply_of, reversed(self._environment.steps)))
        last = next(replies, None)
        plan = "" if last is None else last.texts.get(PLAN) or last.as_text()
        return await self._helped(self._log_at(step).retrieve(plan), otherwise="")

    def _log_at(self, step: int) -> ResearchLog:
        return ResearchLog(self._recall.at(step), self._environment.sandbox)


def _usage(spec: ActionSpec) -> str:
    """An action as the prompt lists it."""
    optional = [name for name in spec.arguments.model_fields if name not in _required(spec)]
    remark = f"\n  ({', '.join(optional)} may be left out)" if optional else ""
    return f"- {spec.name}: {spec.description}\n  {ACTION_INPUT}: {spec.example()}{remark}"


def _required(spec: ActionSpec) -> list[str]:
    return [name for name, info in spec.arguments.model_fields.items() if info.is_required()]
