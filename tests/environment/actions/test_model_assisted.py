"""Actions that ask a model or a person, in the real sandbox."""

from typing import Any

import anyio
import pytest
from inspect_ai.model import ChatMessage, Model
from scripted_model import Said, scripted, scripted_by, text_reply
from small_task import TRAIN, OpenRun

from mlagentbench.environment.actions.action_sets import (
    ALL_ACTIONS,
    PAPER_ACTIONS,
    choose_actions,
    with_help,
    without_help,
)
from mlagentbench.environment.actions.model_assisted import MOST_EDITED, MOST_REWRITTEN, NO_ANSWER
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Action, Observation
from mlagentbench.runs.journal import read_journal

pytestmark = pytest.mark.anyio

LONG = "".join(f"x{n} = {n}\n" for n in range(1000))
SEGMENT = "Edit Script Segment (AI)"


async def do(environment: Environment, name: str, **arguments: Any) -> Observation:
    return await environment.execute(Action(name=name, arguments=arguments))


async def edit(
    environment: Environment, script: str, instruction: str = "improve it", **more: Any
) -> Observation:
    arguments = {"script_name": script, "edit_instruction": instruction, **more}
    return await do(environment, "Edit Script (AI)", **arguments)


async def contents(environment: Environment, path: str) -> str:
    return (await environment.sandbox.read(path)).decode()


def remembering(asked: list[str], *replies: Said) -> Model:
    """Says these, and keeps what it was asked."""
    left = iter(replies)

    def answer(messages: list[ChatMessage], *_: object) -> Said:
        asked.append(messages[0].text)
        return next(left)

    return scripted_by(answer)


def editor(*replies: Said) -> dict[str, Model]:
    return {"main": scripted(), "fast": scripted(), "edit": scripted(*replies)}


def file_reply(text: str) -> str:
    return f"Here it is:\n```python\n{text}```\nAll done."


async def test_a_script_is_rewritten_and_the_change_can_be_taken_back(
    open_environment: OpenRun,
) -> None:
    asked: list[str] = []
    changed = TRAIN.replace('"mean"', '"average"').lstrip("\n")
    models = {**editor(), "edit": remembering(asked, file_reply(changed))}
    async with open_environment(models=models) as environment:
        before = await contents(environment, "train.py")
        seen = await edit(environment, "train.py", "Print average, not mean.")
        assert seen.status == "ok"
        assert "train.py was edited" in seen.text
        assert '\n-print("mean", mean' in seen.text
        assert '\n+print("average", mean' in seen.text
        assert await contents(environment, "train.py") == changed
        assert "Print average, not mean." in asked[0]
        assert before in asked[0]
        undone = await do(environment, "Undo Edit Script", script_name="train.py")
        assert undone.status == "ok"
        assert await contents(environment, "train.py") == before
        [line] = environment.models.replies
        assert (line.role, line.step) == ("edit", 1)


async def test_a_change_saved_elsewhere_leaves_the_script_alone(open_environment: OpenRun) -> None:
    models = editor(file_reply("print(1)\n"), file_reply(TRAIN))
    async with open_environment(models=models) as environment:
        seen = await edit(environment, "train.py", save_name="new/b.py")
        assert "saved as new/b.py" in seen.text
        assert "+++ new/b.py" in seen.text
        assert await contents(environment, "train.py") == TRAIN
        assert await contents(environment, "new/b.py") == "print(1)\n"
        assert (await edit(environment, "train.py", save_name="c.py")).text == (
            "train.py was edited and saved as c.py:\n\n(no line changed)"
        )
        for name in ("new/b.py", "c.py"):
            assert (await do(environment, "Undo Edit Script", script_name=name)).status == "ok"
            assert not (environment.run.work / name).exists()


async def test_a_new_script_is_written(open_environment: OpenRun) -> None:
    models = editor(file_reply("print(1)\n"))
    async with open_environment(models=models) as environment:
        seen = await edit(environment, "fresh.py", "Print 1.")
        assert (
            seen.text == "fresh.py is new:\n\n--- fresh.py\n+++ fresh.py\n@@ -0,0 +1 @@\n+print(1)"
        )
        assert await contents(environment, "fresh.py") == "print(1)\n"


async def test_a_long_script_is_changed_by_blocks(open_environment: OpenRun) -> None:
    assert len(LONG) > MOST_REWRITTEN
    blocks = (
        "<<<<<<< SEARCH\nx7 = 7\n=======\nx7 = 8\n>>>>>>> REPLACE\n"
        "<<<<<<< SEARCH\nx999 = 999\n=======\n>>>>>>> REPLACE\n"
    )
    failing = blocks + "<<<<<<< SEARCH\nx7 = 7\n=======\nx7 = 9\n>>>>>>> REPLACE\n"
    async with open_environment(models=editor(failing, blocks)) as environment:
        await do(environment, "Write File", file_name="long.py", content=LONG)
        seen = await edit(environment, "long.py")
        assert seen.status == "error"
        assert "search/replace block 3 of 3" in seen.text
        assert "found 0 times" in seen.text
        assert await contents(environment, "long.py") == LONG
        seen = await edit(environment, "long.py")
        assert seen.status == "ok"
        assert "-x7 = 7\n+x7 = 8\n" in seen.text
        after = LONG.replace("x7 = 7\n", "x7 = 8\n").replace("x999 = 999\n", "")
        assert await contents(environment, "long.py") == after
        await do(environment, "Undo Edit Script", script_name="long.py")
        assert await contents(environment, "long.py") == LONG


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I think it is fine.", "has no code block"),
        ("", "has no code block"),
        ("```python\nprint(1)\n", "does not end"),
        ("```python\n```", "is empty"),
        (text_reply("```python\nprint(1)\n", stop_reason="max_tokens"), "cut off"),
        (text_reply("", stop_reason="model_length"), "longer than mockllm/model can read"),
    ],
)
async def test_an_answer_of_no_use_is_an_observation_and_changes_nothing(
    open_environment: OpenRun, reply: Said, reason: str
) -> None:
    async with open_environment(models=editor(reply)) as environment:
        seen = await edit(environment, "train.py")
        assert seen.status == "error"
        assert reason in seen.text
        assert await contents(environment, "train.py") == TRAIN
        undone = await do(environment, "Undo Edit Script", script_name="train.py")
        assert "no change of train.py" in undone.text


async def test_a_model_that_refuses_does_not_end_the_run(open_environment: OpenRun) -> None:
    no = text_reply("I cannot help with that.", stop_reason="content_filter")
    async with open_environment(models=editor(no, no, no)) as environment:
        seen = await edit(environment, "train.py")
        assert seen.status == "error"
        assert "I cannot help with that." in seen.text
        assert (await do(environment, "List Files")).status == "ok"


async def test_a_provider_that_fails_fails_the_run(open_environment: OpenRun) -> None:
    async with open_environment(models=editor(RuntimeError("no capacity"))) as environment:
        with pytest.raises(RunFailed, match="no capacity"):
            await edit(environment, "train.py")
    async with open_environment(models=editor()) as environment:
        assert environment.steps[-1].observation.status == "interrupted"
        assert await contents(environment, "train.py") == TRAIN


async def test_an_unchanged_script_is_said_so_and_cannot_be_undone(
    open_environment: OpenRun,
) -> None:
    async with open_environment(models=editor(file_reply(TRAIN))) as environment:
        seen = await edit(environment, "train.py", save_name="./train.py")
        assert seen.text == "The edit model left train.py as it is: nothing changed."
        assert (await do(environment, "Undo Edit Script", script_name="train.py")).status == "error"


@pytest.mark.parametrize(
    ("script", "save_name", "status", "reason"),
    [
        ("fixed.py", "", "refused", "read-only"),
        ("train.py", "train.csv", "refused", "read-only"),
        ("train.py", "../train.py", "refused", "outside of the workspace"),
        ("/etc/passwd", "a.py", "refused", "outside of the workspace"),
        ("model.bin", "", "error", "binary file"),
        ("latin.py", "", "error", "not UTF-8"),
        ("huge.py", "", "error", f"more than the {MOST_EDITED:,}"),
        ("notes", "", "error", "is a directory"),
        ("", "", "error", "is not a path"),
    ],
)
async def test_what_cannot_be_edited_asks_no_model(
    open_environment: OpenRun, script: str, save_name: str, status: str, reason: str
) -> None:
    async with open_environment(models=editor()) as environment:
        await environment.sandbox.write("model.bin", b"\0\1\2")
        await environment.sandbox.write("latin.py", "# café\n".encode("latin-1"))
        await environment.sandbox.write("huge.py", b"x = 1\n" * 40_000)
        seen = await edit(environment, script, save_name=save_name)
        assert (seen.status, reason in seen.text) == (status, True), seen
        lines = {"start_line_number": 1, "end_line_number": 1}
        seen = await do(environment, SEGMENT, script_name=script, edit_instruction="x",
                        save_name=save_name, **lines)  # fmt: skip
        assert (seen.status, reason in seen.text) == (status, True), seen


async def test_line_ends_of_windows_stay(open_environment: OpenRun) -> None:
    async with open_environment(models=editor(file_reply("a = 1\nb = 3\n"))) as environment:
        await environment.sandbox.write("dos.py", b"a = 1\r\nb = 2\r\n")
        seen = await edit(environment, "dos.py")
        assert "-b = 2\n+b = 3" in seen.text
        assert "-a = 1" not in seen.text
        assert await environment.sandbox.read("dos.py") == b"a = 1\r\nb = 3\r\n"


async def test_a_segment_is_edited(open_environment: OpenRun) -> None:
    asked: list[str] = []
    replies = ["```python\n    b = 3\n```", "```\n```", "```\nlast\n```", "no block"]
    models = {**editor(), "edit": remembering(asked, *replies)}
    async with open_environment(models=models) as environment:
        await environment.sandbox.write("a.py", b"if x:\n    b = 1\n    b = 2\nend")
        arguments = {"script_name": "a.py", "edit_instruction": "only once"}
        lines = {"start_line_number": 2, "end_line_number": 3}
        seen = await do(environment, SEGMENT, **arguments, **lines, save_name="b.py")
        assert seen.status == "ok"
        assert "-    b = 1\n-    b = 2\n+    b = 3\n" in seen.text
        assert await contents(environment, "b.py") == "if x:\n    b = 3\nend"
        assert "only once" in asked[0]
        assert "```\n    b = 1\n    b = 2\n```" in asked[0]
        await do(environment, SEGMENT, **arguments, **lines)
        assert await contents(environment, "a.py") == "if x:\nend"
        await do(environment, SEGMENT, **arguments, start_line_number=2, end_line_number=99)
        assert await contents(environment, "a.py") == "if x:\nlast\n"
        seen = await do(environment, SEGMENT, **arguments, **lines | {"end_line_number": 2})
        assert "no code block" in seen.text
        assert await contents(environment, "a.py") == "if x:\nlast\n"
        for expected in ("if x:\nend", "if x:\n    b = 1\n    b = 2\nend"):
            await do(environment, "Undo Edit Script", script_name="a.py")
            assert await contents(environment, "a.py") == expected


@pytest.mark.parametrize(
    ("script", "first", "last", "reason"),
    [
        ("train.py", 3, 2, "smaller"),
        ("train.py", 99, 99, "has only 9 lines"),
        ("none.py", 1, 1, "none.py does not exist"),
    ],
)
async def test_segments_that_are_none(
    open_environment: OpenRun, script: str, first: int, last: int, reason: str
) -> None:
    async with open_environment(models=editor()) as environment:
        seen = await do(
            environment, SEGMENT, script_name=script, edit_instruction="x",
            start_line_number=first, end_line_number=last,
        )  # fmt: skip
        assert seen.status == "error"
        assert reason in seen.text


async def test_a_file_is_understood(open_environment: OpenRun) -> None:
    asked: list[str] = []
    models = {"main": scripted(), "fast": remembering(asked, "It trains.", *["part"] * 20, "All.")}
    async with open_environment(models=models) as environment:
        ask = {"things_to_look_for": "the target column"}
        seen = await do(environment, "Understand File", file_name="train.py", **ask)
        assert seen.text == "It trains."
        assert "train.py" in asked[0]
        assert "the target column" in asked[0]
        assert "csv.DictReader" in asked[0]
        await environment.sandbox.write("huge.csv", b"1,2\n" * 100_000)
        seen = await do(environment, "Understand File", file_name="huge.csv", **ask)
        assert seen.text == "All.\n[Of 400,000 characters, 200,000 at its two ends were read.]"
        await environment.sandbox.write("empty.py", b"\n")
        await environment.sandbox.write("model.bin", b"\0")
        for name, told in {
            "empty.py": "empty.py is empty",
            "model.bin": "binary file",
            "none.py": "none.py does not exist",
            "../a.py": "outside of the workspace",
        }.items():
            seen = await do(environment, "Understand File", file_name=name, **ask)
            assert told in seen.text


async def test_reflection_sees_past_steps(open_environment: OpenRun) -> None:
    asked: list[str] = []
    models = {"main": scripted(), "fast": remembering(asked, "The mean is too simple.")}
    async with open_environment(models=models) as environment:
        nothing = await do(environment, "Reflection", things_to_reflect_on="what now?")
        assert nothing.text == "Nothing has been done yet that could be reflected on."
        await do(environment, "Execute Script", script_name="train.py")
        await do(environment, "Write File", file_name="a.txt", content="y" * 100_000)
        seen = await do(environment, "Reflection", things_to_reflect_on="what now?")
        assert seen.text == "The mean is too simple."
        [prompt] = asked
        assert "what now?" in prompt
        assert "Predict y." in prompt
        assert "Step 2: Execute Script" in prompt
        assert "mean 2.5 arguments []" in prompt
        assert len(prompt) < 5_000


async def test_the_research_log_by_actions(open_environment: OpenRun) -> None:
    asked: list[str] = []
    models = {"main": scripted(), "fast": remembering(asked, "MAE was 0.5.")}
    retrieve, append = "Retrieval from Research Log", "Append Summary to Research Log"
    async with open_environment(models=models) as environment:
        empty = await do(environment, retrieve, current_plan="start")
        assert empty.text == "The research log is empty."
        assert (await do(environment, append, content=" ")).status == "error"
        assert (await do(environment, append, content="The mean: MAE 0.5")).status == "ok"
        found = await do(environment, retrieve, current_plan="beat the mean")
        assert found.text == "MAE was 0.5."
        assert "The mean: MAE 0.5" in asked[0]
        assert "beat the mean" in asked[0]


async def test_a_person_is_asked_once_and_the_time_is_not_the_runs(
    open_environment: OpenRun,
) -> None:
    heard: list[str] = []
    clocks: list[float] = []

    async def person(request: str) -> str:
        clocks.append(environment.budget.seconds)
        heard.append(request)
        await anyio.sleep(0.05)
        clocks.append(environment.budget.seconds)
        return "Use the log of y.\n" if len(heard) == 1 else "  "

    async with open_environment(ask_person=person) as environment:
        seen = await do(environment, "Request Help", request="Which transformation?")
        assert seen.text == "The person answers: Use the log of y."
        assert (await do(environment, "Request Help", request="And now?")).text == NO_ANSWER
        assert environment.budget.seconds > clocks[-1], "the clock goes on"
    assert heard == ["Which transformation?", "And now?"]
    assert clocks[0] == clocks[1]
    async with open_environment(ask_person=person) as environment:
        assert [step.observation for step in environment.steps[:1]] == [seen]
        kept = read_journal(environment.run.journal).steps
        assert kept[0].observation.text == "The person answers: Use the log of y."
    assert len(heard) == 2


async def test_where_nobody_sits_nobody_is_asked(open_environment: OpenRun) -> None:
    async with open_environment(BudgetLimits(steps=5)) as environment:
        seen = await do(environment, "Request Help", request="please")
        assert seen.status == "error"


def names(specs: object) -> list[str]:
    return [spec.name for spec in specs]  # type: ignore[attr-defined]


def test_the_sets_of_actions() -> None:
    assert names(PAPER_ACTIONS) == [
        "List Files", "Understand File", "Copy File", "Inspect Script Lines", "Undo Edit Script",
        "Edit Script (AI)", "Execute Script", "Reflection", "Final Answer",
    ]  # fmt: skip
    assert names(with_help(PAPER_ACTIONS))[-2:] == ["Request Help", "Final Answer"]
    assert "Request Help" not in names(without_help(ALL_ACTIONS))
    assert names(with_help(ALL_ACTIONS)).count("Request Help") == 1
    assert len({spec.tool_name for spec in ALL_ACTIONS}) == len(ALL_ACTIONS)
    assert names(choose_actions(["read file", "Edit Script Segment (AI)"])) == [
        "Read File", SEGMENT,
    ]  # fmt: skip
    with pytest.raises(UsageError, match="Did you mean Edit Script"):
        choose_actions(["Edit Scripts (AI)"])
    with pytest.raises(UsageError, match="is not a list"):
        choose_actions("List Files")
