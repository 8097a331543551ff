"""Registries: each name once, unknown names are answered, broken packages are named."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from plugin_packages import install_plugin, with_plugins

from mlagentbench.errors import UsageError
from mlagentbench.plugins import Registry


@dataclass(frozen=True)
class Colour:
    name: str


def colours() -> Registry[Colour]:
    return Registry("colour", Colour("red"), Colour("green"))


def test_rows_keep_their_order_and_new_ones_come_last() -> None:
    registry = colours()
    registry.register(Colour("blue"))
    assert list(registry) == ["red", "green", "blue"] and len(registry) == 3
    assert registry["blue"] == Colour("blue")


def test_a_name_exists_once() -> None:
    registry = colours()
    with pytest.raises(ValueError, match="there is a colour named 'red' already"):
        registry.register(Colour("red"))
    assert len(registry) == 2


@pytest.mark.parametrize(
    ("name", "hint"), [("gren", "did you mean green?"), ("x", "known: red, green")]
)
def test_an_unknown_name_is_answered_with_what_exists(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        colours().find(name, f"--colour {name}")
    assert str(raised.value).startswith(f"--colour {name}: unknown colour '{name}'; {hint}")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        (
            "from mlagentbench.limit_table import LIMITS\nLIMITS.register(LIMITS['steps'])",
            "ValueError: there is a limit named 'steps' already",
        ),
    ],
)
def test_a_broken_plugin_is_one_line_that_names_its_package(
    tmp_path: Path, module: str, reason: str
) -> None:
    install_plugin(tmp_path, "house-rules", {"house_rules": module})
    program = "from mlagentbench.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program, "run", "--help"],
        env=with_plugins(tmp_path),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert result.stderr == (
        f"mlagentbench: the plugin of house-rules (house_rules) cannot be loaded: {reason}; "
        "update or uninstall it\n"
    )


def test_the_help_of_all_commands_imports_no_plugin(tmp_path: Path) -> None:
    install_plugin(tmp_path, "house-rules", {"house_rules": "raise SystemExit('imported')"})
    program = "from mlagentbench.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program, "--help"], env=with_plugins(tmp_path), capture_output=True
    )
    assert result.returncode == 0
