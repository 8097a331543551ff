"""The sandboxes that runs can be executed in, by name; a new one is a new provider.

No other module names one, but for the files of the provider itself.
"""

import os
from typing import TYPE_CHECKING

from mlagentbench.errors import UsageError
from mlagentbench.plugins import Registry
from mlagentbench.sandbox.bwrap.bubblewrap_provider import BUBBLEWRAP
from mlagentbench.sandbox.docker.docker_provider import DOCKER
from mlagentbench.sandbox.local_provider import LOCAL
from mlagentbench.sandbox.sandbox_provider import SandboxProvider

if TYPE_CHECKING:
    from mlagentbench.runs.directory import RunDirectory
    from mlagentbench.sandbox.base import LoopbackServer, SandboxSpec
    from mlagentbench.sandbox.conformance import ConformanceResult
    from mlagentbench.sandbox.executor.executor_sandbox import ExecutorSandbox
    from mlagentbench.tasks.python_env.env import PythonEnv, PythonEnvs

SANDBOXES: Registry[SandboxProvider] = Registry("sandbox", BUBBLEWRAP, DOCKER, LOCAL)
SANDBOX = "MLAGENTBENCH_SANDBOX"
"""The environment variable with the sandbox of commands that are not given one."""


def default_sandbox() -> str:
    """The sandbox of what is not given one."""
    asked = os.environ.get(SANDBOX)
    return SANDBOXES.find(asked, f"{SANDBOX}={asked}").name if asked else BUBBLEWRAP.name


def tasks_sandbox(name: str) -> SandboxProvider:
    """Where grading and the tasks' own functions run, for runs in the sandbox of this name."""
    provider = SANDBOXES.get(name)
    return BUBBLEWRAP if provider is None or not provider.runs_tasks else provider


def fresh_sandbox(
    python_env: "PythonEnv", spec: "SandboxSpec", server: "LoopbackServer | None" = None
) -> "ExecutorSandbox":
    """A sandbox, not started, of the kind that this virtual environment can be used in."""
    provider = BUBBLEWRAP if python_env.sandbox is None else SANDBOXES[python_env.sandbox]
    return provider.fresh(spec, server)


def default_envs() -> "PythonEnvs":
    """The virtual environments for the default sandbox."""
    return SANDBOXES[default_sandbox()].python_envs(None)


def require_in_sandbox_agents(name: str, who: str) -> None:
    """A UsageError if in-sandbox agents cannot run in the sandbox of this name."""
    if not SANDBOXES[name].runs_agents:
        able = ", ".join(one.name for one in SANDBOXES.values() if one.runs_agents)
        raise UsageError(
            f"--sandbox {name}: {who} is an in-sandbox agent, which needs one of: {able}"
        )


def require_loopback(name: str, who: str) -> None:
    """A UsageError if programs in the sandbox of this name cannot reach a model."""
    if not SANDBOXES[name].serves_loopback:
        able = ", ".join(one.name for one in SANDBOXES.values() if one.serves_loopback)
        raise UsageError(
            f"--sandbox {name}: the submitted program of {who} uses a model, which needs one of: "
            f"{able}"
        )


def require_withheld_commands(name: str, what: str) -> None:
    """A UsageError if other agents' tools could run commands in the sandbox of this name."""
    if not SANDBOXES[name].withholds_commands:
        able = ", ".join(one.name for one in SANDBOXES.values() if one.withholds_commands)
        raise UsageError(
            f"--sandbox {name}: cannot keep an agent from executing, which {what} needs; use one "
            f"of: {able}"
        )


def needs_mark(name: str) -> bool:
    """Whether results from this sandbox say so; also if it is not known here."""
    return name not in SANDBOXES or SANDBOXES[name].needs_mark


def kill_leftover_sandbox(run: "RunDirectory", name: str) -> None:
    """Kill a sandbox that a killed harness may have left behind; the caller holds the run."""
    if run.sandbox_json.is_file():
        SANDBOXES.find(name, str(run.path)).kill_leftover(run.sandbox_json.read_bytes())
        run.sandbox_json.unlink()


def check_provider(name: str) -> "list[ConformanceResult]":
    """Test a sandbox, or any sandbox provider of Inspect, on this machine."""
    from mlagentbench.sandbox.sandbox_check import check_inspect_provider

    return SANDBOXES[name].check() if name in SANDBOXES else check_inspect_provider(name)
