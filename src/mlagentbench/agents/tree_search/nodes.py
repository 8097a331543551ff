"""The tree agent's memory: complete solutions, their origins and their results."""

import re
import shlex
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Literal

from mlagentbench.records import Record
from mlagentbench.tasks.spec import Metric, TaskSpec

NodeKind = Literal["starter", "draft", "debug", "improve", "ensemble"]

SCRIPT = "solution.py"
MEASURE = "measure.py"
SAMPLE, FINAL = "--sample", "--final"
MAX_IDEA = 400
MAX_NAME = 200
"""Characters beside a fence that are searched for a file name."""
NOT_SOURCE = {"bash", "sh", "shell", "console", "text", "txt", "output", "diff", "csv", "json"}
"""Languages of code blocks that are not a solution unless they name a file."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$", re.MULTILINE)
_FILE_NAME = re.compile(r"[\w./-]*\w\.\w{1,8}")


class SolutionFile(Record):
    """A complete file of a solution."""

    name: str
    text: str


class Proposal(Record):
    """An idea and files, as proposed by a model's reply."""

    idea: str
    files: tuple[SolutionFile, ...]


class Node(Record):
    """A solution that was tried. It is good if it ran, was validated and can be submitted."""

    n: int
    kind: NodeKind
    parent: int | None = None
    idea: str = ""
    files: tuple[SolutionFile, ...] = ()
    output: str = ""
    error: str = ""
    score: float | None = None
    step: int = 0
    """The step after which the workspace had its submission."""

    @property
    def is_good(self) -> bool:
        return self.score is not None and not self.error


class Tree(Record):
    """All nodes of a search in order; a node's number is its index."""

    nodes: tuple[Node, ...] = ()

    def with_node(self, node: Node) -> "Tree":
        return Tree(nodes=(*self.nodes, node))

    @property
    def good(self) -> list[Node]:
        """The good solutions, without the starter."""
        return [node for node in self.nodes if node.is_good and node.kind != "starter"]

    @property
    def roots(self) -> list[Node]:
        return [node for node in self.nodes if node.kind == "draft"]

    def children(self, parent: Node | None) -> list[Node]:
        """The nodes that were made from this one; the drafts for None."""
        if parent is None:
            return self.roots
        return [node for node in self.nodes if node.parent == parent.n]

    def ranked(self, metric: Metric) -> list[Node]:
        """The good nodes, best first; equal ones in order."""
        sign = -1.0 if metric.better == "higher" else 1.0
        return sorted(self.good, key=lambda node: sign * (node.score or 0.0))

    def lineage(self, node: Node) -> list[Node]:
        """The node, what it was made from, and so on to its draft."""
        line = [node]
        while line[-1].parent is not None:
            line.append(self.nodes[line[-1].parent])
        return line

    def debug_depth(self, node: Node) -> int:
        """The number of attempts in a row to fix a failure that led to this node."""
        line = self.lineage(node)
        return next((n for n, one in enumerate(line) if one.kind != "debug"), len(line))


class SolutionLayout(Record):
    """The files of a task's solution, and how it is run.

    Usually it is one script, which validates itself and makes the submission. If the submission is
    a program, a script of the task measures it. If its speed counts, the first good solution
    provides the measuring script, and all others use it.
    """

    main: str
    """The file of a code block without a name."""
    run: str
    arguments: str = ""
    makes_submission: bool
    """Whether running it makes the submission, so that it can be fitted to all data in the end."""
    sample: bool = False
    """Whether it is first run on a sample."""
    fixed_file: str | None = None
    """A file that all solutions take from the first good one."""


def layout_of(spec: TaskSpec, protected: Collection[str]) -> SolutionLayout:
    """The layout of a task's solutions; `protected` are the read-only files of the workspace."""
    _, script, *arguments = shlex.split(spec.commands.starter)
    if spec.kind == "timed":
        return SolutionLayout(
            main=spec.submission.path, run=MEASURE, fixed_file=MEASURE, makes_submission=False
        )
    if script in protected:
        return SolutionLayout(
            main=spec.submission.path,
            run=script,
            arguments=shlex.join(arguments),
            makes_submission=False,
        )
    has_sample = spec.commands.sample is not None
    return SolutionLayout(main=SCRIPT, run=SCRIPT, makes_submission=True, sample=has_sample)


def read_proposal(reply: str, main: str, cut_off: bool = False) -> Proposal | None:
    """The idea and the files of a reply; None if it has no code.

    A file is a fenced block. Its name is on the line of the fence (```python model.py) or alone on
    the line before. The longest block without a name is the main file. A block that the end of the
    reply cut off is ignored.
    """
    files: dict[str, str] = {}
    unnamed = ""
    place = 0
    first = len(reply)
    while (opening := _FENCE.search(reply, place)) is not None:
        first = min(first, opening.start())
        closing = _closing(reply, opening)
        if closing is None and cut_off:
            break
        end, place = (len(reply), len(reply)) if closing is None else closing.span()
        text = reply[opening.end() + 1 : end]
        before = reply[max(0, opening.start() - MAX_NAME) : opening.start()]
        name = _name(opening[2][:MAX_NAME]) or _name_before(before)
        if name is not None:
            files[name] = text
        elif opening[2].strip().lower() not in NOT_SOURCE and len(text) > len(unnamed):
            unnamed = text
    if unnamed.strip():
        files.setdefault(main, unnamed)
    if not any(text.strip() for text in files.values()):
        return None
    named = tuple(SolutionFile(name=name, text=text) for name, text in files.items())
    return Proposal(idea=_idea(reply[:first]), files=named)


def _closing(reply: str, opening: re.Match[str]) -> re.Match[str] | None:
    fence = opening[1]
    pattern = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
    return pattern.search(reply, opening.end())


def _name(info: str) -> str | None:
    """The file named after a fence."""
    found = _FILE_NAME.findall(info)
    return _tidy(found[-1]) if found else None


def _name_before(text: str) -> str | None:
    """The file named on the line before a fence, if that has no other text."""
    line = text.rstrip().rpartition("\n")[2].strip(" \t#*`:_-")
    return _tidy(line) if _FILE_NAME.fullmatch(line) else None


def _tidy(name: str) -> str:
    return PurePosixPath(name).as_posix()


def _idea(text: str) -> str:
    idea = " ".join(text.split()).strip("*# ")
    idea = re.sub(r"^\**idea\**\s*:\**\s*", "", idea, flags=re.IGNORECASE)
    return idea if len(idea) <= MAX_IDEA else f"{idea[:MAX_IDEA]} ..."
