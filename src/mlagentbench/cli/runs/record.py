"""`mlagentbench runs record`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.options import RunArguments


def record(
    runs: RunArguments,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="File to write.")],
    answered_by: Annotated[
        str | None,
        typer.Option(
            "--answered-by", metavar="NAME", help="Who answered, if the runs do not say so."
        ),
    ] = None,
) -> None:
    """Record the models' replies of runs in a file that mlagentbench/recorded replays.

    Examples:
      mlagentbench runs record RUN --to replies.jsonl
      mlagentbench runs record RUN --to replies.jsonl --answered-by "two colleagues"
    """
    from mlagentbench.models.recording import record_directories
    from mlagentbench.terminal import tell

    tell(record_directories(runs, to, answered_by))
