"""`mlagentbench runs diff`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.options import JsonOption


def diff(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="First run directory.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Second run directory.")],
    json_output: JsonOption = False,
) -> None:
    """Compare two runs: actions, plans, code, scores and usage.

    Examples:
      mlagentbench runs diff RUN_A RUN_B
      mlagentbench runs diff RUN_A RUN_B --json
    """
    from mlagentbench.analysis.run_diff import compare_runs
    from mlagentbench.cli.runs.diff_printing import print_run_diff

    print_run_diff(compare_runs(run_a, run_b), as_json=json_output)
