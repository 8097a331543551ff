"""`mlagentbench runs rebuild`."""

from typing import Annotated

import typer

from mlagentbench.cli.options import JsonOption, RunArguments

DrawsOption = Annotated[
    int, typer.Option("--draws", metavar="N", min=1, help="Fresh draws to rebuild on.")
]
CommandOption = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="COMMAND",
        help='What makes the submission, e.g. "python train.py" (default: reproduce.sh if the '
        "agent left it, else what the journal suggests).",
    ),
]

AgainOption = Annotated[
    bool, typer.Option("--again", help="Also rebuild on draws that are known already.")
]


def rebuild(
    runs: RunArguments,
    draws: DrawsOption = 3,
    command: CommandOption = None,
    again: AgainOption = False,
    json_output: JsonOption = False,
) -> None:
    """Make submissions again on fresh data, and grade them there.

    Draws that are known already are not repeated, unless --again is given. The grades of the runs
    stay as they are.

    Examples:
      mlagentbench runs rebuild RUN --draws 5
      mlagentbench runs rebuild RUN --command "python train.py"
    """
    from mlagentbench.cli.runs.rebuild_printing import print_rebuilt
    from mlagentbench.rebuild.rebuild_run import rebuild_runs
    from mlagentbench.terminal import say

    rebuilt = rebuild_runs(runs, draws, command, say, again=again)
    print_rebuilt(rebuilt, as_json=json_output)
    raise typer.Exit(any(one.failure is not None for one in rebuilt))
