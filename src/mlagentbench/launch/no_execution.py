"""What `--no-execution` needs: an agent that only acts, and a sandbox that runs nothing else."""

from mlagentbench.agents.registry import AGENTS
from mlagentbench.environment.actions.action_sets import choose_actions
from mlagentbench.errors import UsageError
from mlagentbench.launch.request import AgentChoice, RunSettings
from mlagentbench.sandbox.sandbox_registry import require_withheld_commands

OPTION = "--no-execution"


def require_no_execution(agent: AgentChoice, settings: RunSettings) -> None:
    """A UsageError if this agent cannot work, or could execute something, in such runs.

    Custom agents can work by actions alone; those that try to execute something get an error.
    """
    if not settings.no_execution:
        return
    require_withheld_commands(settings.sandbox, OPTION)
    for name in agent.name.split("+"):  # several solvers of `inspect eval`
        info = AGENTS.get(name)
        if info is not None and info.needs_execution is not None:
            able = ", ".join(one.name for one in AGENTS.values() if one.needs_execution is None)
            raise UsageError(
                f"{OPTION}: agent {name} cannot work without executions: {info.needs_execution}; "
                f"leave it out, or choose among: {able}"
            )
    named = choose_actions(agent.settings.get("actions") or ())
    executing = [spec.name for spec in named if spec.executes]
    if executing:
        raise UsageError(
            f"{OPTION}: the actions of agent {agent.name} name {', '.join(executing)}, which "
            "executes; leave it out of them"
        )
