"""Runs by workers that something else starts: this process only shows how far they are."""

from collections.abc import Sequence

from mlagentbench.launch.engines.engine import EngineOptions
from mlagentbench.launch.engines.follow import follow
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.launch.plans.plan_state import is_out_of_money
from mlagentbench.numeric.number_format import counted
from mlagentbench.untrusted_text import shown_path


class WorkersEngine:
    """Starts nothing: any scheduler, or a person, starts `mlagentbench jobs work`."""

    def __init__(self, options: EngineOptions) -> None:
        self._out = options.out
        self._console = options.console

    def execute(self, requests: Sequence[RunRequest]) -> None:
        if not requests:
            return
        self._console.print(
            f"planned: {counted(len(requests), 'run')}; start workers, here or on any machine that "
            f"shares the directory: mlagentbench jobs work {shown_path(self._out)}",
            soft_wrap=True,
        )
        runs = {request.run for request in requests}
        follow(self._out, requests, lambda: not is_out_of_money(self._out, runs), self._console)

    def cancel(self) -> None:
        """Nothing is left to stop: workers see a cancelled plan."""
