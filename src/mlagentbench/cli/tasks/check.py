"""`mlagentbench tasks check`."""

import typer

from mlagentbench.cli.options import (
    AllOption,
    DrawOption,
    JsonOption,
    ProfileOption,
    SuiteOption,
    TaskNames,
    TierOption,
    ToolOption,
    chosen,
)


def check(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    every: AllOption = False,
    tier: TierOption = "mini",
    profile: ProfileOption = None,
    draw: DrawOption = "public",
    role: ToolOption = None,
    json_output: JsonOption = False,
) -> None:
    """Check that tasks are sound: measurements hold, grading is fair, nothing leaks.

    Examples:
      mlagentbench tasks check house-price
      mlagentbench tasks check --all --json
    """
    from mlagentbench.cli.tasks.check_printing import print_checked
    from mlagentbench.task_checks.check import check_tasks

    named = chosen(tasks, suite, every)
    checked = check_tasks(named, tier=tier, profile=profile, draw=draw, roles=role or [])
    raise typer.Exit(print_checked(checked, as_json=json_output))
