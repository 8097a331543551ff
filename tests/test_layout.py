"""The rules of the layout: imports point one way, rooms and files stay small, names are unique."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "mlagentbench"
MODULES = [path for path in PACKAGE.rglob("*.py") if "suite" not in path.parts]
ROOMS = sorted({path.parent for path in MODULES})
MAX_MODULES = 15
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60

ORDER = (
    {"cli"},
    {"launch", "legacy", "report"},
    {"rebuild"},
    {"task_checks"},
    {"statistics"},
    {"analysis"},
    {"grading"},
    {"agents"},
    {"environment"},
    {"program_services"},
    {"models", "sandbox"},
    {"runs"},
    {"limit_table"},
    {"tasks"},
    {"machine"},
    {"numeric", "home"},
    {"fs", "inspect_startup", "terminal"},
    {"untrusted_text"},
    {"records", "prompts", "guest", "plugins", "inspect_private"},
    {"errors"},
)
"""A module imports from rooms below its own, and from its own."""
LEVELS = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
MAY_IMPORT_AGENTS = {"agents", "launch", "cli"}
ENTRANCES = {"__init__", "inspect_plugin"}
"""What others import us by: they reach into every room."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> Iterator[str]:
    """The full names of modules below mlagentbench, also by `from mlagentbench import x`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            if node.module == "mlagentbench":
                yield from (f"mlagentbench.{alias.name}" for alias in node.names)
            elif node.module:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported_rooms(path: Path) -> set[str]:
    ours = (name.split(".") for name in imported_modules(path))
    return {parts[1] for parts in ours if parts[0] == "mlagentbench" and len(parts) > 1}


def may_import(room: str, other: str) -> bool:
    if other == "agents" and room not in MAY_IMPORT_AGENTS:
        return False
    return other == room or LEVELS[other] > LEVELS[room]


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    if room in ENTRANCES:
        return
    imported = imported_rooms(path) - {"__version__"}
    assert not {other for other in imported if not may_import(room, other)}


def test_programs_that_run_elsewhere_import_nothing_of_ours() -> None:
    for path in (PACKAGE / "guest").glob("*.py"):
        assert not imported_rooms(path), path


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_private_names_of_inspect_are_imported_in_one_module(path: Path) -> None:
    if path.stem != "inspect_private":
        assert not [
            one for one in imported_modules(path) if one.startswith("inspect_ai") and "._" in one
        ]


def test_services_of_programs_are_reached_through_one_module() -> None:
    """Two tasks need them; the core knows nothing of papers, readers and chat requests."""
    seam = "mlagentbench.program_services.services"
    for path in MODULES:
        if room_of(path) != "program_services":
            reached = {one for one in imported_modules(path) if "program_services" in one}
            assert reached <= {seam}, path


def test_the_order_is_seen_in_every_form_of_import(tmp_path: Path) -> None:
    for line in (
        "from mlagentbench import launch",
        "import mlagentbench.launch.suite",
        "def late():\n    from mlagentbench.launch.suite import run_suite",
    ):
        module = tmp_path / "module.py"
        module.write_text(line)
        assert imported_rooms(module) == {"launch"}
    assert not may_import("grading", "launch")
    assert not may_import("report", "agents")


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{node.name} has {length} lines"


@pytest.mark.parametrize("room", ROOMS, ids=name)
def test_rooms_stay_small(room: Path) -> None:
    modules = [path for path in room.glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= MAX_MODULES


def test_no_two_modules_have_one_name() -> None:
    """But for a verb of the command line, which is called like what it starts."""
    named = [path.stem for path in MODULES if room_of(path) != "cli" and path.stem != "__init__"]
    assert not {stem for stem, times in Counter(named).items() if times > 1}


def test_no_two_classes_have_one_name() -> None:
    found = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert not {name for name, times in found.items() if times > 1}


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
