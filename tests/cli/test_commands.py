"""The commands as a person meets them: help, names, mistakes, completion with Tab."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spelled_commands import fault_of, root
from typer.testing import CliRunner

import mlagentbench
from mlagentbench.cli import PANELS, app, main
from mlagentbench.cli.verb_group import RENAMED, command_paths

COMMAND = Path(sys.prefix) / "bin" / "mlagentbench"
FOLDER = Path(mlagentbench.__file__).parent / "cli"
PATHS = list(command_paths(root()))
GROUPS = ["", "tasks", "runs", "agents"]
COMPLETED = {
    "tasks show hous": ["house-price"],
    "tasks prepare clrs ogbn": ["ogbn-arxiv"],
    "run --tasks house-price,spac": ["house-price,spaceship-titanic"],
    "run --agents nop,orac": ["nop,oracle"],
    "run --suite qui": ["quick"],
    "agents show resea": ["research"],
    "runs bra": ["branch"],
}


def shown(*words: str) -> str:
    result = CliRunner().invoke(app, [*words], env={"COLUMNS": "80"}, prog_name="mlagentbench")
    assert result.exit_code == 0, result.output
    return result.output


def examples_of(text: str) -> list[str]:
    """The lines of a help text below `Examples:`."""
    after = text.partition("Examples:")[2].strip().partition("\n\n")[0]
    return [line.strip() for line in after.splitlines()]


@pytest.fixture
def complaint(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """Runs a wrong command; the one line that it is answered with."""

    def answer(line: str) -> str:
        monkeypatch.setattr(sys, "argv", ["mlagentbench", *line.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1
        return said.err.removeprefix("mlagentbench: ").rstrip("\n")

    return answer


def test_these_commands_exist() -> None:
    assert PATHS == [
        "demo", "doctor", "run", "resume", "report", "view",
        "tasks list", "tasks show", "tasks prepare", "tasks measure", "tasks check",
        "tasks memorisation",
        "runs show", "runs diff", "runs replay", "runs regrade", "runs rebuild", "runs branch",
        "runs record", "runs import", "runs gc",
        "jobs status", "jobs work", "jobs cancel",
        "agents list", "agents show", "agents relay",
    ]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_command_has_a_file_of_its_name(path: str) -> None:
    file = FOLDER.joinpath(*path.split())
    assert file.with_suffix(".py").is_file() or file.with_name(f"{file.name}_.py").is_file()


@pytest.mark.parametrize("path", [*PATHS, *GROUPS])
def test_help_is_short_and_has_examples(path: str) -> None:
    text = shown(*path.split(), "--help")
    assert text == shown(*path.split(), "-h")
    assert not re.search(r"<[a-z]|--no-(?!execution)", text), "a type of Python's, or a twin"
    examples = examples_of(_help_text(path))
    assert 1 <= len(examples) <= 3
    for example in examples:
        assert example.startswith(f"mlagentbench {path}".rstrip())
        assert example in text, "it is cut at 80 columns"
        assert fault_of(example.removeprefix("mlagentbench ")) is None


def _help_text(path: str) -> str:
    command: Any = root()
    for word in path.split():
        command = command.commands[word]
    return str(command.help)


def test_the_help_of_all_has_panels() -> None:
    text = shown("--help")
    places = [text.index(f"─ {panel} ─") for panel in ("Options", *PANELS, "Groups")]
    assert places == sorted(places)


def test_version() -> None:
    assert shown("--version") == f"{mlagentbench.__version__}\n"


@pytest.mark.parametrize("old", RENAMED)
def test_a_renamed_command_says_its_new_name(old: str, complaint: Callable[[str], str]) -> None:
    assert complaint(f"{old} something --json") == f"`{old}` is now `{RENAMED[old]}`"
    assert fault_of(RENAMED[old]) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rnu --agents nop", "unknown command `rnu`; did you mean `run`? "),
        ("regrade", "unknown command `regrade`; did you mean `runs regrade`? "),
        ("list", "unknown command `list`; did you mean `tasks list` or `agents list`? "),
        ("task list", "unknown command `task`; did you mean `tasks`? "),
        ("runs score", "unknown command `runs score`; did you mean `runs regrade`? "),
        ("tasks lst", "unknown command `tasks lst`; did you mean `tasks list`? "),
        ("agents xyzzy", "unknown command `agents xyzzy`; known: list, show, relay "),
        ("agents research", "`agents research` is now `agents show research`"),
        ("doctor docker", "doctor docker: name a sandbox with --sandbox; run: "),
        ("run", "--agents must name at least one (see: mlagentbench agents list), or --preset"),
        ("run --agents nop --jobs 0", "Invalid value for '--jobs': "),
        ("run --agents nop --tier big", "Invalid value for '--tier': 'big' is not one of"),
        ("run --agnts nop", "No such option: --agnts (Possible options: --agents"),
        ("runs diff one", "Missing argument 'RUN_B'; see: mlagentbench runs diff --help"),
        ("tasks check --all --suite paper", "--all and --suite paper are both given; name one"),
    ],
)
def test_a_mistake_is_answered_with_one_line(
    line: str, said: str, complaint: Callable[[str], str]
) -> None:
    assert complaint(line).startswith(said)


def test_a_group_without_a_command_shows_its_help() -> None:
    result = subprocess.run([COMMAND, "tasks"], capture_output=True, text=True)
    assert result.returncode == 2 and "Usage: mlagentbench tasks" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("line", COMPLETED)
def test_tab_completes_in_bash(line: str) -> None:
    """With the script that `--install-completion` installs."""
    script = f"""
        eval "$({COMMAND} --show-completion bash)"
        mlagentbench() {{ {COMMAND} "$@"; }}
        COMP_WORDS=(mlagentbench {line}); COMP_CWORD={len(line.split())}
        _mlagentbench_completion mlagentbench
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    variables = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin", **_python_path()}
    result = subprocess.run(
        ["bash", "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == COMPLETED[line]


def _python_path() -> dict[str, str]:
    """So that the command finds the package that is tested."""
    return {"PYTHONPATH": str(Path(mlagentbench.__file__).parents[1])}


def test_completion_loads_nothing_heavy() -> None:
    program = (
        "import sys; from mlagentbench.cli import completion as c; "
        "assert c.complete_tasks('') and c.complete_agents('') and c.complete_suite(''); "
        "sys.exit(', '.join({'inspect_ai', 'pandas', 'numpy', 'scipy'} & set(sys.modules)) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
