"""Find data that are written into source files: weights, predictions or answers as text.

A program may carry such data past the rule that only sources are taken over. They are not refused,
since a person may write a table, too; they are named, so that readers can look at them.

| file                | what is counted                                                           |
|---------------------|---------------------------------------------------------------------------|
| Python that parses  | its texts, bytes and numbers; of docstrings, only large ones              |
| all others          | numbers, and words of at least 40 characters                              |

Data in many small files, comments, names of files or short words are found by the size of all
sources together, compressed: that of programs is a third of their size, that of data is not.
"""

import ast
import re
import zlib
from collections.abc import Iterator, Mapping

LARGE = 8_000
"""Bytes of one literal, or of one file's data, from which on it is named."""
ALL_TEXTS = 16_000
"""Bytes of all literals of a program; messages and names of columns are literals, too."""
COMPRESSED = 24_000
"""Bytes of all sources together, compressed; 70 KB of programs have as many."""

_NUMBER = re.compile(r"[-+\d.,eExX\[\](){}:;\"']*\d[-+\d.,eExX\[\](){}:;\"']*")
_LONG_WORD = 40
_COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def large_literals(sources: Mapping[str, bytes]) -> tuple[str, ...]:
    """Says for each file with much data in it how much, and where the largest literal is."""
    found = []
    for path, contents in sorted(sources.items()):
        if len(contents) < LARGE:
            continue
        text = program_text(contents)
        tree = _parsed(text) if path.endswith((".py", ".pyi")) else None
        said = _of_text(text) if tree is None else _of_program(tree, text)
        if said is not None:
            found.append(f"{path}: {said}")
    together = _compressed(sources)
    if not found and together >= COMPRESSED:
        found.append(f"all sources together: {together:,} bytes when compressed")
    return tuple(found)


def program_text(contents: bytes) -> str:
    """The text of a source with lines as Python counts them, and without a byte-order mark."""
    text = contents.decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _compressed(sources: Mapping[str, bytes]) -> int:
    parts = (path.encode() + b"\n" + contents for path, contents in sorted(sources.items()))
    return len(zlib.compress(b"\n".join(parts), 9))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_program(tree: ast.Module, text: str) -> str | None:
    starts = _line_starts(text)
    documents = set(_docstrings(tree))
    in_all, largest, where = 0, 0, 0
    for node in ast.walk(tree):
        is_constant = isinstance(node, ast.Constant)
        if not is_constant and not isinstance(node, _COLLECTIONS):
            continue
        size = _size(node, starts)
        in_all += size if is_constant and id(node) not in documents else 0
        if size > largest and (is_constant or _is_mostly_constant(node)):
            largest, where = size, node.lineno  # type: ignore[attr-defined]
    if largest >= LARGE:
        return f"a literal of {largest:,} bytes in line {where}"
    return f"literals of {in_all:,} bytes" if in_all >= ALL_TEXTS else None


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr):
            yield id(node.body[0].value)


def _line_starts(text: str) -> list[int]:
    """Where each line begins, in bytes."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line.encode()) + 1)
    return starts


def _size(node: ast.AST, starts: list[int]) -> int:
    if isinstance(node, ast.Constant):  # in an f-string, its place is that of the whole
        return _constant_size(node.value)
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    last, end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
    return max(0, starts[last - 1] + end - starts[line - 1] - column)


def _constant_size(value: object) -> int:
    if isinstance(value, int):
        return value.bit_length() // 4  # large numbers cannot be written in digits
    return len(value if isinstance(value, str | bytes) else repr(value))


def _is_mostly_constant(node: ast.AST) -> bool:
    """Whether a list, set or dict has hardly anything in it that is computed.

    Only the largest literals so far are looked at, so each part of a file is looked at seldom.
    """
    written = (ast.Constant, ast.UnaryOp, *_COLLECTIONS)
    kinds = [isinstance(part, written) for part in ast.walk(node) if isinstance(part, ast.expr)]
    return sum(kinds) >= 0.9 * len(kinds)


def _of_text(text: str) -> str | None:
    data = (w for w in text.split() if len(w) >= _LONG_WORD or _NUMBER.fullmatch(w) is not None)
    size = sum(map(len, data))
    return f"{size:,} bytes of numbers or long words" if size >= LARGE else None
