"""A run directory: its paths, and what a killed process leaves in it."""

from pathlib import Path

from mlagentbench.runs.directory import RunDirectory


def test_what_was_half_written_goes(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, Path("runs/a"))
    run.create()
    run.run_json.write_text("{}")
    (run.path / ".run.json.x1y2").write_text("{")
    (run.path / ".failure.txt.z3").write_text("disk")
    (run.path / ".mine").mkdir()
    run.create()
    assert {path.name for path in run.path.iterdir()} == {"run.json", "work", ".mine"}


def test_paths_are_below_out(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, Path("runs/task/mini/agent-0/model/1"))
    run.create()
    assert run.objects == tmp_path / "objects"
    assert run.relative == Path("runs/task/mini/agent-0/model/1")
    assert run.work.is_dir()
