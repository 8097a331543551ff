"""Directories with copies of programs, which sandboxes bind."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mlagentbench.sandbox.bwrap.visible.copies import directory_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_changed_program_is_copied_again(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"one")
    first = directory_of({"name": program})
    assert first == directory_of({"name": program})
    program.write_bytes(b"three")
    second = directory_of({"name": program}, {"link": "name"})
    assert (first / "name").read_bytes() == b"one"
    assert (second / "link").read_bytes() == b"three"
    assert os.access(second / "name", os.X_OK)


def test_paths_are_replaced_and_programs_keep_their_length(tmp_path: Path) -> None:
    script, program = tmp_path / "script", tmp_path / "program"
    script.write_bytes(b"#!/home/alice/env/bin/python\n/home/alice/env")
    program.write_bytes(b"\x7fELF\0/home/alice/env/lib\0rest")
    moved = [("/home/alice/env", "/opt/env")]
    made = directory_of({"script": script, "program": program}, moved=moved)
    assert (made / "script").read_bytes() == b"#!/opt/env/bin/python\n/opt/env"
    assert (made / "program").read_bytes() == b"\x7fELF\0/opt/env////////lib\0rest"
    longer = directory_of({"program": program}, moved=[("/home/alice", "/opt/a/longer/one")])
    assert (longer / "program").read_bytes() == program.read_bytes()


def test_two_processes_can_copy_at_once(tmp_path: Path, home: Path) -> None:
    programs = {f"{number}": tmp_path / f"{number}" for number in range(30)}
    for program in programs.values():
        program.write_bytes(b"x" * 10_000)
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: directory_of(programs), range(8)))
    assert len(made) == 1
    assert len(list(made.pop().iterdir())) == 30
    assert len(list((home / "cache" / "sandbox").iterdir())) == 1
