"""Find loops of a program that end by the clock.

Such a loop does another number of steps on every machine, and in every run: 100 seconds made 1,055
steps in one run and 5,864 in another. What it makes cannot be made again.
"""

import ast
import re
from collections.abc import Iterator, Mapping

CLOCKS = frozenset(
    {
        "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
        "process_time", "process_time_ns", "default_timer", "now", "utcnow",
    }
)  # fmt: skip
_SHELL = re.compile(r"(?:^|[\s;&|(])timeout\s+(?:-\S+\s+)*[\d$]|\$\{?SECONDS\b", re.MULTILINE)
Loop = ast.For | ast.AsyncFor | ast.While


def clock_warnings(sources: Mapping[str, bytes]) -> tuple[str, ...]:
    """A warning for each place in these files that stops by the clock."""
    found = []
    for path, contents in sorted(sources.items()):
        text = contents.decode("utf-8")
        if path.endswith(".py"):
            lines = sorted(set(_loops_by_clock(text)))
            what = "a loop ends by the clock"
        elif path.endswith((".sh", ".bash")):
            lines = [text.count("\n", 0, match.end()) + 1 for match in _SHELL.finditer(text)]
            what = "a command ends by the clock"
        else:
            continue
        found += [
            f"{path}, line {line}: {what}, so it does another amount of work each time; count "
            "steps or epochs instead"
            for line in lines
        ]
    return tuple(found)


def _loops_by_clock(text: str) -> Iterator[int]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    clocks = _imported_clocks(tree)
    clocks |= {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and _returns_time(node, clocks)
    }
    for loop in ast.walk(tree):
        if isinstance(loop, Loop) and _ends_by_clock(loop, clocks):
            yield loop.lineno


def _imported_clocks(tree: ast.Module) -> set[str]:
    """Names that are clocks by themselves, such as that of `from time import perf_counter`."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "timeit")
        for alias in node.names
        if alias.name in CLOCKS
    }


def _returns_time(function: ast.FunctionDef, clocks: set[str]) -> bool:
    returned = (node.value for node in ast.walk(function) if isinstance(node, ast.Return))
    return any(value is not None and _asks_clock(value, clocks) for value in returned)


def _asks_clock(node: ast.AST, clocks: set[str]) -> bool:
    calls = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(
        (isinstance(called, ast.Name) and called.id in clocks)
        or (isinstance(called, ast.Attribute) and called.attr in CLOCKS | clocks)
        for called in calls
    )


def _ends_by_clock(loop: Loop, clocks: set[str]) -> bool:
    """Whether the loop's condition, or one in it that leads out of it, depends on the time."""
    times = {
        target.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign) and _asks_clock(node.value, clocks)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    tests = [loop.test] if isinstance(loop, ast.While) else []
    tests += [node.test for node in ast.walk(loop) if isinstance(node, ast.If) and _leads_out(node)]
    return any(_asks_clock(test, clocks) or _reads(test, times) for test in tests)


def _leads_out(choice: ast.If) -> bool:
    ways = ast.Break | ast.Return | ast.Raise
    return any(isinstance(node, ways) for node in ast.walk(choice))


def _reads(test: ast.expr, names: set[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(test))
