"""Find loops and commands of a program that end by the clock.

Such a loop does another number of steps on every machine, and in every run: 100 seconds made 1,055
steps in one run and 5,864 in another. What it makes cannot be made again.

A file is walked a fixed number of times, however deeply it is nested: what is true of a part of it
is taken over by what contains the part.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from mlagentbench.runs.objects.large_literals import program_text

CLOCKS = frozenset(
    {
        "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
        "process_time", "process_time_ns", "default_timer", "now", "utcnow",
    }
)  # fmt: skip
ALARMS = frozenset({"alarm", "setitimer"})
"""Functions that interrupt a program after a time."""
MOST_WARNINGS = 20
_SHELL = re.compile(r"(?:^|[\s;&|(])timeout\s+(?:-\S+\s+)*[\d$]|\$\{?SECONDS\b", re.MULTILINE)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WAYS_OUT = (ast.Break, ast.Return, ast.Raise)
Nodes = list[ast.AST]


def clock_warnings(sources: Mapping[str, bytes]) -> tuple[str, ...]:
    """A warning for each place in these files that stops by the clock."""
    found = []
    for path, contents in sorted(sources.items()):
        text = program_text(contents)
        if path.endswith(".py"):
            places = dict(_ends_in_program(text))
        elif path.endswith((".sh", ".bash")):
            lines = [text.count("\n", 0, match.end()) + 1 for match in _SHELL.finditer(text)]
            places = dict.fromkeys(lines, "a command")
        else:
            continue
        found += [
            f"{path}, line {line}: {what} ends by the clock, so it does another amount of work "
            "each time; count steps or epochs instead"
            for line, what in sorted(places.items())
        ]
    more = len(found) - MOST_WARNINGS
    return (*found[:MOST_WARNINGS], *([f"and {more:,} more such places"] if more > 0 else []))


def _ends_in_program(text: str) -> Iterator[tuple[int, str]]:
    """The lines where something ends by the clock, and what does."""
    try:
        nodes = list(ast.walk(ast.parse(text)))  # what contains others comes before them
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        if isinstance(node, ast.Call) and _is_timed(node):
            yield node.lineno, "a call"
    clocks = _imported_clocks(nodes)
    returning = _containing(nodes, _returns(nodes, clocks))
    clocks |= {
        node.name for node in nodes if isinstance(node, ast.FunctionDef) and id(node) in returning
    }
    ending = _containing(nodes, _exits_by_clock(nodes, clocks))
    for node in nodes:
        if isinstance(node, _LOOPS) and id(node) in ending:
            yield node.lineno, "a loop"


def _containing(nodes: Nodes, is_one: Callable[[ast.AST], bool]) -> set[int]:
    """The ids of the nodes that are such a node, or contain one."""
    found: set[int] = set()
    for node in reversed(nodes):
        if is_one(node) or any(id(part) in found for part in ast.iter_child_nodes(node)):
            found.add(id(node))
    return found


def _imported_clocks(nodes: Nodes) -> set[str]:
    """Names that are clocks by themselves, such as that of `from time import perf_counter`."""
    return {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "timeit")
        for alias in node.names
        if alias.name in CLOCKS
    }


def _asks_clock(clocks: set[str]) -> Callable[[ast.AST], bool]:
    def asks(node: ast.AST) -> bool:
        called = node.func if isinstance(node, ast.Call) else None
        return (isinstance(called, ast.Name) and called.id in clocks) or (
            isinstance(called, ast.Attribute) and called.attr in CLOCKS | clocks
        )

    return asks


def _returns(nodes: Nodes, clocks: set[str]) -> Callable[[ast.AST], bool]:
    asking = _containing(nodes, _asks_clock(clocks))
    return lambda node: isinstance(node, ast.Return) and id(node) in asking


def _exits_by_clock(nodes: Nodes, clocks: set[str]) -> Callable[[ast.AST], bool]:
    """Whether a node is a condition that leads out of a loop and depends on the time."""
    asking = _containing(nodes, _asks_clock(clocks))
    looped = _inside_loops(nodes)
    times = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and id(node) in looped and id(node.value) in asking
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    timed = asking | _containing(
        nodes, lambda node: isinstance(node, ast.Name) and node.id in times
    )
    leading = _containing(nodes, lambda node: isinstance(node, _WAYS_OUT))

    def exits(node: ast.AST) -> bool:
        if isinstance(node, ast.While):
            return id(node.test) in timed
        return isinstance(node, ast.If) and id(node) in leading and id(node.test) in timed

    return exits


def _inside_loops(nodes: Nodes) -> set[int]:
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, _LOOPS) or id(node) in found:
            found.update(map(id, ast.iter_child_nodes(node)))
    return found


def _is_timed(call: ast.Call) -> bool:
    """Whether a call sets an alarm, or ends what it calls after a time."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ALARMS:
        return True
    return any(
        word.arg == "timeout"
        and not (isinstance(word.value, ast.Constant) and word.value.value is None)
        for word in call.keywords
    )
