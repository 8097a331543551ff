"""The agents by name: where each is, and what a person should know before choosing it."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mlagentbench.environment.actions.sets import ActionSet
from mlagentbench.errors import UsageError
from mlagentbench.records import Json, Record
from mlagentbench.tasks.python_env.env import NOTHING_ADDED, AddedPackages

if TYPE_CHECKING:
    from inspect_ai.solver import Solver


class AgentInfo(Record):
    """An agent of ours: where it is, and what a person should know before choosing it."""

    name: str
    module: str
    description: str
    needs_model: bool | None = True
    """None: it may use one."""
    roles: tuple[str, ...] = ()
    """The roles that it asks beside the main model."""
    actions: ActionSet = "standard"
    """What it may do, unless its setting `actions` names other actions."""
    package: str | None = None
    """A package that it needs and the base install does not have, in the extra of its name."""
    lives_inside: bool = False
    """Its own programs run inside the sandbox, and reach their model there."""
    packages: AddedPackages = NOTHING_ADDED
    """What these programs need beside the task's own packages."""

    @property
    def function(self) -> str:
        """The name of its solver, in its module and for Inspect."""
        return self.name.replace("-", "_")

    def solver(self, **settings: object) -> "Solver":
        """The agent as an Inspect solver; a wrong setting is a UsageError."""
        self._require_package()
        function = getattr(import_module(self.module), self.function)
        try:
            return function(**settings)  # type: ignore[no-any-return]
        except TypeError as error:
            raise UsageError(
                f"agent {self.name}: {error}; see: mlagentbench agents show {self.name}"
            ) from error

    def added_packages(self, settings: Mapping[str, Json]) -> AddedPackages:
        """What it adds to a task's python environment; its setting `requirements` names more."""
        named = (*self.packages.requirements, *(settings.get("requirements") or ()))
        return self.packages.model_copy(update={"requirements": named})

    def _require_package(self) -> None:
        if self.package is not None and find_spec(self.package) is None:
            raise UsageError(
                f"agent {self.name} needs the package {self.package}: "
                f"pip install 'mlagentbench[{self.name}]'"
            )


ASSISTED = ("edit", "fast")
AIDE = AddedPackages(
    requirements=(
        "anthropic", "backoff", "black", "coolname", "dataclasses-json", "funcy", "genson",
        "humanize", "igraph", "jsonschema", "numpy", "omegaconf", "openai", "pandas", "rich",
        "shutup",
    ),
    without_dependencies=("aideml==0.2.2",),
    removed=("aide/example_tasks",),
)  # fmt: skip
"""AIDE pins old versions of much that a task needs, so only what it really imports comes with it.

Its examples hold the labelled data of house-price.
"""
AGENTS = {
    info.name: info
    for info in (
        AgentInfo(
            name="baseline",
            module="mlagentbench.agents.scripted",
            needs_model=False,
            description="runs the starter as it is and submits",
        ),
        AgentInfo(
            name="nop",
            module="mlagentbench.agents.scripted",
            needs_model=False,
            description="submits at once",
        ),
        AgentInfo(
            name="oracle",
            module="mlagentbench.agents.scripted",
            needs_model=False,
            description="applies the task's own solution, runs it and submits",
        ),
        AgentInfo(
            name="research",
            module="mlagentbench.agents.paper.research",
            roles=ASSISTED,
            actions="paper",
            description="the paper's agent: reflects, plans, checks facts, then acts, in text",
        ),
        AgentInfo(
            name="act",
            module="mlagentbench.agents.paper.research",
            roles=ASSISTED,
            actions="paper",
            description="the paper's plain agent: an action and nothing else, in text",
        ),
        AgentInfo(
            name="react-text",
            module="mlagentbench.agents.paper.research",
            roles=ASSISTED,
            actions="paper",
            description="the paper's ReAct agent: a thought, then an action, in text",
        ),
        AgentInfo(
            name="react",
            module="mlagentbench.agents.react",
            roles=("fast",),
            description="thinks and acts by native tool calls; hands in the best it has found",
        ),
        AgentInfo(
            name="tree",
            module="mlagentbench.agents.tree_search.search",
            description="searches over whole solutions: drafts, debugs and improves them",
        ),
        AgentInfo(
            name="autogpt",
            module="mlagentbench.agents.paper.autogpt",
            roles=ASSISTED,
            actions="paper",
            description="AutoGPT's loop: thoughts, plan, criticism and a command, as JSON",
        ),
        AgentInfo(
            name="langchain",
            module="mlagentbench.agents.paper.langchain",
            package="langchain",
            description="LangChain's own agent with our actions as its tools",
        ),
        AgentInfo(
            name="aide",
            module="mlagentbench.agents.external.aide",
            actions="none",
            package="openai",
            lives_inside=True,
            packages=AIDE,
            description="AIDE itself, inside the sandbox",
        ),
        AgentInfo(
            name="external",
            module="mlagentbench.agents.external.external",
            actions="none",
            package="openai",
            lives_inside=True,
            description="any command-line agent, inside the sandbox",
        ),
    )
}


def find_agent(name: str) -> AgentInfo:
    if name in AGENTS:
        return AGENTS[name]
    near = difflib.get_close_matches(name, AGENTS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(AGENTS))}"
    raise UsageError(f"unknown agent {name!r}; {hint} (see: mlagentbench agents list)")
