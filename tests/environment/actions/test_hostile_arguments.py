"""Arguments that no honest agent gives: each is an observation, and nothing waits for it."""

import asyncio
import shlex
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import scripted_by
from small_task import OpenRun

from mlagentbench.environment.actions import execute
from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.actions.action_sets import ALL_ACTIONS
from mlagentbench.environment.actions.execute import split_words
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ActionError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Action, Json, Observation
from mlagentbench.runs.journal import EndLine, read_lines

MOST_LAG = 5.0
"""Seconds in which the event loop does nothing else: 0.1 on an idle machine, 20 without bounds."""
DEEP: Json = []
for _ in range(5000):
    DEEP = [DEEP]
HOSTILE: dict[str, Json] = {
    "long": "x" * 1_000_000,
    "long word list": "x " * 150_000,
    "one long word": "'" + "x" * 300_000 + "'",
    "deep": "d/" * 3_000,
    "deep and allowed": "d/" * 2_000,
    "up": "../" * 100_000,
    "down and up": "d/../" * 800,
    "NUL": "a\0b",
    "surrogate": "\ud800\udc80",
    "lines": "\n" * 300_000,
    "quotes": "'\"" * 100_001,
    "escapes": "\\" * 100_001,
    "empty": "",
    "huge number": 10**5_000,
    "negative": -(2**63),
    "not a number": float("nan"),
    "list": ["x"] * 100_000,
    "list of nothing": [None] * 500_000,
    "nested": DEEP,
    "keys": {str(number): number for number in range(200_000)},
}


@pytest.fixture
async def environment(open_environment: OpenRun) -> AsyncIterator[Environment]:
    models = dict.fromkeys(("main", "fast", "edit"), scripted_by(lambda *_: "```\nx = 1\n```"))
    limits = BudgetLimits(steps=2_000, time=600.0)
    async with open_environment(limits, models=models, ask_person=answer) as run:
        yield run


async def answer(_request: str) -> str:
    return "no"


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """How long the event loop was busy with one thing: the longest time between two wake-ups."""
    longest = [0.0]

    async def watch() -> None:
        before = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            longest[0] = max(longest[0], time.monotonic() - before)
            before = time.monotonic()

    watching = asyncio.create_task(watch())
    try:
        yield longest
    finally:
        watching.cancel()


def hostile_calls(spec: ActionSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    """The action with each hostile value, for all of its arguments, and as an unknown one."""
    for name, value in HOSTILE.items():
        yield name, dict.fromkeys(spec.arguments.model_fields, value)
    yield "key", {"k" * 300_000: 1}


async def do(environment: Environment, name: str, **arguments: Any) -> Observation:
    return await environment.execute(Action(name=name, arguments=arguments))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "name",
    [spec.name for spec in ALL_ACTIONS if spec.arguments.model_fields and not spec.ends_run],
)
async def test_nothing_blocks_the_event_loop(environment: Environment, name: str) -> None:
    spec = environment.actions.find(name)
    for what, arguments in hostile_calls(spec):
        async with watched() as longest:
            seen = await environment.execute(Action(name=name, arguments=arguments))
        assert longest[0] < MOST_LAG, (what, longest)
        assert len(seen.text) < 50_000, what
        seen.text.encode()
    lines = read_lines(environment.run.journal)
    assert sum(isinstance(line, EndLine) for line in lines) == len(environment.steps)


@pytest.mark.anyio
async def test_names_and_deep_workspaces(environment: Environment) -> None:
    made = (
        "import os\nfor place in ('a' * 4, 'b'):\n    os.chdir('/workspace')\n"
        "    for _ in range(400):\n        os.mkdir('d'); os.chdir('d')\n"
        "os.chdir('/workspace')\nfor n in range(39):\n    os.symlink('d/' * 300 + '../' * 300 + "
        "(f'l{n + 1}' if n < 38 else 'd'), f'l{n}')"
    )
    await do(environment, "Python REPL", command=made)
    for name, path in (("x" * 1_000_000, "a"), ("Read File", "l0"), ("List Files", "l0/x")):
        async with watched() as longest:
            seen = await do(environment, name, file_name=path)
        assert longest[0] < MOST_LAG and seen.status == "error" and len(seen.text) < 5_000


@pytest.mark.anyio
async def test_pipes_are_not_copied(environment: Environment) -> None:
    await do(environment, "Python REPL", command="import os; os.mkfifo('pipe')")
    for source, destination in (("pipe", "copy"), ("train.py", "pipe")):
        started = time.monotonic()
        seen = await do(environment, "Copy File", source=source, destination=destination)
        assert (seen.status, seen.text) == ("error", "pipe is a named pipe, not a file")
        assert time.monotonic() - started < 10


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_call_that_stops_all_processes_ends_at_its_limit(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program that watches the limit in the sandbox is stopped as well."""
    await do(environment, "Python REPL", command="import os, signal\nx = 1")
    monkeypatch.setattr(execute, "REPL_SECONDS", 1.0)
    started = time.monotonic()
    seen = await do(environment, "Python REPL", command="os.kill(-1, signal.SIGSTOP)")
    assert (seen.status, seen.limit) == ("limit", "wall time"), seen
    assert time.monotonic() - started < 30, "1 s, the time for an interrupt, and that to kill it"
    monkeypatch.setattr(execute, "REPL_SECONDS", 20.0)
    after = await do(environment, "Python REPL", command="1 + 1")
    assert after.text.startswith("[The Python session is new") and after.text.endswith("2")


def as_shlex(text: str) -> object:
    try:
        return shlex.split(text)
    except ValueError:
        return "not closed"


@given(st.text(alphabet="ab \t\n\r'\"\\#é\u2028", max_size=30))
def test_arguments_are_split_as_a_shell_does(text: str) -> None:
    try:
        found: object = split_words(text)
    except ActionError:
        found = "not closed"
    assert found == as_shlex(text)
