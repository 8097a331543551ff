"""Policies: pure functions that choose what to try next from the tree of nodes.

Every policy first fixes the latest failure, a few times in a row at most, makes the requested
number of drafts, and continues to draft until one works. Then the policies differ.
"""

import math
from collections.abc import Callable
from typing import Literal

from mlagentbench.agents.tree_search.nodes import Node, Tree
from mlagentbench.records import Record
from mlagentbench.tasks.spec import Metric

EXPLORATION = 0.7
"""How much UCT prefers nodes with few descendants; rewards are between 0 and 1."""


class Choice(Record):
    """The next node: a draft, or one made from another."""

    kind: Literal["draft", "debug", "improve"]
    parent: Node | None = None


class SearchLimits(Record):
    """The number of drafts, and of attempts in a row to fix a failure."""

    drafts: int
    debug_depth: int


Policy = Callable[[Tree, Metric, SearchLimits], Choice]


def greedy(tree: Tree, metric: Metric, limits: SearchLimits) -> Choice:
    """Always improve the best."""
    required = _required_choice(tree, limits)
    return required or Choice(kind="improve", parent=tree.ranked(metric)[0])


def uct(tree: Tree, metric: Metric, limits: SearchLimits) -> Choice:
    """Upper confidence bounds, down the tree of good nodes.

    A node is improved again if it has fewer good descendants than the square root of the number of
    nodes below it; otherwise the search descends to the most promising of them. A node's reward is
    its rank, that of a failure is 0. At the top, an improvement is a new draft.
    """
    required = _required_choice(tree, limits)
    if required is not None:
        return required
    ranked = tree.ranked(metric)
    rewards = {node.n: 1.0 - place / len(ranked) for place, node in enumerate(ranked)}
    here: Node | None = None
    while True:
        tried = _below(tree, here)
        options = _nearest_good(tree, here)
        if len(options) < math.sqrt(len(tried)):
            break
        here = max(options, key=lambda one: _bound(_below(tree, one), len(tried), rewards))
    return Choice(kind="draft") if here is None else Choice(kind="improve", parent=here)


POLICIES: dict[str, Policy] = {"greedy": greedy, "uct": uct}


def _required_choice(tree: Tree, limits: SearchLimits) -> Choice | None:
    """What every policy does first: fix a failure or make a draft."""
    for node in reversed(tree.nodes):
        if _can_be_fixed(tree, node) and tree.debug_depth(node) < limits.debug_depth:
            return Choice(kind="debug", parent=node)
    if len(tree.roots) < limits.drafts or not tree.good:
        return Choice(kind="draft")
    return None


def _can_be_fixed(tree: Tree, node: Node) -> bool:
    """Whether it is a failure with code and without children."""
    return bool(node.error and node.files and not tree.children(node))


def _below(tree: Tree, top: Node | None) -> list[Node]:
    """The node and its descendants; for None the drafts and theirs."""
    if top is None:
        return [node for root in tree.roots for node in _below(tree, root)]
    return [top, *(node for child in tree.children(top) for node in _below(tree, child))]


def _nearest_good(tree: Tree, top: Node | None) -> list[Node]:
    """The nearest good descendants of a node; only failures are in between."""
    found = []
    for child in tree.children(top):
        found += [child] if child.is_good else _nearest_good(tree, child)
    return found


def _bound(below: list[Node], tried: int, rewards: dict[int, float]) -> float:
    mean = sum(rewards.get(node.n, 0.0) for node in below) / len(below)
    return mean + EXPLORATION * math.sqrt(math.log(tried) / len(below))
