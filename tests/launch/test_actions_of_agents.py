"""What agents may do, and what an interactive run needs."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.actions.action_sets import PAPER_ACTIONS, STANDARD_ACTIONS, with_help
from mlagentbench.environment.actions.files import list_files
from mlagentbench.errors import UsageError
from mlagentbench.launch.disclose_run import actions_of
from mlagentbench.launch.request import RunSettings, SuiteRequest, parse_agents
from mlagentbench.launch.suite import run_suite
from mlagentbench.terminal import Terminal


def request(tmp_path: Path, **options: Any) -> SuiteRequest:
    usual: dict[str, Any] = {
        "agents": "nop",
        "models": "none",
        "runs": 1,
        "jobs": 1,
        "roles": [],
        "prices": None,
    }
    return SuiteRequest.read(tasks="house-price", out=tmp_path / "out", **usual | options)


def test_what_an_interactive_run_needs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one run at a time"):
        request(tmp_path, interactive=True, jobs=2)
    with pytest.raises(UsageError, match="--interactive needs a terminal"):
        run_suite(request(tmp_path, interactive=True), Terminal(file=StringIO()))
    with pytest.raises(UsageError, match="There is no action 'Dance'"):
        request(tmp_path, agents='autogpt(actions=["Dance"])', models="mockllm/model")


@pytest.mark.parametrize(
    ("agent", "protocol", "interactive", "expected"),
    [
        ("react", "standard", False, STANDARD_ACTIONS),
        ("react", "standard", True, with_help(STANDARD_ACTIONS)),
        ("react", "paper", False, PAPER_ACTIONS),
        ("research", "paper", True, with_help(PAPER_ACTIONS)),
        ("baseline", "paper", False, STANDARD_ACTIONS),
        ("external", "paper", True, ()),
        ("of-my-own", "paper", False, PAPER_ACTIONS),
        ("autogpt(actions=['Request Help', 'List Files'])", "standard", False, (list_files,)),
    ],
)
def test_who_may_do_what(
    agent: str, protocol: str, interactive: bool, expected: tuple[ActionSpec, ...]
) -> None:
    settings = RunSettings.model_validate({"protocol": protocol, "interactive": interactive})
    [choice] = parse_agents(agent.replace("'", '"'))
    assert actions_of(choice, settings) == expected
