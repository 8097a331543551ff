"""Actions that ask a model or a person: read and edit files, reflect, search the log, get help.

The model in the role `fast` reads, the one in the role `edit` writes. If a model's answer cannot be
used, the action ends with an error that says why, and the file is unchanged.
"""

from collections.abc import Callable
from functools import partial

from mlagentbench.environment.actions.action import ActionContext, action
from mlagentbench.environment.actions.edit_blocks import (
    apply_replacements,
    code_block,
    complete_file,
    diff,
    fence_for,
    is_python,
)
from mlagentbench.environment.actions.files import LineNumber
from mlagentbench.environment.ask_models import EDIT, FAST
from mlagentbench.environment.chunked_text import BLOCK, MOST_BLOCKS, steps_text, summarise_long
from mlagentbench.environment.research_log import ResearchLog
from mlagentbench.errors import ActionError
from mlagentbench.prompts import prompt
from mlagentbench.records import Record

MOST_REWRITTEN = 8_000
"""Characters up to which a file is rewritten completely; in a longer one, parts are replaced."""
MOST_EDITED = 200_000
"""The most characters of a file that the edit model is shown."""
SURROUNDINGS = 30
"""Lines before and after a segment that the edit model sees."""
MOST_REFLECTED = 20_000
"""The most characters of past steps to reflect on."""
ANSWER = "The person answers: "
NO_ANSWER = "Nobody answered. Go on with what you know."


@action("Understand File")
async def understand_file(at: ActionContext, file_name: str, things_to_look_for: str) -> str:
    """Let a model read a whole file, however long, and say what is in it.

    Args:
        file_name: Path of the file, relative to the workspace.
        things_to_look_for: What to find out about the file, in detail.
    """
    text = await at.read_text(file_name)
    if not text.strip():
        return f"{file_name} is empty"
    question = prompt("actions/understand_file", file_name=file_name, things=things_to_look_for)
    answer = await summarise_long(at.models, text, question)
    most = BLOCK * MOST_BLOCKS
    if len(text) > most:
        answer += f"\n[Of {len(text):,} characters, {most:,} at its two ends were read.]"
    return answer


@action("Edit Script (AI)")
async def edit_script(
    at: ActionContext, script_name: str, edit_instruction: str, save_name: str = ""
) -> str:
    """Let a model change a script as told, and show what changed. A new script is written whole.

    Args:
        script_name: Path of the script, relative to the workspace; it need not exist yet.
        edit_instruction: What to change, step by step and in detail.
        save_name: Path to save the changed script at; without it, it replaces the script.
    """
    save_name = save_name or script_name
    at.workspace.resolve_for_writing(save_name)
    script = await _script(at, script_name)
    fence = fence_for(script.text)
    asked = partial(_ask_editor, at, script=script, instruction=edit_instruction, fence=fence)
    if len(script.text) > MOST_REWRITTEN:
        replaced = partial(apply_replacements, script.text)
        after = _read_answer(replaced, await asked("actions/edit_script_blocks"))
    else:
        reply = await asked("actions/edit_script_new" if script.is_new else "actions/edit_script")
        fits = is_python if save_name.endswith(".py") else None
        after = _read_answer(partial(complete_file, fits=fits), reply)
    return await _save(at, script, save_name, after)


@action("Edit Script Segment (AI)")
async def edit_script_segment(
    at: ActionContext,
    script_name: str,
    start_line_number: LineNumber,
    end_line_number: LineNumber,
    edit_instruction: str,
    save_name: str = "",
) -> str:
    """Let a model change some lines of a script as told, and show what changed.

    Args:
        script_name: Path of the script, relative to the workspace.
        start_line_number: Number of the first line that may change.
        end_line_number: Number of the last line that may change.
        edit_instruction: What to change, step by step and in detail.
        save_name: Path to save the changed script at; without it, it replaces the script.
    """
    save_name = save_name or script_name
    at.workspace.resolve_for_writing(save_name)
    script = await _script(at, script_name)
    if script.is_new:
        raise ActionError(f"{script_name} does not exist")
    lines = script.text.splitlines(keepends=True)
    if end_line_number < start_line_number:
        raise ActionError("end_line_number is smaller than start_line_number")
    if start_line_number > len(lines):
        raise ActionError(f"{script_name} has only {len(lines)} lines")
    first, last = start_line_number - 1, min(end_line_number, len(lines))
    reply = await _ask_editor(
        at,
        "actions/edit_script_segment",
        script=script,
        instruction=edit_instruction,
        fence=fence_for(script.text),
        before="".join(lines[max(0, first - SURROUNDINGS) : first]),
        segment="".join(lines[first:last]).removesuffix("\n"),
        after="".join(lines[last : last + SURROUNDINGS]),
    )
    changed = [*lines[:first], _read_answer(code_block, reply), *lines[last:]]
    return await _save(at, script, save_name, "".join(changed))


@action("Reflection")
async def reflection(at: ActionContext, things_to_reflect_on: str) -> str:
    """Let a model look over all past steps and say what follows from them.

    Args:
        things_to_reflect_on: What to think about.
    """
    if not at.steps:
        return "Nothing has been done yet that could be reflected on."
    asked = prompt(
        "actions/reflection",
        problem=at.task.problem,
        steps=steps_text(at.steps, MOST_REFLECTED),
        things=things_to_reflect_on,
    )
    return await at.models.ask_text(asked, role=FAST)


@action("Append Summary to Research Log")
async def append_summary_to_research_log(at: ActionContext, content: str) -> str:
    """Add an entry to the research log, which is kept in research_log.md.

    Args:
        content: What was done and found, with figures.
    """
    if not content.strip():
        raise ActionError("content is empty: there is nothing to add to the research log")
    await ResearchLog(at.models, at.sandbox).append(content)
    return "The research log has a new entry."


@action("Retrieval from Research Log")
async def retrieval_from_research_log(at: ActionContext, current_plan: str) -> str:
    """Let a model find what matters now in the research log.

    Args:
        current_plan: The plan and its status, in detail: what is relevant depends on it.
    """
    found = await ResearchLog(at.models, at.sandbox).retrieve(current_plan)
    return found or "The research log is empty."


@action("Request Help")
async def request_help(at: ActionContext, request: str) -> str:
    """Ask the person who started this run, for what you cannot find out or do by yourself.

    Args:
        request: What you need to know, with all that a reader needs to answer.
    """
    from inspect_ai.util import suspend_working_limit

    if at.ask_person is None:
        raise ActionError("nobody can be asked in this run")
    with at.budget.halted(), suspend_working_limit():
        answer = (await at.ask_person(request)).strip()
    return f"{ANSWER}{answer}" if answer else NO_ANSWER


class Script(Record):
    """A script that a model is to edit."""

    name: str
    text: str
    """With plain line ends; empty when the script is new."""
    line_end: str = "\n"
    is_new: bool = False


async def _script(at: ActionContext, name: str) -> Script:
    try:
        text = await at.read_text(name)
    except ActionError as fault:
        if isinstance(fault.__cause__, FileNotFoundError):
            return Script(name=name, text="", is_new=True)
        raise
    if len(text) > MOST_EDITED:
        hint = "; change it with a script" if at.can_execute else ""
        raise ActionError(
            f"{name} has {len(text):,} characters, more than the {MOST_EDITED:,} that the edit "
            f"model is shown{hint}"
        )
    if "\ufffd" in text:
        raise ActionError(f"{name} is not UTF-8 throughout: to edit it would damage it")
    line_end = "\r\n" if "\r\n" in text else "\n"
    return Script(name=name, text=text.replace("\r\n", "\n"), line_end=line_end)


async def _ask_editor(
    at: ActionContext, prompt_name: str, *, script: Script, instruction: str, **values: str
) -> str:
    from inspect_ai.model import ChatMessageUser

    asked = prompt(
        prompt_name, script_name=script.name, text=script.text, instruction=instruction, **values
    )
    output = await at.models.ask([ChatMessageUser(content=asked)], role=EDIT)
    if output.stop_reason == "max_tokens":
        raise _unusable_answer("it was cut off because it is too long; ask for a smaller change")
    return output.completion


def _read_answer(read: Callable[[str], str], reply: str) -> str:
    try:
        return read(reply)
    except ActionError as fault:
        raise _unusable_answer(str(fault)) from fault


def _unusable_answer(reason: str) -> ActionError:
    return ActionError(f"The edit model's answer is of no use, no file was changed: {reason}")


async def _save(at: ActionContext, script: Script, save_name: str, after: str) -> str:
    """Write the edited script, and tell what changed."""
    changes = diff(script.text, after, script.name, save_name)
    in_place = at.workspace.resolve(save_name) == at.workspace.resolve(script.name)
    if not changes and in_place:
        return f"The edit model left {script.name} as it is: nothing changed."
    await at.edit(save_name, after.replace("\n", script.line_end))
    if script.is_new:
        return f"{save_name} is new:\n\n{changes}"
    saved = f"{script.name} was edited" + ("" if in_place else f" and saved as {save_name}")
    return f"{saved}:\n\n{changes or '(no line changed)'}"
