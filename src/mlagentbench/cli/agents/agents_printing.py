"""What `mlagentbench agents list` and `agents show` print."""

import inspect
import json
from importlib import import_module
from importlib.util import find_spec

from mlagentbench.agents.registry import AGENTS, AgentInfo, find_agent
from mlagentbench.environment.actions.action import read_docstring
from mlagentbench.records import Json, Record
from mlagentbench.terminal import Terminal, print_json


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
    needs_execution: str | None
    """Why it is refused with --no-execution; None if it is not."""
    installed: bool
    settings: tuple[Setting, ...]


def print_agents(*, as_json: bool) -> None:
    """All agents with the names of their settings; their modules are not loaded for it."""
    if as_json:
        print_json([list_agent(info).model_dump(mode="json") for info in AGENTS.values()])
        return
    console = Terminal(soft_wrap=True)
    for info in AGENTS.values():
        _print_summary(console, info)
        if info.settings:
            console.print(f"    settings: {', '.join(info.settings)}")


def print_agent(name: str, *, as_json: bool) -> None:
    """One agent with what its settings mean; a UsageError when there is none of this name."""
    info = find_agent(name)
    agent = list_agent(info)
    if as_json:
        print_json(agent.model_dump(mode="json"))
        return
    console = Terminal(soft_wrap=True)
    _print_summary(console, info)
    if agent.roles:
        console.print(f"roles beside main: {', '.join(agent.roles)}")
    if agent.needs_execution is not None:
        console.print(f"not with --no-execution: {agent.needs_execution}")
    for setting in agent.settings:
        console.print(f"    {setting.name}={json.dumps(setting.default)}  {setting.meaning}")


def list_agent(info: AgentInfo) -> ListedAgent:
    """What a person should know of an agent, its settings read from its own signature."""
    return ListedAgent(
        name=info.name,
        description=info.description,
        needs_model=bool(info.needs_model),
        roles=info.roles,
        actions=info.actions,
        needs_execution=info.needs_execution,
        installed=_is_installed(info),
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


def _is_installed(info: AgentInfo) -> bool:
    return info.package is None or find_spec(info.package) is not None


def _print_summary(console: Terminal, info: AgentInfo) -> None:
    needs = "needs a model" if info.needs_model else "no model"
    if not _is_installed(info):
        needs += f"; not installed: pip install 'mlagentbench[{info.name}]'"
    console.print(info.name, style="bold", end="")
    console.print(f"  {info.description} ({needs})")
