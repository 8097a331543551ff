"""Actions on files that no honest experiment makes: each is an observation, and the run goes on."""

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from small_task import OpenRun

from mlagentbench.environment.actions.action import MAX_TEXT
from mlagentbench.environment.environment import Environment
from mlagentbench.records import Action, Observation

pytestmark = pytest.mark.anyio


@pytest.fixture
async def environment(open_environment: OpenRun) -> AsyncIterator[Environment]:
    async with open_environment() as opened:
        yield opened


async def do(environment: Environment, name: str, **arguments: Any) -> Observation:
    return await environment.execute(Action(name=name, arguments=arguments))


async def run(environment: Environment, code: str) -> None:
    await do(environment, "Write File", file_name="odd.py", content=code)
    assert (await do(environment, "Execute Script", script_name="odd.py")).status == "ok"


async def test_a_pipe_that_is_read_takes_nothing_with_it(environment: Environment) -> None:
    code = "import os; os.mkfifo('pipe'); held = os.open('pipe', os.O_RDWR)"
    await do(environment, "Python REPL", command=code)
    seen = await do(environment, "Read File", file_name="pipe")
    assert (seen.status, seen.text) == ("error", "pipe is a named pipe, not a file")
    assert (await do(environment, "Python REPL", command="held > 2")).text == "True"


async def test_a_huge_file_is_not_brought_back_through_the_harness(
    environment: Environment,
) -> None:
    await run(environment, f"open('huge', 'w').truncate({MAX_TEXT + 1})")
    await do(environment, "Write File", file_name="huge", content="small")
    undone = await do(environment, "Undo Edit Script", script_name="huge")
    assert undone.status == "error"
    assert undone.text.startswith("huge before its last change has 50,000,001 bytes")
    assert (await do(environment, "Read File", file_name="huge")).text == "small"


async def test_a_workspace_that_the_agent_closed_goes_on(environment: Environment) -> None:
    await run(environment, "import os; os.chmod('/workspace', 0)")
    assert (await do(environment, "Read File", file_name="fixed.py")).text == "LIMIT = 1\n"
    code = "import os; os.chmod('/workspace', 0); os.kill(os.getppid(), 9)"
    await do(environment, "Write File", file_name="kill.py", content=code)
    killed = await do(environment, "Execute Script", script_name="kill.py")
    assert "was started anew" in killed.text
    assert (await do(environment, "Read File", file_name="fixed.py")).text == "LIMIT = 1\n"


async def test_a_closed_directory_is_said_to_be_closed(environment: Environment) -> None:
    await run(environment, "import os; os.mkdir('closed', 0)")
    assert (await do(environment, "List Files", dir_path="closed")).text == (
        "closed cannot be read: permission denied"
    )


async def test_names_of_any_bytes_are_kept(environment: Environment) -> None:
    await run(
        environment,
        "import os\n"
        "for name in (b'\\xff\\xfe', b'new\\nline', b'\\xf0' * 255):\n"
        "    open(name, 'wb').write(name)\n"
        "os.mkfifo(b'\\xff pipe')\n"
        "os.symlink(b'/\\xff', b'link')\n",
    )
    snapshot = environment.steps[-1].snapshot
    await environment.close()
    (environment.run.work / "new\nline").unlink()
    environment.snapshots.restore(snapshot)
    names = {os.fsencode(path.name) for path in environment.run.work.iterdir()}
    assert {b"\xff\xfe", b"new\nline", b"\xf0" * 255, b"link"} <= names
    assert (environment.run.work / "new\nline").read_bytes() == b"new\nline"
