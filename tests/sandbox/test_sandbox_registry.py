"""Sandboxes are named in their registry and in the files of their providers only."""

import ast
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.sandbox.sandbox_registry import (
    SANDBOXES,
    default_sandbox,
    needs_mark,
    require_in_sandbox_agents,
    require_loopback,
)

PACKAGE = Path(__file__).parents[2] / "src" / "mlagentbench"
MAY_NAME = {
    "inspect_provider.py",
    "bubblewrap_provider.py",
    "local_provider.py",
    "docker_provider.py",
    "container_engine.py",
}
OTHER_MEANINGS = {"launch/engines"}
"""Where `local` is something else."""


def names_in(path: Path) -> set[str]:
    """The texts of a module that are exactly a sandbox's name."""
    nodes = ast.walk(ast.parse(path.read_text()))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return {text for text in constants if isinstance(text, str)} & set(SANDBOXES)


def test_no_other_module_names_a_sandbox() -> None:
    naming = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "suite" not in path.parts and path.name not in MAY_NAME and names_in(path)
    }
    assert not {name for name in naming if str(Path(name).parent) not in OTHER_MEANINGS}
    assert names_in(PACKAGE / "sandbox" / "local_provider.py") == {"local"}


def test_only_results_of_other_sandboxes_carry_a_mark() -> None:
    assert not needs_mark(default_sandbox())
    assert needs_mark("local") and needs_mark("of a package that is gone")


def test_errors_name_the_sandboxes_that_can() -> None:
    for require, what in (
        (require_in_sandbox_agents, "X is an in-sandbox agent, which needs one of: bubblewrap"),
        (require_loopback, "program of X uses a model, which needs one of: bubblewrap"),
    ):
        require(default_sandbox(), "X")
        with pytest.raises(UsageError, match=f"--sandbox local: .*{what}"):
            require("local", "X")
