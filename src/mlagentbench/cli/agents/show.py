"""`mlagentbench agents show`."""

from typing import Annotated

import typer

from mlagentbench.cli.completion import complete_agent
from mlagentbench.cli.options import JsonOption


def show_agent(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of an agent.", autocompletion=complete_agent),
    ],
    json_output: JsonOption = False,
) -> None:
    """Show one agent: what it does, its roles, and what its settings mean.

    Examples:
      mlagentbench agents show react
      mlagentbench agents show research --json
    """
    from mlagentbench.cli.agents.agents_printing import print_agent

    print_agent(name, as_json=json_output)
