"""`mlagentbench jobs cancel`."""

from mlagentbench.cli.options import OutArgument


def cancel(out: OutArgument) -> None:
    """Stop all workers, and leave their runs so that they can be resumed.

    To resume, run the command that planned them again.

    Examples:
      mlagentbench jobs cancel results
    """
    from mlagentbench.launch.engines.started import cancel_started
    from mlagentbench.launch.plans.cancel import cancel_plans
    from mlagentbench.terminal import Terminal, tell

    cancel_plans(out.absolute(), tell)
    cancel_started(out.absolute(), Terminal(stderr=True))
