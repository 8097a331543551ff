"""What the tree agent decides without a run: what to try next, and what a reply proposes."""

import pytest

from mlagentbench.agents.tree_search.nodes import (
    Node,
    NodeKind,
    SolutionFile,
    Tree,
    layout_of,
    read_proposal,
)
from mlagentbench.agents.tree_search.policy import Choice, Policy, SearchLimits, greedy, uct
from mlagentbench.tasks.spec import Metric
from mlagentbench.tasks.task import load_task, task_folders

LOWER = Metric(name="error", better="lower")
HIGHER = Metric(name="accuracy", better="higher")
LIMITS = SearchLimits(drafts=2, debug_depth=2)
CODE = (SolutionFile(name="solution.py", text="..."),)


def tree_of(*made: tuple[NodeKind, int | None, float | None]) -> Tree:
    """Nodes by kind, parent and score; without a score they failed. The first is the starter."""
    starter = Node(n=0, kind="starter", score=0.5)
    nodes = [
        Node(
            n=n, kind=kind, parent=parent, score=score, files=CODE, error="" if score else "failed"
        )
        for n, (kind, parent, score) in enumerate(made, start=1)
    ]
    return Tree(nodes=(starter, *nodes))


def chosen(choice: Choice) -> tuple[str, int | None]:
    return choice.kind, None if choice.parent is None else choice.parent.n


@pytest.mark.parametrize("policy", [greedy, uct])
@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param(tree_of(), ("draft", None), id="nothing yet"),
        pytest.param(tree_of(("draft", None, 0.5)), ("draft", None), id="drafts are missing"),
        pytest.param(tree_of(("draft", None, None)), ("debug", 1), id="a failure comes first"),
        pytest.param(
            tree_of(("draft", None, None), ("debug", 1, None)), ("debug", 2), id="the latest one"
        ),
        pytest.param(
            tree_of(("draft", None, None), ("debug", 1, None), ("debug", 2, None)),
            ("draft", None),
            id="it is given up",
        ),
        pytest.param(
            tree_of(
                ("draft", None, None),
                ("debug", 1, None),
                ("debug", 2, None),
                ("draft", None, None),
                ("debug", 4, None),
                ("debug", 5, None),
            ),
            ("draft", None),
            id="more drafts while none works",
        ),
        pytest.param(
            tree_of(("draft", None, 0.5), ("draft", None, 0.4), ("improve", 1, None)),
            ("debug", 3),
            id="an improvement that failed",
        ),
    ],
)
def test_every_policys_duties(policy: Policy, tree: Tree, expected: tuple[str, int | None]) -> None:
    assert chosen(policy(tree, LOWER, LIMITS)) == expected


def test_a_failure_without_code_is_not_mended() -> None:
    tree = tree_of().with_node(Node(n=1, kind="draft", error="no code"))
    assert chosen(greedy(tree, LOWER, LIMITS)) == ("draft", None)


def test_greedy_improves_the_best_whatever_it_came_from() -> None:
    tree = tree_of(
        ("draft", None, 0.5), ("draft", None, None), ("debug", 2, 0.3), ("improve", 1, 0.4)
    )
    assert chosen(greedy(tree, LOWER, LIMITS)) == ("improve", 3)
    assert chosen(greedy(tree, HIGHER, LIMITS)) == ("improve", 1)


def test_uct_widens_tries_what_was_tried_little_and_follows_what_is_good() -> None:
    two = tree_of(("draft", None, 0.1), ("draft", None, 0.9))
    assert chosen(uct(two, LOWER, LIMITS)) == ("improve", 1), "the better of two new ones"
    failures: list[tuple[NodeKind, int | None, float | None]] = [
        ("improve", 1, None), ("debug", 3, None), ("debug", 4, None),
    ]  # fmt: skip
    tree = tree_of(("draft", None, 0.5), ("draft", None, 0.6), *failures)
    assert chosen(greedy(tree, LOWER, LIMITS)) == ("improve", 1)
    assert chosen(uct(tree, LOWER, LIMITS)) == ("draft", None), "five tries, two ways: a third"
    tree = tree.with_node(Node(n=6, kind="draft", score=0.7))
    assert chosen(uct(tree, LOWER, LIMITS)) == ("improve", 2), "not where only failures came of it"


@pytest.mark.parametrize(
    ("reply", "files"),
    [
        ("Idea: x\n```python solution.py\na = 1\n```\nbye", {"solution.py": "a = 1\n"}),
        ("```\na = 1\n```", {"main.py": "a = 1\n"}),
        ("~~~python\na = 1\n~~~", {"main.py": "a = 1\n"}),
        ("```py\na\n```\nor rather\n```py\nb = 22\n```", {"main.py": "b = 22\n"}),
        ("```bash\npip install x\n```\n```python\na\n```", {"main.py": "a\n"}),
        ("**model.py**:\n```python\na\n```", {"model.py": "a\n"}),
        (
            "### `sub/model.py`\n\n```\na\n```\n```\nb\n```",
            {"sub/model.py": "a\n", "main.py": "b\n"},
        ),
        ("```python title=./x.py\na\n```", {"x.py": "a\n"}),
        ("````python\n'''\n```\n'''\n````", {"main.py": "'''\n```\n'''\n"}),
        ("```python\na = 1", {"main.py": "a = 1"}),
    ],
)
def test_what_a_reply_proposes(reply: str, files: dict[str, str]) -> None:
    proposal = read_proposal(reply, "main.py")
    assert proposal is not None
    assert {file.name: file.text for file in proposal.files} == files


def test_the_idea_is_what_stands_before_the_code() -> None:
    proposal = read_proposal("**Idea:** use a\n  forest\n```\na\n```\nIt is good.", "main.py")
    assert proposal is not None
    assert proposal.idea == "use a forest"


@pytest.mark.parametrize("reply", ["", "no code", "```python\n\n```", "```bash\nls\n```"])
def test_replies_without_code(reply: str) -> None:
    assert read_proposal(reply, "main.py") is None


def test_code_that_was_cut_off_is_no_file() -> None:
    whole = "```python a.py\na\n```\n"
    assert read_proposal("```python\na = ", "main.py", cut_off=True) is None
    proposal = read_proposal(f"{whole}```python b.py\nb = ", "main.py", cut_off=True)
    assert proposal is not None
    assert [file.name for file in proposal.files] == ["a.py"]


def test_every_task_of_the_suite_has_a_layout() -> None:
    layouts = {}
    for name in task_folders():
        spec = load_task(name).spec
        layout = layout_of(spec, spec.read_only.paths)
        layouts[name] = (layout.main, layout.run, layout.makes_submission, layout.sample)
    script = ("solution.py", "solution.py", True, False)
    assert layouts["cifar10"] == layouts["clrs"] == layouts["babylm"] == script
    assert layouts["house-price"] == (*script[:3], True)
    assert layouts["bibtex-generation"] == ("tool.py", "evaluate.py", False, False)
    assert layouts["vectorization"] == ("convolution.py", "measure.py", False, False)
    assert layouts["llama-inference"] == ("generate.py", "measure.py", False, False)
