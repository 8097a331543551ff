"""`mlagentbench tasks prepare`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.options import (
    AllOption,
    DrawOption,
    SuiteOption,
    TaskNames,
    TierOption,
    chosen,
)

FromOption = Annotated[
    Path | None,
    typer.Option("--from", metavar="DIR", help="Directory with data you downloaded yourself."),
]
AcceptUnverified = Annotated[
    bool,
    typer.Option(
        "--accept-unverified", help="Continue when a checksum differs; every result says so."
    ),
]


def prepare(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    every: AllOption = False,
    tier: TierOption = "mini",
    from_dir: FromOption = None,
    draw: DrawOption = "public",
    accept_unverified: AcceptUnverified = False,
) -> None:
    """Prepare the data and the virtual environment of tasks.

    Examples:
      mlagentbench tasks prepare house-price
      mlagentbench tasks prepare house-price --tier full --from ~/Downloads
    """
    from mlagentbench.cli.tasks.prepare_printing import prepare_from_command_line

    prepare_from_command_line(
        chosen(tasks, suite, every),
        tier=tier,
        from_dir=from_dir,
        draw=draw,
        accept_unverified=accept_unverified,
    )
