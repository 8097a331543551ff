"""`mlagentbench tasks check`."""

import typer

from mlagentbench.cli.options import (
    AllOption,
    DrawOption,
    JsonOption,
    PoolOption,
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
    pool: PoolOption = None,
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
    from mlagentbench.tasks.draws import in_pool

    checked = check_tasks(
        chosen(tasks, suite, every),
        tier=tier,
        profile=profile,
        draw=in_pool(draw, pool, tier),
        roles=role or [],
    )
    raise typer.Exit(print_checked(checked, as_json=json_output))
