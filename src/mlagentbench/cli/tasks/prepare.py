"""`mlagentbench tasks prepare`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.options import (
    AllOption,
    DrawOption,
    PoolOption,
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
        "--accept-unverified",
        help="Continue when files differ from the official ones; every result says so.",
    ),
]
SplitsOption = Annotated[
    int,
    typer.Option(
        "--splits",
        min=0,
        metavar="N",
        help="Also prepare N other splits of the full data, which --protocol rebuild uses.",
    ),
]
AgainOption = Annotated[
    bool,
    typer.Option("--again", help="Prepare the data anew even if they are prepared already."),
]


def prepare(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    every: AllOption = False,
    tier: TierOption = "mini",
    from_dir: FromOption = None,
    draw: DrawOption = "public",
    pool: PoolOption = None,
    splits: SplitsOption = 0,
    accept_unverified: AcceptUnverified = False,
    again: AgainOption = False,
) -> None:
    """Prepare the data and the virtual environment of tasks.

    Data of the full tier are identified by their source files: other files are prepared as other
    data, and runs use the data that were asked for last.

    Examples:
      mlagentbench tasks prepare house-price
      mlagentbench tasks prepare house-price --tier full --from ~/Downloads
      mlagentbench tasks prepare imdb --tier full --from DIR --splits 3
    """
    from mlagentbench.cli.tasks.prepare_printing import prepare_from_command_line
    from mlagentbench.tasks.draws import in_pool

    prepare_from_command_line(
        chosen(tasks, suite, every),
        tier=tier,
        from_dir=from_dir,
        draw=in_pool(draw, pool, tier),
        splits=splits,
        accept_unverified=accept_unverified,
        again=again,
    )
