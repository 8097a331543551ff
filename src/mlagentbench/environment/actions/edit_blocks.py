"""Parse an edit model's answer: a code block, or search/replace blocks.

A code block is between two lines of at least three backticks or tildes; the first may have a tag:

    ```python
    print("hello")
    ```

A fence within a block belongs to its text if it is indented further or shorter than the block's
fence, or if it is one of a pair whose first has a tag. A search/replace block has lines of a file,
which must occur exactly once, and their replacement:

    <<<<<<< SEARCH
    rate = 0.1
    =======
    rate = 0.01
    >>>>>>> REPLACE
"""

import ast
import difflib
import re
from collections.abc import Callable, Iterator, Sequence

from mlagentbench.environment.chunked_text import clipped
from mlagentbench.errors import ActionError
from mlagentbench.records import Record

MAX_DIFF = 20_000
"""Characters of a diff that an observation shows."""
SHOWN_LINE = 100
_FENCE = re.compile(r"(?P<indent> *)(?P<mark>`{3,}|~{3,})(?P<tag>[^`]*)")
_SEARCH = re.compile(r"<{5,9} *SEARCH\s*")
_DIVIDER = re.compile(r"={7}\s*")
_REPLACE = re.compile(r">{5,9} *REPLACE\s*")


class Fence(Record):
    """A line that can open or close a code block."""

    line: int
    indent: int
    mark: str
    tag: str

    def counts_in(self, opening: "Fence") -> bool:
        """Whether it can close a block with this opening fence, or open a nested one."""
        return self.mark.startswith(opening.mark) and self.indent <= opening.indent


def fence_for(text: str) -> str:
    """A fence that the text does not contain."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def code_block(reply: str, fits: Callable[[str], bool] | None = None) -> str:
    """The text in the code block of a reply, in the longest if there are several.

    If the fences are ambiguous, `fits` decides.
    """
    lines = reply.replace("\r\n", "\n").split("\n")
    fences = list(_fences(lines))
    if not fences:
        raise ActionError("the answer has no code block")
    longest_first = sorted(_blocks(lines, fences), key=len, reverse=True)
    readings = [*longest_first[:1], *_outermost(lines, fences)]
    if not readings:
        raise ActionError("the answer's code block does not end")
    return readings[0] if fits is None else next(filter(fits, readings), readings[0])


def complete_file(reply: str, fits: Callable[[str], bool] | None = None) -> str:
    """The text in a reply's code block, which must not be empty."""
    text = code_block(reply, fits)
    if not text.strip():
        raise ActionError("the answer's code block is empty")
    return text


def is_python(text: str) -> bool:
    """Whether a text is valid Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _fences(lines: Sequence[str]) -> Iterator[Fence]:
    for number, line in enumerate(lines):
        found = _FENCE.fullmatch(line)
        if found is not None:
            indent, tag = len(found["indent"]), found["tag"].strip()
            yield Fence(line=number, indent=indent, mark=found["mark"], tag=tag)


def _blocks(lines: Sequence[str], fences: Sequence[Fence]) -> Iterator[str]:
    """The blocks in order, each up to its closing fence."""
    opening: Fence | None = None
    depth = 0
    for fence in fences:
        if opening is None:
            opening, depth = fence, 1
        elif fence.counts_in(opening):
            depth += 1 if fence.tag else -1
            if depth == 0:
                yield _between(lines, opening, fence)
                opening = None


def _outermost(lines: Sequence[str], fences: Sequence[Fence]) -> Iterator[str]:
    """The text from the first fence to the last one that can close it."""
    opening, *others = fences
    closing = [fence for fence in others if fence.counts_in(opening) and not fence.tag]
    if closing:
        yield _between(lines, opening, closing[-1])


def _between(lines: Sequence[str], opening: Fence, closing: Fence) -> str:
    inside = lines[opening.line + 1 : closing.line]
    margin = " " * opening.indent
    return "".join(f"{line.removeprefix(margin)}\n" for line in inside)


class Replacement(Record):
    """Lines of a file and their replacement."""

    search: tuple[str, ...]
    replace: tuple[str, ...]

    def places(self, lines: Sequence[str]) -> list[int]:
        """Where the lines occur; trailing blanks are ignored."""
        wanted = [line.rstrip() for line in self.search]
        found = [line.rstrip() for line in lines]
        last = len(found) - len(wanted)
        return [at for at in range(last + 1) if found[at : at + len(wanted)] == wanted]


def apply_replacements(text: str, reply: str) -> str:
    """Apply all search/replace blocks of a reply; raises ActionError for one that fails."""
    replacements = list(_replacements(reply))
    if not replacements:
        raise ActionError("the answer has no search/replace block")
    lines = text.split("\n")
    for number, block in enumerate(replacements, start=1):
        which = f"search/replace block {number} of {len(replacements)}"
        if not any(line.strip() for line in block.search):
            raise ActionError(f"{which} searches for nothing")
        places = block.places(lines)
        if len(places) != 1:
            first = next(line.strip() for line in block.search if line.strip())
            raise ActionError(
                f"{which} cannot be applied: its search text was found {len(places)} times instead "
                f"of once; it begins with: {first[:SHOWN_LINE]}"
            )
        lines[places[0] : places[0] + len(block.search)] = block.replace
    return "\n".join(lines)


def _replacements(reply: str) -> Iterator[Replacement]:
    """The blocks of a reply; text between them is ignored."""
    search: list[str] | None = None
    replace: list[str] | None = None
    number = 0
    for line in reply.replace("\r\n", "\n").split("\n"):
        if search is None:
            if _SEARCH.fullmatch(line):
                search, number = [], number + 1
        elif replace is None:
            if _DIVIDER.fullmatch(line):
                replace = []
            elif _SEARCH.fullmatch(line) or _REPLACE.fullmatch(line):
                raise ActionError(f"search/replace block {number} has no line =======")
            else:
                search.append(line)
        elif _REPLACE.fullmatch(line):
            yield Replacement(search=tuple(search), replace=tuple(replace))
            search = replace = None
        else:
            replace.append(line)
    if search is not None:
        raise ActionError(f"search/replace block {number} does not end with >>>>>>> REPLACE")


def diff(before: str, after: str, before_name: str, after_name: str) -> str:
    """The change as a unified diff, without its middle if it is long."""
    old, new = before.splitlines(), after.splitlines()
    return clipped(
        "\n".join(difflib.unified_diff(old, new, before_name, after_name, lineterm="")), MAX_DIFF
    )
