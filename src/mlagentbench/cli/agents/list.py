"""`mlagentbench agents list`."""

from mlagentbench.cli.options import JsonOption


def list_agents(json_output: JsonOption = False) -> None:
    """List the agents and the names of their settings.

    Examples:
      mlagentbench agents list
      mlagentbench agents list --json
    """
    from mlagentbench.cli.agents.agents_printing import print_agents

    print_agents(as_json=json_output)
