"""`mlagentbench tasks ...`: a file for each command."""

from mlagentbench.cli.tasks.check import check
from mlagentbench.cli.tasks.list import list_tasks
from mlagentbench.cli.tasks.measure import measure
from mlagentbench.cli.tasks.memorisation import memorisation
from mlagentbench.cli.tasks.prepare import prepare
from mlagentbench.cli.tasks.show import show_task
from mlagentbench.cli.verb_group import new_group

HELP = """List and inspect tasks; prepare, measure and check them.

Examples:
  mlagentbench tasks list
  mlagentbench tasks prepare house-price --tier full
"""
tasks_group = new_group(
    HELP,
    {
        "list": list_tasks,
        "show": show_task,
        "prepare": prepare,
        "measure": measure,
        "check": check,
        "memorisation": memorisation,
    },
)
