"""`mlagentbench jobs ...`: a file for each command."""

from mlagentbench.cli.jobs.cancel import cancel
from mlagentbench.cli.jobs.status import status
from mlagentbench.cli.jobs.work import work
from mlagentbench.cli.verb_group import new_group

HELP = """Execute planned runs with many workers, and see how far they are.

Examples:
  mlagentbench jobs status results
  mlagentbench jobs work results --jobs auto
"""
jobs_group = new_group(HELP, {"status": status, "work": work, "cancel": cancel})
