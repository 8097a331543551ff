"""`mlagentbench runs replay`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.options import JsonOption, RunArgument

HtmlOption = Annotated[
    bool, typer.Option("--html", help="Also write a page with every difference.")
]
ReplayOut = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Directory for the replay (default OUT/replays)."),
]
Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance", metavar="SHARE", help="How much numbers may differ, relative to their size."
    ),
]


def replay(
    run: RunArgument,
    html: HtmlOption = False,
    out: ReplayOut = None,
    tolerance: Tolerance = 0.001,
    json_output: JsonOption = False,
) -> None:
    """Repeat a run's actions without a model and compare: is it reproducible?

    Examples:
      mlagentbench runs replay RUN
      mlagentbench runs replay RUN --html --tolerance 0.02
    """
    from mlagentbench.cli.runs.replay_printing import print_replay, write_replay_page
    from mlagentbench.launch.replay.replay import replay_run
    from mlagentbench.terminal import say

    replayed = replay_run(run, out, tolerance, say)
    page = write_replay_page(replayed) if html else None
    raise typer.Exit(print_replay(replayed, page, as_json=json_output))
