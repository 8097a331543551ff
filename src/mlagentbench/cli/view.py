"""`mlagentbench view`."""

from pathlib import Path
from typing import Annotated

import typer


def view(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The --out directory of the runs.")
    ] = Path("results"),
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=1, max=65535, help="Port on localhost.")
    ] = 7575,
) -> None:
    """Open Inspect's viewer on the logs: raw transcripts, on this machine only.

    Examples:
      mlagentbench view
      mlagentbench view demo-results --port 8080
    """
    from mlagentbench.report.inspect_logs import view_logs

    raise typer.Exit(view_logs(directory, port))
