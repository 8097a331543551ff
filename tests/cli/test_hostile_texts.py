"""What commands print about runs and tasks whose every text is hostile."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command_line import COMMAND
from generated_runs import write_run
from hostile_texts import HOSTILE, LINE, unseen
from made_journals import MadeStep, made_lines
from made_records import made_record
from number_task import write_number_task

from mlagentbench.cli import main
from mlagentbench.records import GradeRecord
from mlagentbench.runs.directory import RunDirectory

STEP = MadeStep(
    said=f"Thought: {HOSTILE}",
    action="Execute Script",
    arguments={"script_name": HOSTILE, HOSTILE: HOSTILE},
    observed=f"{HOSTILE}\nvalidation {HOSTILE}=0.5",
)
FOUND_IN_TOML = 'title = "A small task"', 'name = "mean absolute error"'


@pytest.fixture(autouse=True)
def wide_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setenv("FORCE_COLOR", "")


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDirectory]:
    """Two runs, the second without a score, below a directory with a hostile name."""
    out = tmp_path / HOSTILE[:40]
    facts = {"agent": HOSTILE[:60], "metric": HOSTILE, "sandbox": HOSTILE, "tier": "mini"}
    grades = (
        GradeRecord(step=1, valid=True, score=0.5),
        GradeRecord(step=1, valid=False, reason=HOSTILE, success_reason=HOSTILE),
    )
    return [
        write_run(
            out,
            made_record(epoch=epoch, model=f"lab/{HOSTILE[:60]}", **facts),
            made_lines(STEP, *[STEP] * epoch),
            grade,
        )
        for epoch, grade in enumerate(grades, start=1)
    ]


def typed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *words: object
) -> str:
    """What a command prints on stdout and stderr; none of it is invisible."""
    monkeypatch.setattr(sys, "argv", ["mlagentbench", *map(str, words)])
    with pytest.raises(SystemExit):
        main()
    printed = capfd.readouterr()
    assert not unseen(printed.out + printed.err), (words, printed)
    return printed.out + printed.err


def lines_of_others(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if line.strip().startswith(LINE)]


def test_runs(
    runs: list[RunDirectory], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = (run.path for run in runs)
    out = runs[0].out
    for words in (
        ("report", out, "--to", out / "site"),
        ("runs", "show", first),
        ("runs", "show", second),
        ("runs", "gc", out, "--dry-run"),
        ("runs", "regrade", second),
        ("runs", "record", first, "--to", out / "replies.jsonl"),
        ("resume", second),
    ):
        shown = typed(monkeypatch, capfd, *words)
        assert shown and not lines_of_others(shown), words
    shown = typed(monkeypatch, capfd, "report", out, "--to", out / "site")
    assert "⟨U+001B⟩[2J⟨U+009B⟩31m⟨U+007F⟩⟨U+202E⟩live⟨U+2066⟩" in shown
    shown = typed(monkeypatch, capfd, "runs", "show", second, "--step", 1)
    assert len(lines_of_others(shown)) >= 2, "a block keeps its lines"
    assert "[red]red[bold][link=http:]link :smile:" in shown
    typed(monkeypatch, capfd, "runs", "diff", first, second)
    for command in (
        ("report", out, "--to", out / "site", "--json"),
        ("runs", "show", first, "--json"),
        ("runs", "diff", first, second, "--json"),
    ):
        assert "\\u202e" in typed(monkeypatch, capfd, *command)


def test_tasks_and_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = hostile_task(tmp_path)
    shown = typed(monkeypatch, capfd, "tasks", "show", folder)
    assert "⟨U+001B⟩]0;title" in shown and not lines_of_others(shown.split("heading of")[0])
    assert "\\u202e" in typed(monkeypatch, capfd, "tasks", "show", folder, "--json")
    typed(monkeypatch, capfd, "tasks", "list", "--suite", suite(tmp_path, folder))
    for words in (
        ("tasks", "show", HOSTILE),
        ("agents", "show", HOSTILE),
        (HOSTILE,),
        ("run", "--tasks", folder, "--agents", HOSTILE),
        ("run", "--tasks", folder, "--agents", "react", "--models", HOSTILE),
        ("runs", "show", tmp_path / HOSTILE),
        ("runs", "import", tmp_path / HOSTILE),
        ("doctor", "--sandbox", HOSTILE),
    ):
        assert re.search("⟨U\\+202E⟩|.u202e", typed(monkeypatch, capfd, *words)), words


def suite(tmp_path: Path, folder: Path) -> Path:
    file = tmp_path / "suite.toml"
    file.write_text(f"tasks = [{json.dumps(str(folder))}]\n")
    return file


def hostile_task(tmp_path: Path, **replaced: str) -> Path:
    folder = write_number_task(tmp_path, **replaced)
    toml = folder / "task.toml"
    text = toml.read_text()
    for found in FOUND_IN_TOML:
        field = found.split(" = ")[0]
        assert found in text
        text = text.replace(found, f"{field} = {toml_text(HOSTILE)}")
    toml.write_text(text)
    problem = f"# heading of {HOSTILE}\n\n{HOSTILE}\n"
    (folder / "problem.md").write_text(problem, errors="surrogateescape")
    return folder


def toml_text(text: str) -> str:
    return '"' + "".join(f"\\U{ord(character):08X}" for character in text) + '"'


@pytest.mark.slow
def test_a_run_whose_submission_is_hostile(tmp_path: Path, kept_home: Path) -> None:
    """The reason for "no score" quotes the submission; Inspect's log and the terminal show it."""
    row = HOSTILE.replace("\n", "").replace("\r", "") + ",1\n"
    starter = f"open('submission.csv', 'w').write('id,y\\n' + {row * 2!r})"
    folder = hostile_task(tmp_path, starter=starter)
    (folder / "problem.md").write_text("The prompt stays as the task has it, also in the log.")
    variables = {"MLAGENTBENCH_HOME": str(kept_home), "COLUMNS": "1000"}
    command = (COMMAND, "run", "--tasks", folder, "--agents", "baseline", "--out", "out")
    result = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **variables}, capture_output=True, text=True
    )
    printed = result.stdout + result.stderr
    assert "no score" in printed and "⟨U+202E⟩live" in printed, printed
    assert not unseen(printed)
    [log] = (tmp_path / "out" / "logs").glob("*.eval")
    with zipfile.ZipFile(log) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    for name, text in texts.items():
        values = json.loads(text)
        assert not unseen(text.replace("\n", "")), name
        if name.startswith("samples/"):
            [score] = values["scores"].values()
            said = json.dumps(score, ensure_ascii=False)
            assert "⟨U+202E⟩live" in score["explanation"] and not unseen(said)
            assert "\\u001b" not in said
