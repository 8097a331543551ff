"""The Python REPL: state between calls, limits that keep it, and honesty when it is lost."""

import time
from collections.abc import AsyncIterator

import pytest
from small_task import OpenRun

from mlagentbench.environment.actions import execute
from mlagentbench.environment.environment import Environment
from mlagentbench.records import Action, Observation

pytestmark = pytest.mark.anyio


@pytest.fixture
async def environment(open_environment: OpenRun) -> AsyncIterator[Environment]:
    async with open_environment() as opened:
        yield opened


async def repl(environment: Environment, code: str) -> Observation:
    return await environment.execute(Action(name="Python REPL", arguments={"command": code}))


async def test_state_is_kept_and_last_values_are_shown(environment: Environment) -> None:
    first = await repl(environment, "import csv\nx = [1, 2]\ndef f(n):\n    return n / 0\nx")
    assert (first.text, first.status) == ("[1, 2]", "ok")
    assert (await repl(environment, "x.append(3); print('said'); len(x)")).text == "said\n3"
    assert (await repl(environment, "y = 1")).text == "The code ended well, without output."
    assert (await repl(environment, "_ + 1")).text == "4"
    assert (await repl(environment, "open('train.csv').readline()")).text == "'id,y\\n'"
    raised = await repl(environment, "f(1)")
    assert raised.status == "error"
    assert "    return n / 0" in raised.text
    assert "ZeroDivisionError" in raised.text
    assert "repl_server" not in raised.text
    assert "SyntaxError" in (await repl(environment, "1 +")).text
    assert (await repl(environment, "raise SystemExit(3)")).status == "error"
    assert (await repl(environment, "x")).text == "[1, 2, 3]"


async def test_children_and_classes_work(environment: Environment) -> None:
    seen = await repl(environment, "import subprocess; _ = subprocess.run(['echo', 'child'])")
    assert seen.text == "child"
    code = "import pickle\nclass C: pass\npickle.loads(pickle.dumps(C())).__class__ is C"
    assert (await repl(environment, code)).text == "True"
    assert "EOFError" in (await repl(environment, "input()")).text


async def test_scripts_leave_the_session_alone(environment: Environment) -> None:
    await repl(environment, "x = 5")
    await environment.execute(Action(name="Execute Script", arguments={"script_name": "train.py"}))
    assert (await repl(environment, "x")).text == "5"


async def test_a_call_that_takes_too_long_is_interrupted_and_state_stays(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    await repl(environment, "import time\nx = 1")
    monkeypatch.setattr(execute, "REPL_SECONDS", 1.0)
    slow = await repl(environment, "x = 2\nprint('before', flush=True)\ntime.sleep(60)\nx = 3")
    assert (slow.status, slow.limit) == ("limit", "wall time")
    assert slow.text.startswith("before\n")
    assert "interrupted: ended by the limit on wall time (1 s)" in slow.text
    assert (await repl(environment, "x")).text == "2"


@pytest.mark.slow
async def test_a_call_that_resists_loses_the_session_and_says_so(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    await repl(environment, "x = 1")
    monkeypatch.setattr(execute, "REPL_SECONDS", 0.5)
    stubborn = (
        "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n"
        "        pass"
    )
    lost = await repl(environment, stubborn)
    assert lost.status == "limit"
    assert "The session was lost: it could not be interrupted" in lost.text
    monkeypatch.setattr(execute, "REPL_SECONDS", 20.0)
    after = await repl(environment, "x")
    assert after.text.startswith("[The Python session is new")
    assert "NameError" in after.text
    assert "The Python session is new" not in (await repl(environment, "1")).text


async def test_endless_output_is_cut_off(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "REPL_BYTES", 100_000)
    started = time.monotonic()
    flood = await repl(environment, "x = 1\nwhile True: print('spam')")
    assert (flood.status, flood.limit) == ("limit", "output size")
    assert len(flood.text) < 25_000
    assert time.monotonic() - started < 200
    assert (await repl(environment, "x")).text == "1"


async def test_a_session_that_dies_is_said_and_replaced(environment: Environment) -> None:
    await repl(environment, "x = 1")
    died = await repl(environment, "import os; print('last', flush=True); os._exit(9)")
    assert died.status == "error"
    assert died.text.startswith("last\n")
    assert "The session was lost: its process ended with exit code 9" in died.text
    assert (await repl(environment, "2")).text.startswith("[The Python session is new")


async def test_memory_of_the_session_is_limited(environment: Environment) -> None:
    hungry = "x = bytearray(3_000_000_000)\nx[::4096] = b'1' * len(x[::4096])"
    eaten = await repl(environment, hungry)
    assert eaten.status == "limit", eaten
    assert eaten.limit == "memory"
    assert "The session was lost: ended by the limit on memory" in eaten.text
    assert (await repl(environment, "1")).text.endswith("1")


async def test_after_reopening_it_is_new_and_tells_its_history(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        await repl(environment, "x = 1")
        await repl(environment, "open('made', 'a').write('once')")
    async with open_environment() as environment:
        assert (await repl(environment, "open('made').read()")).text == (
            "[The Python session is new: variables and imports of earlier calls are gone.]\n"
            "[Earlier calls, not run again:]\n>>> x = 1\n>>> open('made', 'a').write('once')\n"
            "[This call:]\n'once'"
        )
        assert (await repl(environment, "1")).text == "1"


async def test_files_of_the_workspace_do_not_stand_in_for_the_standard_library(
    environment: Environment,
) -> None:
    for name in ("queue", "socket", "mine"):
        arguments = {"file_name": f"{name}.py", "content": "print('mine')"}
        await environment.execute(Action(name="Write File", arguments=arguments))
    assert (await repl(environment, "1 + 1")).text == "2"
    assert (await repl(environment, "import mine")).text == "mine"
