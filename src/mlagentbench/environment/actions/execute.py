"""Actions that run scripts and Python code in the sandbox, and the one that ends the run."""

import re
from collections.abc import Sequence

from mlagentbench.environment.actions.action import ActionContext, action
from mlagentbench.environment.actions.repl import NEW_SESSION
from mlagentbench.environment.chunked_text import clipped
from mlagentbench.environment.workspace import is_valid_argument
from mlagentbench.errors import ActionError
from mlagentbench.records import Observation, Step
from mlagentbench.sandbox.base import CommandResult

MAX_OUTPUT = 20_000
"""Characters of a command's output that an observation shows."""
MAX_ARGUMENTS = 100_000
"""Characters of a script's arguments; the system takes a single one up to 131,071 bytes."""
REPL_SECONDS = 600.0
REPL_BYTES = 1_000_000
SHOWN_HISTORY = 6_000
"""Characters of the history of a lost Python session."""

_PART = re.compile(
    r"""(?P<space>[ \t\r\n]++)|(?P<plain>[^ \t\r\n'"\\]++)|'(?P<single>[^']*+)'"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*+)"|\\(?P<escaped>.)""",
    re.DOTALL,
)
_ESCAPED = re.compile(r"""\\([\\"])""")


@action("Execute Script", executes=True)
async def execute_script(
    at: ActionContext, script_name: str, arguments: str | list[str | int | float] = ""
) -> Observation:
    """Run a Python script (.py) or a shell script (.sh) in the workspace and show what it prints.

    Args:
        script_name: Path of the script, relative to the workspace.
        arguments: Command-line arguments, as one text or as a list.
    """
    found = at.workspace.resolve(script_name)
    found = f"./{found}" if found.startswith("-") else found
    if found.endswith(".py"):
        command = ["python", "-u", found]
    elif found.endswith(".sh"):
        command = ["bash", found]
    else:
        raise ActionError(
            f"{script_name} is neither a Python script (.py) nor a shell script (.sh)"
        )
    result = await at.sandbox.run(
        [*command, *_words(arguments)],
        timeout=at.command_time(),
        on_output=at.on_output,
    )
    at.notes.restarted = result.restarted
    return _observation(at, result)


def _words(arguments: str | list[str | int | float]) -> list[str]:
    """The arguments one by one; raises ActionError for those that no command can have."""
    given = [arguments] if isinstance(arguments, str) else list(map(str, arguments))
    if sum(map(len, given)) > MAX_ARGUMENTS:
        raise ActionError(
            f"arguments: there are more than {MAX_ARGUMENTS:,} characters; write them to a file"
        )
    found = split_words(arguments) if isinstance(arguments, str) else given
    for word in found:
        if not is_valid_argument(word):
            raise ActionError(f"arguments: {word[:100]!r} cannot be an argument")
    return found


def split_words(text: str) -> list[str]:
    """What `shlex.split` gives, in time that is linear in the length of the text."""
    words: list[list[str]] = []
    inside = False
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            missing = "escaped character" if text[place] == "\\" else "closing quotation"
            raise ActionError(f"arguments: No {missing}")
        place = part.end()
        if part.lastgroup == "space":
            inside = False
            continue
        if not inside:
            words.append([])
            inside = True
        piece = part[part.lastgroup or 0]
        words[-1].append(_ESCAPED.sub(r"\1", piece) if part.lastgroup == "double" else piece)
    return ["".join(pieces) for pieces in words]


def _observation(at: ActionContext, result: CommandResult) -> Observation:
    text = displayed(at, result.output, result.stdout + result.stderr)
    if result.restarted:
        text += (
            "\n[The sandbox broke down and was started anew; files are as the script left them.]"
        )
    if result.limit is not None:
        return Observation(
            text=f"{text}\n[The script was {result.limit}.]",
            status="limit",
            exit_code=result.exit_code,
            limit=result.limit.name,
        )
    if result.exit_code != 0:
        return Observation(
            text=f"{text}\n[The script failed with exit code {result.exit_code}.]",
            status="error",
            exit_code=result.exit_code,
        )
    return Observation(text=text or "The script ended well, without output.", exit_code=0)


@action("Python REPL", executes=True)
async def python_repl(at: ActionContext, command: str) -> Observation:
    """Run Python code in a session that keeps variables and imports between calls.

    What the code prints is shown, and the value of its last expression.

    Args:
        command: The Python code.
    """
    seconds = min(REPL_SECONDS, at.command_time())
    answer = await at.repl.run(command, seconds, REPL_BYTES, at.on_output)
    at.notes.restarted = answer.restarted
    text = (_new_session_note(at.steps) if answer.emptied else "") + displayed(
        at, answer.output.decode("utf-8", "replace"), answer.output
    )
    if answer.lost is not None:
        text += f"\n[The session was lost: {answer.lost}. The next call starts a new, empty one.]"
    elif answer.limit is not None:
        text += f"\n[The code was interrupted: {answer.limit}. The session goes on.]"
    if answer.limit is not None:
        return Observation(text=text, status="limit", limit=answer.limit.name)
    failed = answer.raised or answer.lost is not None
    return Observation(
        text=text or "The code ended well, without output.", status="error" if failed else "ok"
    )


def _new_session_note(steps: Sequence[Step]) -> str:
    """Says that the session is new, and what was run in earlier ones.

    The history is not run again: that could take hours, and would repeat its changes to files.
    """
    commands = [
        str(step.action.arguments.get("command", ""))
        for step in steps
        if step.action.name == python_repl.name
    ]
    history = clipped("\n".join(f">>> {command}" for command in commands), SHOWN_HISTORY)
    return f"{NEW_SESSION}[Earlier calls, not run again:]\n{history}\n[This call:]\n"


@action("Final Answer", ends_run=True)
async def final_answer(_at: ActionContext, final_answer: str) -> str:
    """Submit what is in the workspace now, and end the run. No action is possible afterwards.

    Args:
        final_answer: What was done and found, in a few sentences.
    """
    return f"The run is over; the workspace was submitted.\n{final_answer}"


def displayed(at: ActionContext, text: str, everything: bytes) -> str:
    """Output as an agent sees it: without overwritten progress lines, and shortened if long."""
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    text = "\n".join(lines).rstrip()
    if len(text) <= MAX_OUTPUT:
        return text
    at.notes.output = everything
    half = MAX_OUTPUT // 2
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[... {cut:,} characters are left out here ...]\n{text[-half:]}"
