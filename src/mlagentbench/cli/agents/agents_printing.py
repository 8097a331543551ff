"""`mlagentbench agents`: which agents there are, and what can be set of each."""

import inspect
import json
from importlib import import_module
from importlib.util import find_spec

from rich.console import Console

from mlagentbench.agents.registry import AGENTS, AgentInfo, find_agent
from mlagentbench.environment.actions.action import read_docstring
from mlagentbench.records import Json, Record


class Setting(Record):
    """What can be written in brackets behind an agent's name."""

    name: str
    default: Json
    meaning: str


class ListedAgent(Record):
    """An agent as a person sees it before choosing it."""

    name: str
    description: str
    needs_model: bool
    roles: tuple[str, ...]
    actions: str
    installed: bool
    settings: tuple[Setting, ...]


def print_agents(name: str | None, *, as_json: bool) -> None:
    """All agents with the names of their settings, or one with what its settings mean."""
    chosen = AGENTS.values() if name is None else [find_agent(name)]
    listed = [list_agent(info) for info in chosen]
    console = Console()
    if as_json:
        console.print_json(json.dumps([agent.model_dump(mode="json") for agent in listed]))
        return
    for agent in listed:
        _print(console, agent, whole=name is not None)


def list_agent(info: AgentInfo) -> ListedAgent:
    """What a person should know of an agent, its settings read from its own signature."""
    return ListedAgent(
        name=info.name,
        description=info.description,
        needs_model=bool(info.needs_model),
        roles=info.roles,
        actions=info.actions,
        installed=info.package is None or find_spec(info.package) is not None,
        settings=_settings(info),
    )


def _settings(info: AgentInfo) -> tuple[Setting, ...]:
    function = getattr(import_module(info.module), info.function)
    _, meanings = read_docstring(function)
    return tuple(
        Setting(
            name=parameter.name,
            default=None if parameter.default is parameter.empty else parameter.default,
            meaning=meanings.get(parameter.name, ""),
        )
        for parameter in inspect.signature(function).parameters.values()
    )


def _print(console: Console, agent: ListedAgent, *, whole: bool) -> None:
    needs = "needs a model" if agent.needs_model else "no model"
    if not agent.installed:
        needs += f"; not installed: pip install 'mlagentbench[{agent.name}]'"
    console.print(
        f"[bold]{agent.name}[/bold]  {agent.description} ({needs})", highlight=False, soft_wrap=True
    )
    if not whole:
        names = ", ".join(setting.name for setting in agent.settings)
        if names:
            console.print(f"    settings: {names}", highlight=False, soft_wrap=True)
        return
    if agent.roles:
        console.print(
            f"roles beside main: {', '.join(agent.roles)}", highlight=False, soft_wrap=True
        )
    for setting in agent.settings:
        default = json.dumps(setting.default)
        console.print(
            f"    {setting.name}={default}  {setting.meaning}", highlight=False, soft_wrap=True
        )
