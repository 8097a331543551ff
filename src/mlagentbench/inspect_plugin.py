"""The one entry point that registers tasks, agents, sandbox, models and scorer with Inspect."""

from mlagentbench.agents.aide import aide
from mlagentbench.agents.autogpt import autogpt
from mlagentbench.agents.baseline import baseline, nop, oracle
from mlagentbench.agents.external import external
from mlagentbench.agents.langchain import langchain
from mlagentbench.agents.react import react
from mlagentbench.agents.research import act, react_text, research
from mlagentbench.agents.tree import tree
from mlagentbench.environment.sandbox.inspect_provider import BubblewrapSandboxEnvironment
from mlagentbench.models.provider import OwnModelAPI
from mlagentbench.running.inspect_task import folder, registered_task
from mlagentbench.running.run_one import grade_submission, open_run

__all__ = [
    "BubblewrapSandboxEnvironment",
    "OwnModelAPI",
    "act",
    "aide",
    "autogpt",
    "baseline",
    "external",
    "folder",
    "grade_submission",
    "langchain",
    "nop",
    "open_run",
    "oracle",
    "react",
    "react_text",
    "registered_task",
    "research",
    "tree",
]
