"""What `mlagentbench agents list` says of each agent is true and complete."""

import subprocess
import sys
from pathlib import Path

import pytest

from mlagentbench.agents.registry import AGENTS, find_agent
from mlagentbench.cli.agents.agents_printing import list_agent
from mlagentbench.errors import UsageError

DOCS = Path(__file__).parents[3] / "docs" / "agents"
PAGES = {
    "act": "research",
    "react-text": "research",
    "nop": "baseline",
    "default": "baseline",
    "oracle": "baseline",
}
"""Agents that share another's page."""


@pytest.mark.parametrize("name", AGENTS)
def test_every_setting_has_a_meaning(name: str) -> None:
    listed = list_agent(AGENTS[name])
    assert listed.description
    assert [setting.name for setting in listed.settings if not setting.meaning] == []
    assert AGENTS[name].settings == tuple(setting.name for setting in listed.settings)


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_has_a_page_that_names_its_settings(name: str) -> None:
    page = (DOCS / f"{PAGES.get(name, name)}.md").read_text()
    listed = list_agent(AGENTS[name])
    assert [setting.name for setting in listed.settings if f"`{setting.name}" not in page] == []


@pytest.mark.parametrize("name", AGENTS)
def test_an_unknown_setting_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=f"agent {name}: .*no_such_setting"):
        AGENTS[name].solver(no_such_setting=1)


def test_listing_agents_loads_none_of_them() -> None:
    program = (
        "import sys; from mlagentbench.cli.agents.agents_printing import print_agents; "
        "print_agents(as_json=False); print('inspect_ai' in sys.modules)"
    )
    listed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    *agents, is_inspect_loaded = listed.stdout.splitlines()
    assert is_inspect_loaded == "False"
    assert "    settings: context_tokens, actions" in agents


def test_a_misspelt_agent_is_guessed() -> None:
    with pytest.raises(UsageError, match="did you mean research"):
        find_agent("reserch")


def test_a_missing_package_names_its_extra() -> None:
    info = AGENTS["langchain"].model_copy(update={"package": "no_such_package"})
    with pytest.raises(UsageError, match=r"pip install 'mlagentbench\[langchain\]'"):
        info.solver()
