"""There is one version number, in pyproject.toml; everything else reads it."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import mlagentbench

ROOT = Path(__file__).parents[1]
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_package_has_the_version_of_pyproject() -> None:
    """Fails, too, when the installed metadata is old: install the package again."""
    assert mlagentbench.__version__ == version("mlagentbench") == VERSION


FORMATS = ROOT / "src" / "mlagentbench" / "runs" / "hash_chain.py"
"""Its table says which version introduced a format of files: that stays when the version rises."""


def test_no_second_file_states_a_version() -> None:
    assigned = re.compile(r"""^\s*__version__\s*=|^version:\s""", re.MULTILINE)
    quoted = re.compile(rf"""["']{re.escape(VERSION)}["']""")
    files = [*(ROOT / "src").rglob("*.py"), ROOT / "CITATION.cff", ROOT / "README.md"]
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not assigned.search(text), path
        assert path == FORMATS or not quoted.search(text), path
