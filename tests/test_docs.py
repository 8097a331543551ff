"""The docs name files and pages that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mlagentbench"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FILE_OR_FOLDER = re.compile(r"`([\w./-]+(?:/|\.(?:py|md|html|toml|json)))`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
OF_TASK_FOLDERS = {"task.toml"}
"""File names that the page uses for files of every task folder."""


def named_paths(text: str) -> Iterator[str]:
    yield from (path for path in FILE_OR_FOLDER.findall(text) if path not in OF_TASK_FOLDERS)


def exists(path: str) -> bool:
    return (ROOT / path).exists() or (PACKAGE / path).exists()


def test_every_path_of_the_architecture_page_exists() -> None:
    named = list(named_paths(ARCHITECTURE.read_text()))
    assert len(named) > 60
    assert not [path for path in named if not exists(path)]


def test_a_path_that_does_not_exist_is_noticed() -> None:
    [path] = named_paths("Change `grading/no_such_file.py`, not a `word` or `task.toml`.")
    assert not exists(path)


def test_every_folder_of_the_package_is_on_the_architecture_page() -> None:
    named = set(named_paths(ARCHITECTURE.read_text()))
    folders = {
        f"src/mlagentbench/{path.parent.relative_to(PACKAGE)}/"
        for path in PACKAGE.rglob("__init__.py")
        if path.parent != PACKAGE and "suite" not in path.parts
    }
    parts_of_others = {folder for folder in folders if folder.count("/") > 4}
    assert not (folders - named - parts_of_others)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    addresses = LINK.findall(page.read_text())
    inner = [address for address in addresses if not re.match(r"[a-z]+:", address)]
    assert not [address for address in inner if not (page.parent / address).exists()]
