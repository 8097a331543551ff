"""The actions, carried out in the real sandbox."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from small_task import OpenRun

from mlagentbench.environment.actions.action import ActionSpec, action, as_tool
from mlagentbench.environment.actions.action_sets import STANDARD_ACTIONS
from mlagentbench.environment.actions.files import MAX_SHOWN
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ActionError, RunEnded, RunFailed
from mlagentbench.records import Action, Observation

pytestmark = pytest.mark.anyio


@pytest.fixture
async def environment(open_environment: OpenRun) -> AsyncIterator[Environment]:
    async with open_environment() as opened:
        yield opened


async def do(environment: Environment, name: str, **arguments: Any) -> Observation:
    return await environment.execute(Action(name=name, arguments=arguments))


async def text(environment: Environment, name: str, **arguments: Any) -> str:
    observation = await do(environment, name, **arguments)
    assert observation.status == "ok", observation
    return observation.text


async def fault(environment: Environment, name: str, **arguments: Any) -> str:
    observation = await do(environment, name, **arguments)
    assert observation.status == "error", observation
    return observation.text


async def test_list_files_shows_what_the_sandbox_sees(environment: Environment) -> None:
    assert (await text(environment, "List Files")).splitlines() == [
        "fixed.py  10 bytes, read-only",
        "images/, read-only",
        "notes/",
        "test.csv  7 bytes, read-only",
        "train.csv  21 bytes, read-only",
        "train.py  " + str((environment.run.work / "train.py").stat().st_size) + " bytes",
    ]
    assert await text(environment, "List Files", dir_path="images") == "one.txt  2 bytes, read-only"
    assert await fault(environment, "List Files", dir_path="none") == "none does not exist"
    assert await fault(environment, "List Files", dir_path="fixed.py") == (
        "fixed.py is not a directory"
    )


async def test_list_files_bears_odd_names_and_many_files(environment: Environment) -> None:
    make = (
        "import os\n"
        "os.makedirs('many'); os.makedirs('odd')\n"
        "for n in range(510): open(f'many/{n:03}', 'w').close()\n"
        "for name in ('tab\\t', 'new\\nline', '-rf', 'ü'): open(f'odd/{name}', 'w').close()\n"
        "os.symlink('/etc', 'odd/link')\n"
    )
    await text(environment, "Write File", file_name="make.py", content=make)
    await text(environment, "Execute Script", script_name="make.py")
    many = (await text(environment, "List Files", dir_path="many")).splitlines()
    assert len(many) == 501
    assert many[-1] == "... and 10 more"
    odd = (await text(environment, "List Files", dir_path="odd")).splitlines()
    assert "-rf  0 bytes" in odd
    assert "link -> /etc" in odd
    assert "'new\\nline'  0 bytes" in odd
    assert len(odd) == 5


async def test_files_are_written_read_appended_and_copied(environment: Environment) -> None:
    written = await text(environment, "Write File", file_name="a/b.txt", content="one\ntwo\n")
    assert written == "a/b.txt was written: 2 lines, 8 characters"
    await text(environment, "Append File", file_name="a/b.txt", content="drei ü\n")
    await text(environment, "Append File", file_name="new.txt", content="new")
    await text(environment, "Copy File", source="a/b.txt", destination="c/d.txt")
    assert await text(environment, "Read File", file_name="c/d.txt") == "one\ntwo\ndrei ü\n"
    assert await text(environment, "Read File", file_name="new.txt") == "new"
    await text(environment, "Copy File", source="train.csv", destination="mine.csv")
    assert (await text(environment, "Read File", file_name="mine.csv")).startswith("id,y\n")
    await text(environment, "Write File", file_name="empty", content="")
    assert await text(environment, "Read File", file_name="empty") == "empty is empty"


async def test_a_piece_of_a_file_is_replaced_and_can_be_taken_back(
    environment: Environment,
) -> None:
    lines = "a = 1\r\nb = 1\nc = 'ü'\n"
    await text(environment, "Write File", file_name="x.py", content=lines)
    said = await text(environment, "Replace in File", file_name="x.py", old="b = 1\n", new="")
    assert said == "x.py was changed at line 2"
    assert await text(environment, "Read File", file_name="x.py") == "a = 1\r\nc = 'ü'\n"
    await text(environment, "Undo Edit Script", script_name="x.py")
    assert await text(environment, "Read File", file_name="x.py") == lines
    for old, reason in [("= 1", "2 times"), ("= 2", "0 times"), ("", "is empty")]:
        arguments = {"file_name": "x.py", "old": old, "new": "-"}
        assert reason in await fault(environment, "Replace in File", **arguments)
    assert await text(environment, "Read File", file_name="x.py") == lines


NO_UNICODE = "the arguments cannot be used: a text is not valid Unicode"


async def test_what_cannot_be_read_or_written_is_said(environment: Environment) -> None:
    await text(environment, "Write File", file_name="file", content="x")
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("Read File", {"file_name": "none"}, "none does not exist"),
        ("Read File", {"file_name": "notes"}, "notes is a directory, not a file"),
        ("Append File", {"file_name": "notes", "content": ""}, "notes is a directory, not a file"),
        ("Copy File", {"source": "none", "destination": "x"}, "cannot stat 'none': No such file"),
        ("Copy File", {"source": "notes", "destination": "x"}, "-r not specified"),
        ("Copy File", {"source": "file", "destination": "notes"}, "cannot overwrite directory"),
        ("Write File", {"file_name": "file/x", "content": ""}, "file/x: a part of the path is a"),
        ("Write File", {"file_name": "x", "content": "\ud800"}, f"Write File: {NO_UNICODE}"),
        ("Read File", {"file_name": "file", "start_line_number": 2}, "file has only 1 lines"),
        ("Read File", {"file_name": "a\ud800"}, f"Read File: {NO_UNICODE}"),
        ("List Files", {"dir_path": "\ud800"}, f"List Files: {NO_UNICODE}"),
        ("Execute Script", {"script_name": "train.py", "arguments": "a\0"}, "arguments: 'a\\x00'"),
        ("Execute Script", {"script_name": "train.py", "arguments": ["\0"]}, "arguments: "),
    ]
    for name, arguments, message in cases:
        assert (await fault(environment, name, **arguments)).startswith(message)


async def test_the_tasks_own_files_are_refused_and_stay(environment: Environment) -> None:
    for name, arguments in [
        ("Write File", {"file_name": "train.csv", "content": "x"}),
        ("Append File", {"file_name": "./images/one.txt", "content": "x"}),
        ("Copy File", {"source": "train.py", "destination": "fixed.py"}),
        ("Replace in File", {"file_name": "fixed.py", "old": "1", "new": "2"}),
        ("Undo Edit Script", {"script_name": "fixed.py"}),
        ("Read File", {"file_name": "/etc/passwd"}),
        ("Write File", {"file_name": "../elsewhere", "content": "x"}),
        ("Execute Script", {"script_name": "/usr/lib/x.py"}),
        ("List Files", {"dir_path": "/"}),
    ]:
        observation = await do(environment, name, **arguments)
        assert observation.status == "refused", observation
    assert (await text(environment, "Read File", file_name="fixed.py")) == "LIMIT = 1\n"


async def test_scripts_cannot_change_the_tasks_own_files_either(environment: Environment) -> None:
    script = (
        "import os\n"
        "for name in ('train.csv', 'fixed.py', 'images/one.txt'):\n"
        "    for attack in (lambda: open(name, 'w'), lambda: os.unlink(name),\n"
        "                   lambda: os.rename(name, 'x'), lambda: os.chmod(name, 0o777)):\n"
        "        try:\n"
        "            attack()\n"
        "            print('changed', name)\n"
        "        except OSError:\n"
        "            pass\n"
    )
    await text(environment, "Write File", file_name="attack.py", content=script)
    seen = await text(environment, "Execute Script", script_name="attack.py")
    assert seen == "The script ended well, without output."


async def test_long_files_say_how_to_read_on(environment: Environment) -> None:
    lines = [f"line {number} " + "x" * 90 for number in range(1, 501)]
    await text(environment, "Write File", file_name="long.txt", content="\n".join(lines))
    seen: list[str] = []
    start = 1
    while True:
        part = await text(environment, "Read File", file_name="long.txt", start_line_number=start)
        *shown, last = part.splitlines()
        assert len(part) < MAX_SHOWN + 200
        if not last.startswith("[Cut off"):
            seen += [*shown, last]
            break
        seen += shown
        assert last.endswith(f"Read on with start_line_number {len(seen) + 1}.]")
        start = len(seen) + 1
    assert seen == lines
    await text(environment, "Write File", file_name="wide.txt", content="y" * 30_000)
    assert "Line 1 of 1 is cut off after 20,000 of 30,000" in await text(
        environment, "Read File", file_name="wide.txt"
    )


async def test_binary_files_are_not_shown(environment: Environment) -> None:
    script = "open('x.bin', 'wb').write(bytes(range(256)))"
    await text(environment, "Write File", file_name="make.py", content=script)
    await text(environment, "Execute Script", script_name="make.py")
    assert await fault(environment, "Read File", file_name="x.bin") == (
        "x.bin is a binary file of 256 bytes, not a text"
    )


async def test_files_too_large_for_a_text_are_copied_but_not_read(environment: Environment) -> None:
    script = "open('big', 'wb').truncate(60_000_000); open('-x.py', 'w').write('print(7)')"
    await text(environment, "Write File", file_name="make.py", content=script)
    await text(environment, "Execute Script", script_name="make.py")
    await text(environment, "Copy File", source="big", destination="deep/er/copy")
    assert (environment.run.work / "deep/er/copy").stat().st_size == 60_000_000
    for name, arguments in [("Read File", {}), ("Append File", {"content": "x"})]:
        assert "big has 60,000,000 bytes, more than" in await fault(
            environment, name, file_name="big", **arguments
        )
    assert await text(environment, "Execute Script", script_name="-x.py") == "7"


async def test_inspect_script_lines(environment: Environment) -> None:
    content = "\n".join(f"x{number}" for number in range(1, 151))
    await text(environment, "Write File", file_name="s.py", content=content)
    seen = await text(
        environment,
        "Inspect Script Lines",
        script_name="s.py",
        start_line_number=149,
        end_line_number=160,
    )
    assert seen == "s.py, lines 149 to 150 of 150\n  149 x149\n  150 x150"
    for start, end, message in [
        (1, 101, "at most 100 lines can be shown at once"),
        (5, 4, "end_line_number is smaller than start_line_number"),
        (151, 152, "s.py has only 150 lines"),
    ]:
        assert message == await fault(
            environment,
            "Inspect Script Lines",
            script_name="s.py",
            start_line_number=start,
            end_line_number=end,
        )
    assert "start_line_number: input should be greater than or equal to 1" in await fault(
        environment,
        "Inspect Script Lines",
        script_name="s.py",
        start_line_number=0,
        end_line_number=1,
    )


async def test_undo_goes_back_several_changes(environment: Environment) -> None:
    original = await text(environment, "Read File", file_name="train.py")
    await text(environment, "Write File", file_name="train.py", content="one")
    await text(environment, "Append File", file_name="/workspace/train.py", content=" two")
    await text(environment, "Copy File", source="fixed.py", destination="notes/../train.py")
    for expected, left in [
        ("one two", "2 earlier changes"),
        ("one", "1 earlier change "),
        (original, "0"),
    ]:
        assert left in await text(environment, "Undo Edit Script", script_name="train.py")
        assert await text(environment, "Read File", file_name="train.py") == expected
    assert "there is no change of train.py" in await fault(
        environment, "Undo Edit Script", script_name="train.py"
    )
    await text(environment, "Write File", file_name="new.py", content="x")
    assert "was removed" in await text(environment, "Undo Edit Script", script_name="new.py")
    assert await fault(environment, "Read File", file_name="new.py") == "new.py does not exist"


async def test_undo_brings_back_what_a_script_had_made(environment: Environment) -> None:
    await text(environment, "Write File", file_name="s.sh", content="echo made > out.txt")
    await text(environment, "Execute Script", script_name="s.sh")
    await text(environment, "Write File", file_name="out.txt", content="edited")
    await text(environment, "Undo Edit Script", script_name="out.txt")
    assert await text(environment, "Read File", file_name="out.txt") == "made\n"


async def test_scripts_get_arguments_seed_and_their_own_status(environment: Environment) -> None:
    seen = await text(
        environment, "Execute Script", script_name="train.py", arguments="--a 'b c' 1"
    )
    assert seen == "mean 2.5 arguments ['--a', 'b c', '1'] seed 7"
    seen = await text(
        environment, "Execute Script", script_name="train.py", arguments=["b c", 1, 0.5]
    )
    assert "['b c', '1', '0.5']" in seen
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    await text(environment, "Write File", file_name="fails.py", content=script)
    observation = await do(environment, "Execute Script", script_name="fails.py")
    assert (observation.status, observation.exit_code) == ("error", 3)
    assert observation.text == "out\nerr\n[The script failed with exit code 3.]"
    assert "No such file" in await fault(environment, "Execute Script", script_name="none.py")
    assert "neither a Python script" in await fault(
        environment, "Execute Script", script_name="train.csv"
    )
    assert "arguments: No closing quotation" in await fault(
        environment, "Execute Script", script_name="train.py", arguments="'"
    )


async def test_output_is_streamed_cut_and_kept_whole(environment: Environment) -> None:
    live: list[bytes] = []
    environment.on_output.append(live.append)
    script = "for n in range(9000): print('line', n)"
    await text(environment, "Write File", file_name="talk.py", content=script)
    seen = await text(environment, "Execute Script", script_name="talk.py")
    assert seen.startswith("line 0\n")
    assert seen.endswith("line 8999")
    assert "characters are left out here" in seen
    assert len(seen) < 21_000
    whole = "".join(f"line {n}\n" for n in range(9000)).encode()
    assert b"".join(live) == whole
    assert environment.run.output_log.read_bytes() == whole


async def test_progress_bars_leave_their_last_state(environment: Environment) -> None:
    script = "for n in range(100): print(f'\\r{n} %', end='', flush=True)\nprint()\nprint('end')"
    await text(environment, "Write File", file_name="bar.py", content=script)
    assert await text(environment, "Execute Script", script_name="bar.py") == "99 %\nend"


async def test_limits_end_the_script_not_the_run(environment: Environment) -> None:
    hungry = "x = bytearray(3_000_000_000)\nx[::4096] = b'1' * len(x[::4096])\nprint('ate')"
    await text(environment, "Write File", file_name="hungry.py", content=hungry)
    observation = await do(environment, "Execute Script", script_name="hungry.py")
    assert observation.status == "limit", observation
    assert observation.limit == "memory"
    assert "ended by the limit on memory" in observation.text
    assert "mean 2.5" in await text(environment, "Execute Script", script_name="train.py")


async def test_unknown_actions_and_arguments_get_help(environment: Environment) -> None:
    assert "Did you mean Read File?" in await fault(environment, "Reed File", file_name="x")
    assert "Actions: List Files, Understand File" in await fault(environment, "Dance")
    message = await fault(environment, "Read File", filename="train.py")
    assert "the argument file_name is missing" in message
    assert "unknown argument filename, did you mean file_name?" in message
    assert 'Usage: {"file_name": ' in message
    assert "file_name: input should be a valid string" in await fault(
        environment, "Read File", file_name=["x"]
    )
    assert (await text(environment, "read_file", file_name="fixed.py")) == "LIMIT = 1\n"


async def test_validate_submission_says_what_is_wrong(environment: Environment) -> None:
    assert await fault(environment, "Validate Submission") == (
        "submission.csv is not a valid submission: submission.csv not found"
    )
    await text(environment, "Write File", file_name="submission.csv", content="id,y\n5,1\n")
    assert "1 missing, first: 6" in await fault(environment, "Validate Submission")
    await text(environment, "Execute Script", script_name="train.py")
    assert await text(environment, "Validate Submission") == (
        "submission.csv is a valid submission."
    )


@pytest.mark.slow
async def test_a_file_that_breaks_the_check_is_not_a_valid_submission(
    environment: Environment,
) -> None:
    grader = environment.task.folder / "grade.py"
    crash = "    if 'crash' in submission.read_text(): raise KeyError('crash')\n"
    checked = "def check_format(submission: Path, public: Path) -> None:\n"
    grader.write_text(grader.read_text().replace(checked, checked + crash))
    await text(environment, "Write File", file_name="submission.csv", content="crash")
    with pytest.raises(RunFailed, match="has no known-good submission"):
        await do(environment, "Validate Submission")
    trivial = "def known_good(public):\n    return 'id,y\\n5,1\\n6,1\\n'\n"
    (environment.task.folder / "trivial.py").write_text(trivial)
    assert "grade.check_format() failed (KeyError) on this submission, twice" in await fault(
        environment, "Validate Submission"
    )


async def test_final_answer_ends_the_run(environment: Environment) -> None:
    assert "final_answer is missing" in await fault(environment, "Final Answer")
    with pytest.raises(RunEnded) as ended:
        await do(environment, "Final Answer", final_answer="all done")
    assert (ended.value.kind, ended.value.detail) == ("submitted", "all done")
    assert environment.steps[-1].observation.text.endswith("all done")
    with pytest.raises(RunEnded):
        await do(environment, "List Files")
    assert len(environment.steps) == 2


def test_actions_describe_themselves() -> None:
    for spec in STANDARD_ACTIONS:
        assert spec.usage().startswith(f"{spec.name}: ")
        for name, schema in spec.parameters.get("properties", {}).items():
            assert schema["description"]
            assert f"    {name}" in spec.usage()
    assert len({spec.tool_name for spec in STANDARD_ACTIONS}) == len(STANDARD_ACTIONS)
    assert STANDARD_ACTIONS[1].parameters["required"] == ["file_name"]


def test_an_action_needs_a_meaning_for_every_argument() -> None:
    with pytest.raises(KeyError, match="undocumented"):

        @action("Odd")
        async def odd(_at: object, undocumented: str) -> str:
            """Do it."""
            return undocumented


def test_arguments_are_checked_by_type() -> None:
    @action("Count")
    async def count(_at: object, number: int, names: list[str] | None = None) -> str:
        """Count.

        Args:
            number: How many.
            names: Of what,
                in order.
        """
        return f"{number} {names}"

    assert isinstance(count, ActionSpec)
    assert count.check({"number": "3"}) == {"number": 3, "names": None}
    assert count.usage().endswith("names (optional): Of what, in order.")
    with pytest.raises(ActionError, match="number: input should be a valid integer"):
        count.check({"number": "three"})


async def test_actions_are_inspect_tools(environment: Environment) -> None:
    from inspect_ai._util.exception import TerminateSampleError
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        execute_tools,
    )
    from inspect_ai.tool import ToolCall

    tools = [as_tool(environment, spec) for spec in STANDARD_ACTIONS]
    calls = [
        ToolCall(id="1", function="read_file", arguments={"file_name": "fixed.py"}),
        ToolCall(id="2", function="write_file", arguments={"file_name": "fixed.py", "content": ""}),
        ToolCall(id="3", function="read_file", arguments={"file_name": "none"}),
    ]
    conversation: list[ChatMessage] = [
        ChatMessageUser(content="go"),
        ChatMessageAssistant(content="", tool_calls=calls),
    ]
    messages, _ = await execute_tools(conversation, tools)
    assert messages[0].text == "LIMIT = 1\n"
    errors = [one.error for one in messages[1:3] if isinstance(one, ChatMessageTool)]
    assert errors[0] is not None and "is read-only" in errors[0].message
    assert errors[1] is not None and errors[1].message == "none does not exist"
    end = ToolCall(id="4", function="final_answer", arguments={"final_answer": "x"})
    with pytest.raises(TerminateSampleError):
        await execute_tools([ChatMessageAssistant(content="", tool_calls=[end])], tools)
