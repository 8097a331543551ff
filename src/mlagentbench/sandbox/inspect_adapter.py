"""Use any sandbox of Inspect (docker, k8s, local) through the contract of `Sandbox`."""

import math
import posixpath
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mlagentbench.errors import RunFailed
from mlagentbench.sandbox.base import WORKSPACE, CommandResult, Limits
from mlagentbench.sandbox.executor.limits import limit_hit

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironment

_NOT_FOUND, _NOT_ALLOWED = 127, 126


class InspectSandbox:
    """Runs commands in another provider's sandbox; only the limit on wall time is enforced.

    The workspace is that sandbox's working directory. Output arrives when a command has ended,
    stdout before stderr.
    """

    def __init__(
        self,
        environment: "SandboxEnvironment",
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        starter: Sequence[str] = (),
    ) -> None:
        """`starter` is a program that starts each command, such as `taskset`, with its options."""
        self._environment = environment
        self._starter = tuple(starter)
        self._limits = limits or Limits()
        self._env = dict(env or {})

    async def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        cwd: str = WORKSPACE,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: Callable[[bytes], None] | None = None,
        tidy: bool = True,  # noqa: ARG002
    ) -> CommandResult:
        """Run a command; files it leaves outside of the workspace are kept even if `tidy`."""
        from inspect_ai.util import OutputLimitExceededError

        wall_time = self._limits.wall_time if timeout is None else timeout
        started = time.monotonic()
        try:
            result = await self._environment.exec(
                [*self._starter, *command],
                input=stdin,
                cwd=_relative(cwd),
                env={**self._env, **(env or {})},
                timeout=max(1, math.ceil(wall_time)),
                timeout_retry=False,
            )
        except TimeoutError:
            ended = _ended(None, b"", b"", started)
            limit = limit_hit(self._limits, "wall time", wall_time)
            return ended.model_copy(update={"limit": limit})
        except OutputLimitExceededError as error:
            shown = (error.truncated_output or "").encode()
            ended = _ended(None, shown, b"", started)
            return ended.model_copy(update={"limit": limit_hit(self._limits, "output size")})
        except FileNotFoundError as error:
            return _ended(_NOT_FOUND, b"", f"{command[0]}: {error}\n".encode(), started)
        except PermissionError as error:
            return _ended(_NOT_ALLOWED, b"", f"{command[0]}: {error}\n".encode(), started)
        except RuntimeError as error:
            raise RunFailed("sandbox", str(error)) from error
        code = result.returncode if result.returncode >= 0 else 128 - result.returncode
        ended = _ended(code, result.stdout.encode(), result.stderr.encode(), started)
        if on_output is not None and ended.output:
            on_output(ended.stdout + ended.stderr)
        return ended

    async def read(self, path: str) -> bytes:
        return await self._environment.read_file(_relative(path) or ".", text=False)

    async def write(self, path: str, contents: bytes) -> None:
        await self._environment.write_file(_relative(path) or ".", contents)


def _relative(path: str) -> str | None:
    """A path as that sandbox knows it: /workspace is its working directory."""
    path = posixpath.normpath(path)
    if path == WORKSPACE:
        return None
    return path.removeprefix(f"{WORKSPACE}/")


def _ended(exit_code: int | None, stdout: bytes, stderr: bytes, started: float) -> CommandResult:
    return CommandResult(
        exit_code=exit_code,
        output=(stdout + stderr).decode("utf-8", "replace"),
        stdout=stdout,
        stderr=stderr,
        seconds=time.monotonic() - started,
    )
