"""`mlagentbench tasks measure`."""

from typing import Annotated

import typer

from mlagentbench.cli.options import (
    AllOption,
    DrawOption,
    SuiteOption,
    TaskNames,
    TierOption,
    ToolOption,
    chosen,
)

StarterRuns = Annotated[
    int | None, typer.Option("--runs", metavar="N", min=2, help="Runs of the starter.")
]
ReferenceRuns = Annotated[
    int, typer.Option("--reference-runs", metavar="N", min=1, help="Runs of the solution.")
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
    runs: StarterRuns = None,
    reference_runs: ReferenceRuns = 8,
    write: WriteOption = False,
    draw: DrawOption = "public",
    role: ToolOption = None,
) -> None:
    """Measure floor, starter, reference and bar of tasks by running them.

    Examples:
      mlagentbench tasks measure house-price --tier full
      mlagentbench tasks measure ./my-task --write
    """
    from mlagentbench.cli.tasks.measure_printing import print_measured
    from mlagentbench.task_checks.measure import measure_tasks

    for measured in measure_tasks(
        chosen(tasks, suite, every),
        tier=tier,
        runs=runs,
        reference_runs=reference_runs,
        write=write,
        draw=draw,
        roles=role or [],
    ):
        print_measured(measured)
