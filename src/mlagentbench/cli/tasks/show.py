"""`mlagentbench tasks show`."""

from mlagentbench.cli.options import JsonOption, TaskName


def show_task(task: TaskName, json_output: JsonOption = False) -> None:
    """Show one task: problem, metric, limits, data sources and measurements.

    Examples:
      mlagentbench tasks show house-price
      mlagentbench tasks show ./my-task --json
    """
    from mlagentbench.cli.tasks.show_printing import print_task

    print_task(task, as_json=json_output)
