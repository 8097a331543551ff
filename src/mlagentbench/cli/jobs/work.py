"""`mlagentbench jobs work`."""

from typing import Annotated

import typer

from mlagentbench.cli.options import Jobs, OutArgument, read_jobs, seconds_of

TimeOption = Annotated[
    str | None,
    typer.Option("--time", metavar="TIME", help="End after this time, e.g. 4h or 30m."),
]


def work(out: OutArgument, jobs: Jobs = "1", time: TimeOption = None) -> None:
    """Execute planned runs until none is left; start as many workers as you like.

    Runs that another worker leaves unfinished are resumed. Ctrl-C and SIGTERM stop a worker.
    Exits with 1 if a run has failed.

    Examples:
      mlagentbench jobs work results
      mlagentbench jobs work /shared/results --time 4h
    """
    from mlagentbench.cli.jobs.status_printing import print_state
    from mlagentbench.launch.plans.plan_state import plan_state, require_plans
    from mlagentbench.launch.workers.worker import WorkerOptions, WorkerPlace
    from mlagentbench.launch.workers.worker import work as work_on_plans
    from mlagentbench.terminal import Terminal

    console, top = Terminal(), out.absolute()
    options = WorkerOptions(
        jobs=read_jobs(jobs), seconds=seconds_of(time, "--time"), place=WorkerPlace()
    )
    require_plans(top)
    end = work_on_plans(top, options, console)
    if end.time_is_up:
        console.print("the time is up; start another worker for what is left")
    state = plan_state(top)
    print_state(state, console)
    raise typer.Exit(1 if state.of("failed") else 0)
