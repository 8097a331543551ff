"""The tree agent's prompts: a constant beginning, then what the next node needs.

For a draft or an improvement these are the ideas and results so far; for fixing a failure, the code
and output of all attempts at the same idea.
"""

from collections.abc import Sequence
from pathlib import Path

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser

from mlagentbench.agents.best_submission import validation_metric
from mlagentbench.agents.conversation import reply_message, without_middle
from mlagentbench.agents.resumable import ResumableRun
from mlagentbench.agents.tree_search.nodes import (
    Node,
    NodeKind,
    Proposal,
    SolutionLayout,
    Tree,
    read_proposal,
)
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ContextOverflow
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.prompts import prompt
from mlagentbench.records import Record
from mlagentbench.tasks.spec import REPRODUCE

PROMPT_SIZES = (60_000, 15_000)
"""Characters for the code and output of nodes; fewer if they are too many for the model."""
TRIES = 3
"""The number of attempts to get a solution before the node counts as failed."""
NOTHING = "- nothing yet"
BLENDED = 3
"""The number of best solutions in an ensemble."""
TEXT_SUFFIXES = {".py", ".md", ".txt", ".json", ".sh", ".toml", ".yaml", ".yml", ".cfg"}
MAX_TEXT = 8_000
MAX_LINE = 200
FIRST_LINES = 3
FIRST_BYTES = 4_096
FIRST_NAMES = 5


def system_prompt(run: ResumableRun, layout: SolutionLayout) -> str:
    """The part of the prompt that is the same in the whole run."""
    environment = run.environment
    spec = environment.task.spec
    return prompt(
        "agents/tree",
        metric=spec.metric.name,
        better=spec.metric.better,
        problem=run.problem.strip(),
        files=workspace_view(environment),
        rules=_rules(environment, layout) + _rebuild_rules(environment, layout),
    )


def _rules(environment: Environment, layout: SolutionLayout) -> str:
    submission = environment.task.spec.submission.path
    if layout.fixed_file is not None:
        return prompt("agents/tree_rules_timed", main=layout.main)
    metric = validation_metric(environment.task) or "METRIC"
    if not layout.makes_submission:
        run = f"{layout.run} {layout.arguments}".strip()
        return prompt("agents/tree_rules_program", main=layout.main, run=run, validation=metric)
    return prompt(
        "agents/tree_rules_script",
        main=layout.main,
        submission=submission,
        validation=metric,
        sample=f"{prompt('agents/tree_rules_sample', submission=submission)}\n"
        if layout.sample
        else "",
    )


def _rebuild_rules(environment: Environment, layout: SolutionLayout) -> str:
    if environment.rebuilt_by is None or not layout.makes_submission:
        return ""
    return "\n\n" + prompt("agents/tree_rules_rebuild", script=REPRODUCE, main=layout.main)


def workspace_view(environment: Environment) -> str:
    """The starter's text files in full, and the beginnings of the data files."""
    protected = environment.workspace.protected
    starter = environment.task.starter
    parts = []
    for path in sorted(starter.rglob("*")):
        name = path.relative_to(starter).as_posix()
        if path.is_file() and "__pycache__" not in path.parts:
            read_only = ", read-only" if path.relative_to(starter).parts[0] in protected else ""
            parts.append(f"### {name}{read_only}\n{_text(path)}")
    for name, path in protected.items():
        if not path.is_relative_to(starter):
            parts.append(f"### {name}, data, read-only\n{_preview(path)}")
    return "\n\n".join(parts)


def _text(path: Path) -> str:
    if path.suffix not in TEXT_SUFFIXES:
        return f"{path.stat().st_size:,} bytes"
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    cut = "" if len(text) <= MAX_TEXT else f"\n[... {len(text) - MAX_TEXT:,} characters more]"
    return f"```\n{text[:MAX_TEXT]}{cut}\n```"


def _preview(path: Path) -> str:
    if path.is_dir():
        names = sorted(entry.name for entry in path.iterdir())
        more = ", ..." if len(names) > FIRST_NAMES else ""
        return f"a directory of {len(names):,} entries: {', '.join(names[:FIRST_NAMES])}{more}"
    size = f"{path.stat().st_size:,} bytes"
    with path.open("rb") as file:
        beginning = file.read(FIRST_BYTES)
    if b"\0" in beginning:
        return f"{size}, binary"
    lines = beginning.decode("utf-8", "replace").splitlines()[:FIRST_LINES]
    shown = (line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} ..." for line in lines)
    return "\n".join([f"{size}; it begins:", "```", *shown, "```"])


class SearchState(Record):
    """The state of a search: all nodes, the good ones best first, and the remaining budget."""

    tree: Tree
    best: tuple[Node, ...]
    metric: str
    left: str
    limit: str

    def question(self, kind: NodeKind, parent: Node | None, room: int) -> str:
        """The question for a new node, with `room` characters for code and output."""
        budget = {"left": self.left, "limit": self.limit}
        if kind == "ensemble":
            best = _fitting([self._full_text(node) for node in self.best[:BLENDED]], room)
            return prompt("agents/tree_ensemble", **budget, solutions="\n\n".join(best))
        if parent is None:
            return prompt("agents/tree_draft", **budget, known=self._results(self.tree.nodes))
        if kind == "debug":
            line = self.tree.lineage(parent)[: self.tree.debug_depth(parent) + 1]
            attempts = _fitting([self._full_text(node) for node in line], room)
            return prompt("agents/tree_debug", **budget, attempts="\n\n".join(reversed(attempts)))
        [solution] = _fitting([self._full_text(parent)], room)
        siblings = self._results(self.tree.children(parent))
        return prompt("agents/tree_improve", **budget, solution=solution, siblings=siblings)

    def _results(self, nodes: Sequence[Node]) -> str:
        """Nodes as ideas and results, without their code."""
        lines = [f"- {node.idea or node.kind}: {self._result(node)}" for node in nodes]
        return "\n".join(lines) or NOTHING

    def _result(self, node: Node) -> str:
        if node.error:
            return f"failed: {node.error}"
        return "no score" if node.score is None else f"validation {self.metric}={node.score:g}"

    def _full_text(self, node: Node) -> str:
        files = (f"```python {file.name}\n{file.text.strip()}\n```" for file in node.files)
        return "\n".join(
            [
                f"## {node.idea or node.kind}",
                *files,
                "What it printed:",
                f"```\n{node.output}\n```",
                f"Result: {self._result(node)}",
            ]
        )


class Questions:
    """Asks for solutions, again if a reply has none."""

    def __init__(self, layout: SolutionLayout, run: ResumableRun) -> None:
        self._main = layout.main
        self._run = run
        self._system = ChatMessageSystem(content=system_prompt(run, layout))
        self._largest_tokens = 0
        self._largest_cost = 0.0

    async def propose(
        self, kind: NodeKind, parent: Node | None, state: SearchState
    ) -> Proposal | None:
        """A new solution; None when no reply had code. Raises what asking raises."""
        for room in PROMPT_SIZES:
            try:
                return await self._propose(state.question(kind, parent, room))
            except ContextOverflow:
                if room == PROMPT_SIZES[-1]:
                    raise
        raise AssertionError("the last overflow is raised")

    async def _propose(self, question: str) -> Proposal | None:
        messages: list[ChatMessage] = [self._system, ChatMessageUser(content=question)]
        for _ in range(TRIES):
            line = await self._run.ask(messages)
            self._largest_tokens = max(self._largest_tokens, line.input_tokens + line.output_tokens)
            self._largest_cost = max(self._largest_cost, line.cost or 0.0)
            cut_off = line.stop_reason == "max_tokens"
            proposal = read_proposal(line.reply, self._main, cut_off)
            if proposal is not None:
                return proposal
            models = self._run.environment.models
            models.note_unreadable(line, "cut off" if cut_off else "no code", "no code block")
            again = ChatMessageUser(content=prompt("agents/tree_retry", main=self._main))
            messages += [reply_message(line), again]
        return None

    def can_be_afforded(self, left: BudgetLimits) -> bool:
        """Whether tokens and money are left for twice the most expensive reply so far."""
        tokens, cost = left.get("tokens"), left.get("cost")
        enough_tokens = tokens is None or tokens >= 2 * self._largest_tokens
        return enough_tokens and (cost is None or cost >= 2 * self._largest_cost)


def _fitting(texts: Sequence[str], room: int) -> list[str]:
    """As many texts as there is room for; always the first, if necessary without its middle."""
    shown: list[str] = []
    for text in texts:
        if shown and len(text) > room:
            break
        shown.append(without_middle(text, room))
        room -= len(text)
    return shown
