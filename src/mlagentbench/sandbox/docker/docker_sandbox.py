"""The docker sandbox: a container for the whole run, with the executor in it."""

import os

from mlagentbench.sandbox.base import WORKSPACE, LoopbackServer, SandboxSpec
from mlagentbench.sandbox.docker.container import Container
from mlagentbench.sandbox.docker.container_engine import find_engine
from mlagentbench.sandbox.docker.images import image_of
from mlagentbench.sandbox.executor.executor_sandbox import ExecutorSandbox
from mlagentbench.sandbox.executor.places import ENVIRONMENT
from mlagentbench.sandbox.executor.unprivileged_user import unprivileged_uid


class DockerSandbox(ExecutorSandbox):
    """A container for one spec, whose `python_env` has the facts of an image."""

    def __init__(self, spec: SandboxSpec, server: LoopbackServer | None = None) -> None:
        self._engine = find_engine()
        self._image = image_of(spec.python_env)
        super().__init__(spec, server, f"{ENVIRONMENT}/bin", unprivileged_uid())

    async def _start_instance(self) -> Container:
        self._make_placeholders()
        return await Container.start(self._engine, self._image, self.spec, self._uid)

    def _make_placeholders(self) -> None:
        """Create the mount points in the workspace; the engine's would belong to root."""
        for bind in self.spec.binds:
            if not bind.target.startswith(f"{WORKSPACE}/"):
                continue
            place = self.spec.workspace / os.path.relpath(bind.target, WORKSPACE)
            if place.is_symlink():
                place.unlink()
            if bind.source.is_dir():
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.touch()
