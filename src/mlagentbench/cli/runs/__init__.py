"""`mlagentbench runs ...`: a file for each command."""

from mlagentbench.cli.runs.branch import branch
from mlagentbench.cli.runs.diff import diff
from mlagentbench.cli.runs.gc import gc
from mlagentbench.cli.runs.import_ import import_runs
from mlagentbench.cli.runs.rebuild import rebuild
from mlagentbench.cli.runs.record import record
from mlagentbench.cli.runs.regrade import regrade
from mlagentbench.cli.runs.replay import replay
from mlagentbench.cli.runs.show import show_run
from mlagentbench.cli.verb_group import new_group

HELP = """Inspect, compare, replay, regrade, rebuild and branch runs.

Examples:
  mlagentbench runs show RUN
  mlagentbench runs diff RUN_A RUN_B
"""
runs_group = new_group(
    HELP,
    {
        "show": show_run,
        "diff": diff,
        "replay": replay,
        "regrade": regrade,
        "rebuild": rebuild,
        "branch": branch,
        "record": record,
        "import": import_runs,
        "gc": gc,
    },
)
