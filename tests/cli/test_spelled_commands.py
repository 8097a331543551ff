"""Every command that documents and messages tell people to run exists, with its options."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from spelled_commands import commands_in, fault_of

from mlagentbench.cli.verb_group import RENAMED

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "mlagentbench"
DOCUMENTS = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
MODULES = [
    path
    for path in [*PACKAGE.rglob("*.py"), *(REPOSITORY / "bench").rglob("*.py")]
    if "suite" not in path.parts and path.name != "verb_group.py"
]
RENAMED_COMMAND = re.compile(rf"\bmlagentbench\s+({'|'.join(RENAMED)})(?![\w-])")
NEXT_STEP = re.compile(r"(?:run|see|then|bar|again): (mlagentbench [^;)]+)")


def name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_documents_name_commands_that_exist(path: Path) -> None:
    faults = [f"{spelled}: {fault}" for spelled, fault in _checked(path.read_text()) if fault]
    assert not faults


def test_there_are_commands_to_check() -> None:
    """Else the test above would pass on documents that it cannot read."""
    assert len(list(commands_in((REPOSITORY / "README.md").read_text()))) > 20


def test_sources_name_no_command_that_was_renamed() -> None:
    found = {name(path): RENAMED_COMMAND.findall(path.read_text()) for path in MODULES}
    assert not {path: commands for path, commands in found.items() if commands}


def test_next_steps_of_messages_exist() -> None:
    steps = [
        (name(path), step)
        for path in MODULES
        for text in _texts(ast.parse(path.read_text()))
        for step in NEXT_STEP.findall(text)
    ]
    assert len(steps) > 10
    faults = [(*step, fault_of(step[1].removeprefix("mlagentbench "))) for step in steps]
    assert not [fault for fault in faults if fault[-1]]


def _checked(text: str) -> Iterator[tuple[str, str | None]]:
    for spelled in commands_in(text):
        yield spelled, fault_of(spelled)


def _texts(tree: ast.AST) -> Iterator[str]:
    """Texts of a module as a person may see them; what is filled in is a word X."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```sh\nmlagentbench score RUN  # again\n```", "mlagentbench has no command score"),
        ("```\n$ mlagentbench run --agents a \\\n    --wrong 1\n```", "run has no option --wrong"),
        ("say `mlagentbench tasks\nbaseline x`", "tasks has no command baseline"),
        ("`runs regrade RUN --step 3` is", "regrade has no option --step"),
        ("`run --max-time=3`, `mlagentbench report DIR... --csv`, `score`", None),
    ],
)
def test_what_is_wrong_is_seen(text: str, fault: str | None) -> None:
    assert [found for _, found in _checked(text) if found] == ([fault] if fault else [])
