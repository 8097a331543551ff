"""`mlagentbench tasks show`."""

from mlagentbench.cli.options import JsonOption, TaskName, TierOption


def show_task(task: TaskName, tier: TierOption = "mini", json_output: JsonOption = False) -> None:
    """Show one task: problem, metric, limits, data sources and measurements.

    Examples:
      mlagentbench tasks show house-price
      mlagentbench tasks show house-price --tier hard
      mlagentbench tasks show ./my-task --json
    """
    from mlagentbench.cli.tasks.show_printing import print_task

    print_task(task, tier, as_json=json_output)
