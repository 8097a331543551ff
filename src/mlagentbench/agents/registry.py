"""The built-in agents by name, with their modules and requirements."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from mlagentbench.environment.actions.action_sets import ActionSet
from mlagentbench.errors import UsageError
from mlagentbench.records import Json, Record, Tier, reason_of
from mlagentbench.tasks.python_env.env import NOTHING_ADDED, AddedPackages

if TYPE_CHECKING:
    from inspect_ai.solver import Solver


R = TypeVar("R", bound=Record)


class AgentInfo(Record):
    """An agent: its module, and what a user should know before choosing it."""

    name: str
    module: str
    description: str
    needs_model: bool | None = True
    """None: it may use a model."""
    roles: tuple[str, ...] = ()
    """The model roles that it uses besides the main model."""
    actions: ActionSet = "standard"
    """Its actions, unless its setting `actions` names others."""
    settings: tuple[str, ...] = ()
    """The parameters of its solver, so that listing agents need not load them."""
    replies_per_step: int | None = None
    """How often it asks its main model for one action at most, unless its setting `retries` says
    otherwise; None if that is not bounded."""
    spare_replies: int = 0
    """How often it asks beyond that in a run."""
    package: str | None = None
    """A package that it needs, which the extra of its name installs."""
    tiers: tuple[Tier, ...] = ("mini", "hard", "full")
    """Where it can run."""
    needs_execution: str | None = None
    """What it executes by itself, for which --no-execution refuses it; None if it only acts."""
    in_sandbox: bool = False
    """Whether its programs run in the sandbox and reach their model there."""
    packages: AddedPackages = NOTHING_ADDED
    """The packages that these programs need besides the task's."""

    @property
    def function(self) -> str:
        """The name of its solver, in its module and for Inspect."""
        return self.name.replace("-", "_")

    def solver(self, **settings: object) -> "Solver":
        """The agent as an Inspect solver; raises UsageError for a wrong setting."""
        self._require_package()
        function = getattr(import_module(self.module), self.function)
        try:
            return function(**settings)  # type: ignore[no-any-return]
        except TypeError as error:
            raise UsageError(
                f"agent {self.name}: {error}; see: mlagentbench agents show {self.name}"
            ) from error

    def added_packages(self, settings: Mapping[str, Json]) -> AddedPackages:
        """What it adds to a task's virtual environment, including its setting `requirements`."""
        named = (*self.packages.requirements, *(settings.get("requirements") or ()))
        return self.packages.model_copy(update={"requirements": named})

    def _require_package(self) -> None:
        if self.package is not None and find_spec(self.package) is None:
            raise UsageError(
                f"agent {self.name} needs the package {self.package}: "
                f"pip install 'mlagentbench[{self.name}]'"
            )


PAPER_SETTINGS = ("steps_in_context", "max_reply_tokens", "actions")
PAPER: dict[str, Any] = {"roles": ("edit", "fast"), "actions": "paper", "replies_per_step": 6}
IN_SANDBOX: dict[str, Any] = {
    "actions": "none",
    "package": "openai",
    "in_sandbox": True,
    "needs_execution": "its own program runs in the sandbox",
}
AIDE = AddedPackages(
    requirements=(
        *("anthropic", "backoff", "black", "coolname", "dataclasses-json", "funcy", "genson"),
        *("humanize", "igraph", "jsonschema", "numpy", "omegaconf", "openai", "pandas", "rich"),
        "shutup",
    ),
    without_dependencies=("aideml==0.2.2",),
    removed=("aide/example_tasks",),
)
"""AIDE pins old versions of packages that tasks need, so only its actual imports are installed.

Its examples contain the labelled data of house-price.
"""


def _agent(name: str, module: str, description: str, **more: Any) -> AgentInfo:
    module = f"mlagentbench.agents.{module}"
    return AgentInfo(name=name, module=module, description=description, **more)


_ALL = (
    _agent("baseline", "scripted", "runs the unchanged starter and submits", needs_model=False),
    _agent("nop", "scripted", "submits immediately", needs_model=False),
    _agent(
        "default",
        "scripted",
        "runs the best of what people write first, and submits",
        needs_model=False,
        tiers=("hard",),
    ),
    _agent(
        "oracle", "scripted", "applies the task's solution, runs it and submits", needs_model=False
    ),
    _agent(
        "research",
        "paper.research",
        "the paper's agent: reflects, plans, checks facts, then acts, in text",
        settings=("retrieval", "plan", "fact_check", "reflection", *PAPER_SETTINGS),
        **PAPER,
    ),
    _agent(
        "act",
        "paper.research",
        "the paper's plain agent: only an action, in text",
        settings=PAPER_SETTINGS,
        **PAPER,
    ),
    _agent(
        "react-text",
        "paper.research",
        "the paper's ReAct agent: a thought, then an action, in text",
        settings=PAPER_SETTINGS,
        **PAPER,
    ),
    _agent(
        "react",
        "react",
        "thinks and acts by native tool calls; submits its best result",
        roles=("fast",),
        settings=("context_tokens", "actions"),
    ),
    _agent(
        "tree",
        "tree_search.search",
        "searches over complete solutions: drafts, debugs and improves them",
        needs_execution="it chooses among solutions by running them",
        settings=("drafts", "debug_depth", "policy", "node_share", "final_share", "ensemble"),
    ),
    _agent(
        "autogpt",
        "paper.autogpt",
        "AutoGPT's loop: thoughts, plan, criticism and a command, as JSON",
        settings=("memory_tokens", "relevant", "retries", "actions"),
        **PAPER,
    ),
    _agent(
        "langchain",
        "paper.langchain",
        "LangChain's agent with MLAgentBench's actions as its tools",
        settings=("actions",),
        package="langchain",
        replies_per_step=1,
        spare_replies=5,
    ),
    _agent(
        "aide",
        "external.aide",
        "AIDE, in the sandbox",
        settings=("steps", "num_drafts", "max_debug_depth", "k_fold_validation", "data_preview"),
        packages=AIDE,
        **IN_SANDBOX,
    ),
    _agent(
        "external",
        "external.external",
        "any command-line agent, in the sandbox",
        settings=("command", "files", "requirements"),
        **IN_SANDBOX,
    ),
)
AGENTS = {info.name: info for info in _ALL}


def make_settings(agent: str, kind: type[R], values: Mapping[str, Json]) -> R:
    """The settings of an agent as a record; raises UsageError for a wrong value."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"agent {agent}: {first['loc'][0]}={first['input']!r}: {reason_of(first)}; "
            f"see: mlagentbench agents show {agent}"
        ) from error


def find_agent(name: str) -> AgentInfo:
    """The built-in agent of that name; raises UsageError with the known names."""
    if name in AGENTS:
        return AGENTS[name]
    near = difflib.get_close_matches(name, AGENTS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(AGENTS))}"
    raise UsageError(f"unknown agent {name!r}; {hint} (see: mlagentbench agents list)")
