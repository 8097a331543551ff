"""The rules of the layout: imports point one way, files and functions stay readable."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "mlagentbench"
MODULES = [path for path in PACKAGE.rglob("*.py") if "suite" not in path.parts]
MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 60

LAYERS = {
    "cli": {"cli_continuing", "cli_runs", "running", "report", "evaluation", "tasks"},
    "cli_continuing": {"running", "report"},
    "cli_runs": {"running", "report", "evaluation"},
    "inspect_plugin": {"running", "agents", "environment", "models", "tasks", "evaluation"},
    "running": {"agents", "evaluation", "environment", "models", "tasks"},
    "report": {"evaluation", "environment", "tasks"},
    "agents": {"environment", "models", "tasks"},
    "evaluation": {"environment", "tasks"},
    "models": {"environment"},
    "environment": {"tasks"},
    "tasks": set(),
}
SHARED = {
    "records",
    "errors",
    "home",
    "files",
    "mlagentbench_task",
    "mlagentbench_papers",
    "mlagentbench_intervals",
    "prompts",
}
"""What every layer may import."""


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("mlagentbench.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    layer = layer_of(path)
    if layer == "__init__" or layer in SHARED:
        return
    allowed = LAYERS[layer] | SHARED | {layer}
    assert imported_layers(path) <= allowed, f"{path.name} reaches beyond {sorted(allowed)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{node.name} has {length} lines"


def test_the_package_does_not_speak_of_the_machine_it_was_written_on() -> None:
    for path in PACKAGE.rglob("*"):
        if path.suffix in {".py", ".md", ".toml"}:
            assert "/" + "root/" not in path.read_text(), path


def test_importing_the_package_is_cheap() -> None:
    program = (
        "import sys, mlagentbench, mlagentbench.cli; "
        "sys.exit(', '.join({'inspect_ai', 'pandas', 'numpy', 'scipy'} & set(sys.modules)) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
