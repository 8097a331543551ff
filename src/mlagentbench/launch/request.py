"""The settings of a run, read from the command line and checked before anything starts."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.records import BudgetLimits, Json, Record, Tier
from mlagentbench.tasks.data.preparation import MiniSeed
from mlagentbench.tasks.spec import TaskSpec, parse_seconds

PAPER_RUNS = 8
PAPER_STEPS = 50
PAPER_SECONDS = 5 * 3600.0

Protocol = Literal["ours", "paper"]
SandboxName = Literal["bubblewrap", "local"]


def _duration(value: object) -> object:
    """Seconds, or a text like 30m."""
    return parse_seconds(value) if isinstance(value, str) else value


def _feedback(value: str) -> str:
    if re.fullmatch(r"none|validation:[1-9]\d*", value) is None:
        raise ValueError("expected none or validation:N, e.g. validation:10")
    return value


class RunSettings(Record):
    """The settings of a run besides task, agent and model."""

    tier: Tier = "mini"
    mini_seed: MiniSeed = "public"
    feedback: Annotated[str, AfterValidator(_feedback)] = "none"
    protocol: Protocol = "ours"
    sandbox: SandboxName = "bubblewrap"
    max_steps: Annotated[int, Field(gt=0)] | None = None
    max_time: Annotated[float, BeforeValidator(_duration), Field(gt=0)] | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    max_cost: Annotated[float, Field(gt=0)] | None = None
    interactive: bool = False
    continues: str | None = None
    """The path below OUT of the run to resume; None to find it by its settings."""

    def limits(self, spec: TaskSpec) -> BudgetLimits:
        """The limits from the settings, else the paper's or the task's."""
        paper = self.protocol == "paper"
        steps = self.max_steps or (PAPER_STEPS if paper else spec.limits.steps)
        seconds = self.max_time or (PAPER_SECONDS if paper else spec.limits.time)
        return BudgetLimits(steps=steps, time=seconds, tokens=self.max_tokens, cost=self.max_cost)

    def feedback_calls(self) -> int:
        """How often Validate Submission may report the metric."""
        return 0 if self.feedback == "none" else int(self.feedback.removeprefix("validation:"))


def read_settings(values: Mapping[str, Json], option_of: Callable[[str], str]) -> RunSettings:
    """Check settings from the command line; `option_of` gives the option of a setting."""
    try:
        return RunSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        option = option_of(str(first["loc"][0]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(RunSettings.model_fields)
            raise UsageError(f"{option}: unknown setting; settings are: {known}") from error
        reason = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
        raise UsageError(f"{option} {first['input']}: {reason}") from error


class AgentChoice(Record):
    """An agent with its settings, as in `research(retrieval=false)`."""

    name: str
    settings: dict[str, Json] = {}


def parse_agents(text: str) -> list[AgentChoice]:
    """Read `baseline,research(retrieval=false, steps=3)`."""
    choices = []
    for part in split_list(text):
        match = re.fullmatch(r"([^()]+?)\s*(?:\((.*)\))?", part, flags=re.DOTALL)
        if match is None:
            raise UsageError(f"--agents: {part!r} is not of the form name or name(key=value, ...)")
        settings = dict(
            parse_setting(item, f"--agents: in {part!r},") for item in split_list(match[2] or "")
        )
        choices.append(AgentChoice(name=match[1], settings=settings))
    return choices


def split_list(text: str) -> list[str]:
    """The parts between commas, where a comma within brackets or quotes does not count."""
    parts = re.findall(r"""(?:\([^()]*\)|\[[^\[\]]*\]|"[^"]*"|'[^']*'|[^,])+""", text)
    return [part.strip() for part in parts if part.strip()]


def parse_setting(item: str, where: str) -> tuple[str, Json]:
    """Read `KEY=VALUE`, a setting of an agent; `where` begins the error message."""
    key, sign, value = item.partition("=")
    if not sign or not key.strip().isidentifier():
        raise UsageError(f"{where} {item!r} is not of the form key=value")
    try:
        return key.strip(), json.loads(value)
    except json.JSONDecodeError:
        return key.strip(), value.strip().strip("\"'")
