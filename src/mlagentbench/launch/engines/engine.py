"""Where runs are executed. A new engine is a file beside this one and a row in registry.py."""

from collections.abc import Sequence
from typing import Protocol

from mlagentbench.launch.plan import RunRequest


class Engine(Protocol):
    """Executes runs, and nothing else: their results are read from their directories."""

    def execute(self, requests: Sequence[RunRequest]) -> None:
        """Execute a batch; return when each run has ended, has failed, or is held elsewhere.

        A run that fails leaves its reason in its directory and does not stop the others. Raises
        KeyboardInterrupt when the user stops it, with all runs left so that they can be resumed.
        """
        ...
