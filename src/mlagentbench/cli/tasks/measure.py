"""`mlagentbench tasks measure`."""

from typing import Annotated

import typer

from mlagentbench.cli.options import (
    AllOption,
    DrawOption,
    PoolOption,
    ProfileOption,
    SuiteOption,
    TaskNames,
    TierOption,
    ToolOption,
    chosen,
)

StarterRuns = Annotated[
    int | None,
    typer.Option(
        "--runs",
        metavar="N",
        min=2,
        help="Runs of the starter (default 30, full tier 8; 3 on a draw that is not public).",
    ),
]
ReferenceRuns = Annotated[
    int | None,
    typer.Option(
        "--reference-runs",
        metavar="N",
        min=1,
        help="Runs of the solution (default 8; 1 on a draw that is not public).",
    ),
]
AgainOption = Annotated[
    bool, typer.Option("--again", help="Repeat runs that an earlier measurement finished.")
]
WriteOption = Annotated[
    bool,
    typer.Option("--write", help="Write to task.toml instead of the user data directory."),
]


def measure(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    every: AllOption = False,
    tier: TierOption = "mini",
    profile: ProfileOption = None,
    runs: StarterRuns = None,
    reference_runs: ReferenceRuns = None,
    again: AgainOption = False,
    write: WriteOption = False,
    draw: DrawOption = "public",
    pool: PoolOption = None,
    role: ToolOption = None,
) -> None:
    """Measure floor, starter, reference and bar of tasks by running them.

    Examples:
      mlagentbench tasks measure house-price --tier full
      mlagentbench tasks measure ./my-task --write
      mlagentbench tasks measure imdb --tier full --profile gpu
    """
    from mlagentbench.cli.tasks.measure_printing import print_measured
    from mlagentbench.task_checks.measure import measure_tasks
    from mlagentbench.tasks.draws import in_pool

    for measured in measure_tasks(
        chosen(tasks, suite, every),
        tier=tier,
        profile=profile,
        runs=runs,
        reference_runs=reference_runs,
        again=again,
        write=write,
        draw=in_pool(draw, pool, tier),
        roles=role or [],
    ):
        print_measured(measured)
