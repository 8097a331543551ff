"""Commands as documents and messages spell them, held against those that exist."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

from mlagentbench.cli import app

FENCE = re.compile(r"^ *```.*?\n(.*?)^ *```", flags=re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`]+)`")
AT_START = re.compile(r"(?:^|&& |\$ )mlagentbench(?= |$)")


def root() -> TyperGroup:
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    return command


def commands_in(text: str) -> Iterator[str]:
    """What a Markdown text tells people to run: in blocks of code, and in code within sentences.

    Within sentences a command may lack its first word, as in `run --json`.
    """
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if found := AT_START.search(line):
                yield line[found.end() :]
    for code in INLINE.findall(FENCE.sub("", text)):
        words = " ".join(code.split())
        if words.startswith("mlagentbench "):
            yield words.removeprefix("mlagentbench ")
        elif " -" in words and words.split()[0] in root().commands:
            yield words


def fault_of(spelled: str) -> str | None:
    """What is wrong with a command; None if it exists with all its options."""
    try:
        words = shlex.split(spelled, comments=True)
    except ValueError:
        words = spelled.split()
    return _fault(words, root())


def _fault(words: Sequence[str], command: Any) -> str | None:
    params = command.get_params(Context(command))
    names = {name for param in params for name in param.opts} | {"-h", "--help"}
    for place, word in enumerate(words):
        if word.startswith("-") and word.strip("-"):
            if word.partition("=")[0] not in names:
                return f"{command.name} has no option {word}"
        elif isinstance(command, TyperGroup):
            if word not in command.commands:
                return f"{command.name} has no command {word}"
            return _fault(words[place + 1 :], command.commands[word])
    return None
