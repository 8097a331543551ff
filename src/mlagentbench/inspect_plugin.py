"""The one entry point that registers tasks, agents, sandbox, models and scorer with Inspect."""

from mlagentbench.agents.external.aide import aide
from mlagentbench.agents.external.external import external
from mlagentbench.agents.paper.autogpt import autogpt
from mlagentbench.agents.paper.langchain import langchain
from mlagentbench.agents.paper.research import act, react_text, research
from mlagentbench.agents.react import react
from mlagentbench.agents.scripted import baseline, default, nop, oracle
from mlagentbench.agents.tree_search.search import tree
from mlagentbench.launch.inspect_task import folder, registered_task
from mlagentbench.launch.run_one import grade_submission, start_run
from mlagentbench.models.provider import BuiltinModelAPI
from mlagentbench.sandbox.inspect_provider import (
    BubblewrapSandboxEnvironment,
    ContainerSandboxEnvironment,
)

__all__ = [
    "BubblewrapSandboxEnvironment",
    "BuiltinModelAPI",
    "ContainerSandboxEnvironment",
    "act",
    "aide",
    "autogpt",
    "baseline",
    "default",
    "external",
    "folder",
    "grade_submission",
    "langchain",
    "nop",
    "oracle",
    "react",
    "react_text",
    "registered_task",
    "research",
    "start_run",
    "tree",
]
