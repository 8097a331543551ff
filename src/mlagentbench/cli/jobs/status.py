"""`mlagentbench jobs status`."""

from typing import Annotated

import typer

from mlagentbench.cli.options import JsonOption, OutArgument

WatchOption = Annotated[
    bool, typer.Option("--watch", help="Keep showing it until all runs have ended.")
]


def status(out: OutArgument, watch: WatchOption = False, json_output: JsonOption = False) -> None:
    """Show how many planned runs are done, running, waiting and failed.

    Exits with 1 if a run has failed.

    Examples:
      mlagentbench jobs status results
      mlagentbench jobs status results --watch
    """
    from mlagentbench.cli.jobs.status_printing import print_state, watch_state
    from mlagentbench.launch.plans.plan_state import plan_state
    from mlagentbench.terminal import Terminal, print_json

    if json_output:
        state = plan_state(out.absolute())
        print_json(
            {
                "counts": state.counts,
                "hindered": state.hindered,
                "runs": [one.model_dump(mode="json") for one in state.runs],
            }
        )
    elif watch:
        state = watch_state(out.absolute(), Terminal())
    else:
        state = plan_state(out.absolute())
        print_state(state, Terminal())
    raise typer.Exit(1 if state.of("failed") else 0)
