"""How commands behave: short help, Ctrl-C, and an answer to a command that does not exist."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from mlagentbench.cli.generated_options import (
    generated_params,
    insert_params,
    take_generated_values,
)
from mlagentbench.errors import UsageError

RENAMED = {
    "baseline": "tasks measure",
    "branch": "runs branch",
    "check": "tasks check",
    "check-sandbox": "doctor --sandbox",
    "diff": "runs diff",
    "gc": "runs gc",
    "import-legacy": "runs import",
    "prepare": "tasks prepare",
    "record": "runs record",
    "relay": "agents relay",
    "replay": "runs replay",
    "score": "runs regrade",
    "show": "runs show",
    "version": "--version",
}
"""Commands of earlier versions, and what to run instead."""
RENAMED_OPTIONS = {"--mini-seed": "--draw"}
"""Options of earlier versions, by their names now."""


def _without_types(params: list[Any]) -> list[Any]:
    """Help names no type of a flag, which has no value, nor of an argument, whose name says it."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
        elif param.param_type_name == "argument":
            param.display_type_rich = lambda **_: None
    return params


class Verb(TyperCommand):
    """A command; its docstring is its help and ends with examples."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types(insert_params(super().get_params(ctx), self._generated))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        for word in args:
            option = word.partition("=")[0]
            if option in RENAMED_OPTIONS:
                see = f"see: {ctx.command_path} --help"
                raise UsageError(f"`{option}` is now `{RENAMED_OPTIONS[option]}` ({see})")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        take_generated_values(ctx, self._generated)
        return super().invoke(ctx)

    @cached_property
    def _generated(self) -> list[Any]:
        return generated_params(self)


class VerbGroup(TyperGroup):
    """Commands that can be stopped, and that say what to run instead of one that is not there."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from mlagentbench.terminal import complain, say

            say("")
            complain("stopped; to resume, run the same command again")
            raise typer.Exit(130) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word in self.commands or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        group = "" if ctx.parent is None else f"{ctx.info_name} "
        if not group and word in RENAMED:
            raise UsageError(f"`{word}` is now `{RENAMED[word]}`")
        if group == "agents " and _is_agent(word):
            raise UsageError(f"`agents {word}` is now `agents show {word}`")
        near = _nearest(word, ctx.find_root().command, group)
        hint = f"did you mean {' or '.join(f'`{path}`' for path in near)}?"
        if not near:
            hint = f"known: {', '.join(self.commands)}"
        see = f"see: {ctx.command_path} --help"
        raise UsageError(f"unknown command `{group}{word}`; {hint} ({see})")


def new_group(help_text: str, verbs: Mapping[str, Callable[..., None]]) -> typer.Typer:
    """A group of commands by name, in the order in which its help lists them."""
    group = typer.Typer(cls=VerbGroup, help=help_text, no_args_is_help=True)
    for name, function in verbs.items():
        group.command(name, cls=Verb)(function)
    return group


def _is_agent(word: str) -> bool:
    from mlagentbench.agents.registry import AGENTS

    return word in AGENTS


def command_paths(group: TyperGroup, before: str = "") -> Iterator[str]:
    """Every command as it is typed, e.g. `run` and `tasks list`."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from command_paths(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def _nearest(word: str, root: TyperGroup, group: str) -> list[str]:
    """The commands that a person may have meant, those of the same group before others."""
    meanings: dict[str, list[str]] = {}
    for path in command_paths(root):
        meanings.setdefault(path.rpartition(" ")[2], []).append(path)
    for old, new in RENAMED.items():
        meanings.setdefault(old, []).append(new)
    for name, command in root.commands.items():
        if isinstance(command, TyperGroup):
            meanings.setdefault(name, []).append(name)
    words = [word] if word in meanings else get_close_matches(word, meanings, n=2, cutoff=0.65)
    found = list(dict.fromkeys(path for one in words for path in meanings[one]))
    return [path for path in found if group and path.startswith(group)] or found
