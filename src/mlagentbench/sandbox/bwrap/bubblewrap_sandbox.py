"""The bubblewrap sandbox: starts in milliseconds, needs no image and no root."""

from mlagentbench.sandbox.base import LoopbackServer, SandboxSpec
from mlagentbench.sandbox.bwrap.instance import Instance
from mlagentbench.sandbox.bwrap.layout import Layout
from mlagentbench.sandbox.bwrap.prerequisites import find_bwrap, isolation
from mlagentbench.sandbox.bwrap.visible.interpreter import Interpreter
from mlagentbench.sandbox.executor.executor_sandbox import ExecutorSandbox
from mlagentbench.sandbox.executor.unprivileged_user import unprivileged_uid


class BubblewrapSandbox(ExecutorSandbox):
    """A bubblewrap for one spec."""

    def __init__(self, spec: SandboxSpec, server: LoopbackServer | None = None) -> None:
        self._bwrap = find_bwrap()
        super().__init__(spec, server, Interpreter(spec.python_env).bin, unprivileged_uid())

    @property
    def isolation(self) -> str:
        """How commands are isolated from the host, for disclosure."""
        return isolation()

    async def _start_instance(self) -> Instance:
        return await Instance.start(Layout(self.spec, self._bwrap, self._uid))
