"""`mlagentbench runs regrade`."""

from typing import Annotated

import typer

from mlagentbench.cli.options import JsonOption, RunArguments

StepsOption = Annotated[
    str,
    typer.Option(
        "--steps",
        metavar="STEPS",
        help="last, all, every:N, a list like 1,5,9, or changed: those that changed the "
        "submission.",
    ),
]


def regrade(
    runs: RunArguments, steps: StepsOption = "last", json_output: JsonOption = False
) -> None:
    """Grade runs again, also as they were after earlier steps.

    Examples:
      mlagentbench runs regrade results/runs/*/*/*/*/*
      mlagentbench runs regrade RUN --steps changed
    """
    from mlagentbench.cli.runs.regrade_printing import print_grades
    from mlagentbench.grading.regrade import score_runs
    from mlagentbench.rebuild.rebuild_run import grade_step
    from mlagentbench.terminal import say

    regraded = score_runs(runs, steps, say, grade_step)
    print_grades([(item.run, item.grades) for item in regraded], as_json=json_output)
    raise typer.Exit(any(item.failure is not None for item in regraded))
