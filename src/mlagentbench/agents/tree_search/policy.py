"""What to try next: pure functions of the tree of what was tried so far.

Every policy first does its duties: it mends the latest failure, a few times in a row at most, makes
as many drafts as were asked for, and drafts on until one works. What it does then is its own.
"""

import math
from collections.abc import Callable
from typing import Literal

from mlagentbench.agents.tree_search.nodes import Node, Tree
from mlagentbench.records import Record
from mlagentbench.tasks.spec import Metric

EXPLORATION = 0.7
"""How much UCT prefers what was tried little; rewards are between 0 and 1."""


class Choice(Record):
    """The next node: a draft, or one made from another."""

    kind: Literal["draft", "debug", "improve"]
    parent: Node | None = None


class SearchLimits(Record):
    """How many drafts there are, and how often in a row a failure is mended."""

    drafts: int
    debug_depth: int


Policy = Callable[[Tree, Metric, SearchLimits], Choice]


def greedy(tree: Tree, metric: Metric, limits: SearchLimits) -> Choice:
    """Always improve the best."""
    duty = _duty(tree, limits)
    return duty or Choice(kind="improve", parent=tree.ranked(metric)[0])


def uct(tree: Tree, metric: Metric, limits: SearchLimits) -> Choice:
    """Upper confidence bounds, down the tree of good nodes.

    A node is improved once more while it has fewer improvements than the square root of what was
    tried below it; otherwise the search goes on at the most promising of them. A node's reward is
    its rank, that of a failure 0. At the top, another improvement is another draft.
    """
    duty = _duty(tree, limits)
    if duty is not None:
        return duty
    ranked = tree.ranked(metric)
    rewards = {node.n: 1.0 - place / len(ranked) for place, node in enumerate(ranked)}
    here: Node | None = None
    while True:
        tried = _below(tree, here)
        options = _good_heirs(tree, here)
        if len(options) < math.sqrt(len(tried)):
            break
        here = max(options, key=lambda one: _bound(_below(tree, one), len(tried), rewards))
    return Choice(kind="draft") if here is None else Choice(kind="improve", parent=here)


POLICIES: dict[str, Policy] = {"greedy": greedy, "uct": uct}


def _duty(tree: Tree, limits: SearchLimits) -> Choice | None:
    for node in reversed(tree.nodes):
        if _can_be_mended(tree, node) and tree.debugs(node) < limits.debug_depth:
            return Choice(kind="debug", parent=node)
    if len(tree.roots) < limits.drafts or not tree.good:
        return Choice(kind="draft")
    return None


def _can_be_mended(tree: Tree, node: Node) -> bool:
    """A failure with code, of which nobody has made anything yet."""
    return bool(node.error and node.files and not tree.children(node))


def _below(tree: Tree, top: Node | None) -> list[Node]:
    """The node itself and all that came of it; of `None` everything that came of drafts."""
    if top is None:
        return [node for root in tree.roots for node in _below(tree, root)]
    return [top, *(node for child in tree.children(top) for node in _below(tree, child))]


def _good_heirs(tree: Tree, top: Node | None) -> list[Node]:
    """The nearest good nodes below one: what lies between are failures that were mended."""
    heirs = []
    for child in tree.children(top):
        heirs += [child] if child.is_good else _good_heirs(tree, child)
    return heirs


def _bound(below: list[Node], tried: int, rewards: dict[int, float]) -> float:
    mean = sum(rewards.get(node.n, 0.0) for node in below) / len(below)
    return mean + EXPLORATION * math.sqrt(math.log(tried) / len(below))
