"""`mlagentbench runs show`."""

from typing import Annotated

import typer

from mlagentbench.cli.options import JsonOption, RunArgument

StepOption = Annotated[
    int | None,
    typer.Option("--step", metavar="N", min=1, help="Show this step in full."),
]


def show_run(run: RunArgument, step: StepOption = None, json_output: JsonOption = False) -> None:
    """Show a run: how it ended, and what it did step by step.

    Examples:
      mlagentbench runs show RUN
      mlagentbench runs show RUN --step 7
    """
    from mlagentbench.cli.runs.show_printing import print_run

    print_run(run, step, as_json=json_output)
