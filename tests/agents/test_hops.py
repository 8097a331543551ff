"""How far it is from an agent's loop to the journal and back, as docs/architecture.md draws it."""

import re
import sys
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from scripted_model import scripted, tool_call
from small_task import OpenRun

from mlagentbench.agents.react import ReactAgent
from mlagentbench.agents.runner import run_agent
from mlagentbench.runs.hash_chain import ChainedFile
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox

pytestmark = pytest.mark.anyio

PACKAGE = Path(__file__).parents[2] / "src" / "mlagentbench"
PAGE = PACKAGE.parents[1] / "docs" / "architecture.md"
ASKING, ACTING, ENDING = "ReactAgent._ask", "ReactAgent._carry_out", "Environment._end"
AFTERWARDS = "BestSubmission.note"
"""When the step is in the journal, react looks at what could be submitted now."""
MOST = 12


def functions_here() -> list[str]:
    """The functions of the package that lead to the caller, from the outermost on."""
    names, frame = [], sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        if Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return names[::-1]


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The functions that are passed while the agent asks and while it acts."""
    found: dict[str, list[str]] = {ASKING: [], ACTING: []}

    def note(self: Any, *given: Any, original: Callable[..., Any], **named: Any) -> Any:
        here = [*functions_here(), original.__qualname__]
        for half, first in ((ASKING, ASKING), (ACTING, ACTING), (ACTING, ENDING)):
            if first in here and AFTERWARDS not in here:
                path = here[here.index(first) :]
                found[half] += [name for name in path if name not in found[half]]
        return original(self, *given, **named)

    for owner, name in ((ChainedFile, "append"), (BubblewrapSandbox, "run")):
        traced = partialmethod(note, original=getattr(owner, name))
        monkeypatch.setattr(owner, name, traced)
    return found


def drawn(half: str) -> list[str]:
    """The functions in the list of the page whose first is this one."""
    lists = re.findall(r"(?:^\d+\. .*\n)+", PAGE.read_text(), re.MULTILINE)
    [steps] = [one for one in lists if one.startswith(f"1. `{half}`")]
    return re.findall(r"^\d+\. `([\w.]+)`", steps, re.MULTILINE)


async def test_a_step_of_react_takes_the_drawn_way(
    open_environment: OpenRun, passed: dict[str, list[str]]
) -> None:
    model = scripted(
        tool_call("execute_script", script_name="train.py"),
        tool_call("final_answer", final_answer="done"),
    )
    async with open_environment(models={"main": model}) as environment:
        agent = ReactAgent(environment)
        await run_agent(environment, agent.act, agent.at_end)
    for half, functions in passed.items():
        assert set(drawn(half)) - {"Model.generate"} == set(functions)
        assert len(drawn(half)) <= MOST
