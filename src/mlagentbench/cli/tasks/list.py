"""`mlagentbench tasks list`."""

from mlagentbench.cli.options import JsonOption, SuiteOption, TaskNames, chosen


def list_tasks(
    tasks: TaskNames = None, suite: SuiteOption = None, json_output: JsonOption = False
) -> None:
    """List tasks with metric, needs, measurements and Inspect names.

    Examples:
      mlagentbench tasks list
      mlagentbench tasks list --suite quick
    """
    from mlagentbench.cli.tasks.list_printing import print_task_list

    print_task_list(chosen(tasks, suite, not tasks and suite is None), as_json=json_output)
