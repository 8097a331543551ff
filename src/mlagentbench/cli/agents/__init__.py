"""`mlagentbench agents ...`: a file for each command."""

from mlagentbench.cli.agents.list import list_agents
from mlagentbench.cli.agents.relay import relay
from mlagentbench.cli.agents.show import show_agent
from mlagentbench.cli.verb_group import new_group

HELP = """List and inspect agents; answer models by mailbox.

Examples:
  mlagentbench agents list
  mlagentbench agents show research
"""
agents_group = new_group(HELP, {"list": list_agents, "show": show_agent, "relay": relay})
