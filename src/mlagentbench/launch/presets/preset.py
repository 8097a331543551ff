"""Presets: the plans of published experiments, each asked for by its name.

    mlagentbench run --preset paper-icml --models openai/gpt-6-sol --out paper

A preset gives what the command does not say: options of the command come first.
"""

from collections.abc import Mapping
from typing import Any, Literal

from mlagentbench.plugins import Registry
from mlagentbench.records import Record

Protocol = Literal["standard", "paper", "rebuild"]
"""paper: the paper's runs, limits, actions and rule. rebuild: graded on fresh draws."""

PAPER_RUNS = 8
PAPER_STEPS = 50
PAPER_SECONDS = 5 * 3600.0
PAPER_AGENTS = ("research", "research(retrieval=true)", "autogpt", "langchain")
"""The paper's agent without and with its research log, and the two that it is compared with."""


class Preset(Record):
    """What is run, by which agents, how often, and by which protocol."""

    name: str
    description: str
    suite: str
    agents: tuple[str, ...]
    runs: int
    protocol: Protocol

    def filled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of `run` that a person gave, and the preset's for the others."""
        plan = {"agents": ",".join(self.agents), "runs": self.runs, "protocol": self.protocol}
        suite = {} if "tasks" in given else {"suite": self.suite}
        return {**plan, **suite, **given}


PRESETS = Registry(
    "preset",
    Preset(
        name="paper-icml",
        description="the paper's 13 tasks, 8 runs",
        suite="paper",
        agents=PAPER_AGENTS,
        runs=PAPER_RUNS,
        protocol="paper",
    ),
    Preset(
        name="paper-v1",
        description="its first version's 15, 25 runs",
        suite="v1",
        agents=PAPER_AGENTS,
        runs=25,
        protocol="paper",
    ),
)
