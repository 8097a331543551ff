"""Options that are made from a registry when their command is used, not when it is defined.

So a package can add options, and the help of other commands waits for no package.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar

import typer

Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True)
class GeneratedOption:
    """An option; without a metavar it is a flag."""

    name: str
    """Of its value, such as max_steps for --max-steps."""
    help: str
    panel: str | None = None
    metavar: str | None = None


OptionSource = Callable[[], Iterable[GeneratedOption]]


def with_options(source: OptionSource) -> Callable[[Function], Function]:
    """Give a command these options; it reads them with `generated_values`."""

    def mark(function: Function) -> Function:
        vars(function)["option_source"] = source
        return function

    return mark


def generated_params(command: Any) -> list[Any]:
    """The options of a command that are made from a registry, as Typer represents options."""
    source: OptionSource | None = getattr(command.callback, "option_source", None)
    if source is None:
        return []

    def no_command() -> None: ...

    vars(no_command)["__signature__"] = Signature(list(map(_parameter, source())))
    app = typer.Typer(add_completion=False)
    app.command()(no_command)
    return list(typer.main.get_command(app).params)


def _parameter(option: GeneratedOption) -> Parameter:
    spelled = f"--{option.name.replace('_', '-')}"
    how = typer.Option(
        spelled, metavar=option.metavar, rich_help_panel=option.panel, help=option.help
    )
    kind, default = (bool, False) if option.metavar is None else (str | None, None)
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, how],
    )


def insert_params(params: list[Any], generated: Iterable[Any]) -> list[Any]:
    """The options of a command, each generated one before the others of its panel.

    Without a panel it comes last, before --help.
    """
    places: dict[int, list[Any]] = {}
    panels = [getattr(param, "rich_help_panel", None) for param in params]
    for option in generated:
        panel = option.rich_help_panel
        place = panels.index(panel) if panel in panels and panel else len(params) - 1
        places.setdefault(place, []).append(option)
    return [one for at, param in enumerate(params) for one in (*places.get(at, ()), param)]


def take_generated_values(context: Any, params: Iterable[Any]) -> None:
    """Keep the values of generated options for the command, whose signature does not name them."""
    context.obj = {param.name: context.params.pop(param.name) for param in params}


def generated_values(context: typer.Context) -> dict[str, Any]:
    """The values of a command's generated options that were given, by name."""
    return {name: value for name, value in context.obj.items() if value is not None}
