"""Chained lines: every change of a file is found, whoever wrote it and whatever crashed."""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from chains import faults

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.runs import hash_chain
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import (
    FORMAT,
    READ_BY,
    TAIL,
    ChainBroken,
    ChainedFile,
    append_line,
    chained,
    find_fault,
    first_hash,
    last_hash,
    line_hash,
    lines_from_end,
    payload_of,
    payloads,
    require_chain,
    require_format,
    whole_lines,
)
from mlagentbench.runs.journal import EventLine, Journal, read_lines
from mlagentbench.runs.objects.garbage_collection import collect_objects
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import read_record

RECORD = b'{"v":2}'


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with a journal of four lines and two grades."""
    run = RunDirectory(tmp_path, Path("runs/t/mini/nop-0/none/1"))
    run.create()
    run.run_json.write_bytes(RECORD)
    journal = Journal(run.journal)
    for number in range(4):
        journal.append(EventLine, number, event="note", detail=f"ü {number}")
    journal.close()
    for score in (0.5, 0.75):
        append_line(run.grades, json.dumps({"score": score}).encode(), run.journal)
    return run


def fault(file: Path) -> str | None:
    return find_fault(whole_lines(file), first_hash(file))


def test_a_line_carries_the_hash_of_the_bytes_before_it(run: RunDirectory) -> None:
    for file in (run.journal, run.grades):
        before = hashlib.sha256(RECORD).hexdigest()
        for raw in file.read_bytes().splitlines():
            values = json.loads(raw)
            assert (values["before"], values["token"]) == (before, hash_chain.NO_HOLDER)
            body = raw.rpartition(b',"check":')[0]
            assert values["check"] == hashlib.sha256(body).hexdigest()
            before = hashlib.sha256(raw).hexdigest()
    assert faults(run) == []
    assert [line.n for line in read_lines(run.journal)] == [0, 1, 2, 3]
    assert [json.loads(one) for one in payloads(run.grades)] == [{"score": 0.5}, {"score": 0.75}]
    assert {json.loads(raw)["journal"] for raw in whole_lines(run.grades)} == {
        last_hash(run.journal)
    }


def test_every_change_of_one_byte_is_found(run: RunDirectory) -> None:
    for file in (run.journal, run.grades):
        contents = file.read_bytes()
        for place in range(len(contents) - 1):
            for other in {contents[place] ^ 1, contents[place] ^ 32, ord("0"), ord("\n")}:
                if other != contents[place]:
                    changed = contents[:place] + bytes([other]) + contents[place + 1 :]
                    file.write_bytes(changed)
                    assert fault(file) is not None, (place, other)
        file.write_bytes(contents)
    assert faults(run) == []


def changes(lines: list[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    for place, line in enumerate(lines):
        yield f"{place} removed", [*lines[:place], *lines[place + 1 :]]
        yield f"{place} repeated", [*lines[: place + 1], *lines[place:]]
        yield f"empty line before {place}", [*lines[:place], b"", *lines[place:]]
        foreign = hash_chain.sealed(b'{"a":1}', line_hash(lines[place - 1]))
        yield f"new line before {place}", [*lines[:place], foreign, *lines[place:]]
        for other in range(place + 1, len(lines)):
            swapped = list(lines)
            swapped[place], swapped[other] = swapped[other], line
            yield f"{place} and {other} swapped", swapped


@pytest.mark.parametrize("name", ["journal", "grades"])
def test_lines_removed_inserted_repeated_or_moved_are_found(run: RunDirectory, name: str) -> None:
    file = {"journal": run.journal, "grades": run.grades}[name]
    lines = whole_lines(file)
    for what, changed in changes(lines):
        file.write_bytes(b"".join(line + b"\n" for line in changed))
        if (name, what) == ("grades", "1 removed"):
            continue  # Nothing follows the last grade and names it.
        assert faults(run), what
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    assert faults(run) == []


def test_the_first_fault_is_named(run: RunDirectory) -> None:
    lines = whole_lines(run.journal)
    run.journal.write_bytes(b"".join(line + b"\n" for line in [lines[0], *lines[2:]]))
    expected = (
        f"line 2 does not follow from line 1 (expected before {line_hash(lines[0])[:12]}, "
        f"found {line_hash(lines[1])[:12]})"
    )
    assert faults(run) == [f"journal.jsonl was altered: {expected}"]
    with pytest.raises(ChainBroken, match=r"journal.jsonl, line 2 does not follow from line 1 .*"):
        require_chain(run.journal, run.appended_files)
    with pytest.raises(ChainBroken, match="the file was altered; copy it from a backup"):
        Journal(run.journal)


def test_a_record_that_was_rewritten_is_found(run: RunDirectory) -> None:
    run.run_json.write_bytes(RECORD + b"\n")
    found = faults(run)
    assert [one.partition(" (")[0] for one in found] == [
        "journal.jsonl was altered: line 1 does not follow from run.json",
        "grades.jsonl was altered: line 1 does not follow from run.json",
    ]
    with pytest.raises(ChainBroken, match=r"the file or run\.json was altered; copy both from a"):
        require_chain(run.journal, run.appended_files)


def test_a_journal_that_lost_its_end_does_not_fit_its_grades(run: RunDirectory) -> None:
    lines = whole_lines(run.journal)
    run.journal.write_bytes(b"".join(line + b"\n" for line in lines[:-1]))
    assert fault(run.journal) is None
    fault_found = "the line is missing after which line 1 of grades.jsonl was written"
    assert faults(run) == [f"journal.jsonl was altered: {fault_found}"]
    for contents in (run.journal.read_bytes(), b"", lines[0][:30]):
        run.journal.write_bytes(contents)
        with pytest.raises(ChainBroken, match=fault_found):
            Journal(run.journal, run.appended_files)
        assert run.journal.read_bytes() == contents


def test_a_grade_is_written_after_the_line_that_it_names_is_on_disk(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda handle: synced.append(os.fstat(handle).st_ino))
    append_line(run.grades, b'{"score":1}', run.journal)
    assert synced == [run.journal.stat().st_ino, run.grades.stat().st_ino]


def test_what_is_judged_before_the_first_line_holds(run: RunDirectory) -> None:
    for file in (run.journal, run.grades):
        file.unlink()
    append_line(run.judgements, b'{"said":1}', run.journal)
    assert faults(run) == []
    Journal(run.journal, run.appended_files).close()


def test_torn_at_every_byte_the_next_line_continues_the_chain(run: RunDirectory) -> None:
    contents = run.grades.read_bytes()
    for size in range(len(contents) + 1):
        run.grades.write_bytes(contents[:size])
        whole = contents[:size].count(b"\n")
        assert fault(run.grades) is None
        append_line(run.grades, b'{"score":1}')
        assert len(whole_lines(run.grades)) == whole + 1
        assert run.grades.read_bytes().endswith(b"\n") and fault(run.grades) is None


def test_long_lines_are_continued(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    for size in (0, 10, 8_000, 8_192, 100_000, 5, 1_000_000, 1):
        append_line(file, json.dumps({"text": "x" * size}).encode())
    file.write_bytes(file.read_bytes() + b"torn" * 10_000)
    append_line(file, b'{"text":""}')
    assert fault(file) is None
    assert len(whole_lines(file)) == 9


@pytest.mark.parametrize("torn", [b"", b"torn", b"t" * 3 * TAIL])
@pytest.mark.parametrize("length", [0, 1, TAIL - 2, TAIL - 1, TAIL, TAIL + 1, 5 * TAIL])
def test_lines_are_read_from_the_end(tmp_path: Path, length: int, torn: bytes) -> None:
    file = tmp_path / "lines"
    for lines in ([], [b"x" * length], [b"a", b"x" * length, b"", b"y" * length]):
        whole = b"".join(line + b"\n" for line in lines)
        file.write_bytes(whole + torn)
        with file.open("rb") as handle:
            found = list(lines_from_end(handle.fileno()))
        assert [line.raw for line in reversed(found)] == lines
        assert all(whole[: line.end].endswith(line.raw + b"\n") for line in found)
        assert found == [] or found[0].end == len(whole)


def test_the_open_file_is_not_read_again(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ChainedFile(run.asked)
    file.append(b'{"n":0}')

    def never(*_: object) -> object:
        raise AssertionError("read again")

    monkeypatch.setattr("os.pread", never)
    monkeypatch.setattr(Path, "read_bytes", never)
    file.append(b'{"n":1}')
    monkeypatch.undo()
    file.close()
    assert fault(run.asked) is None


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"cannot write .*/none/grades.jsonl: No such file"):
        append_line(tmp_path / "none" / "grades.jsonl", b"{}")


def test_whole_files_are_chained_alike(run: RunDirectory) -> None:
    again = chained(payloads(run.journal), first_hash(run.journal))
    assert again == run.journal.read_bytes()
    for never in (b'{"never":"sealed"}', b"[1]", b"no JSON", b""):
        assert payload_of(never) == never


def test_a_line_that_a_program_rewrote_is_read_and_found(run: RunDirectory) -> None:
    for file in (run.journal, run.grades):
        values = [json.loads(raw) for raw in whole_lines(file)]
        file.write_text("".join(f"{json.dumps(one, indent=None)}\n" for one in values))
        assert fault(file) == "line 1 carries no hash of the line before it"
    assert [line.n for line in read_lines(run.journal)] == [0, 1, 2, 3]
    assert json.loads(next(payloads(run.grades))) == {"score": 0.5}


@pytest.mark.parametrize(
    ("found", "named", "reader"),
    [
        (1, "format 1", "mlagentbench 0.1.0"),
        (FORMAT + 1, f"format {FORMAT + 1}", "a newer version"),
        (0, "format 0", "a different version"),
        (True, "format true", "a different version"),
        (float(FORMAT), f"format {FORMAT}.0", "a different version"),
        (str(FORMAT), f'format "{FORMAT}"', "a different version"),
        ("a\nb", r'format "a\nb"', "a different version"),
        (None, "no format", "a different version"),
    ],
)
def test_another_format_names_the_version_that_reads_it(
    found: object, named: str, reader: str
) -> None:
    with pytest.raises(UsageError) as refused:
        require_format(Path("RUN"), found)
    assert str(refused.value) == (
        f"RUN: run.json has {named}, and mlagentbench {READ_BY[FORMAT]} reads format "
        f"{FORMAT}; read this run with {reader}"
    )


def test_a_line_nested_too_deeply_is_damage(run: RunDirectory) -> None:
    for file in (run.journal, run.grades, run.run_json):
        with file.open("ab") as opened:
            opened.write(b"[" * 100_000 + b"\n")
    assert list(payloads(run.grades))[-1] == b"[" * 100_000
    with pytest.raises(UsageError, match="line 5: the journal is damaged: nested"):
        read_lines(run.journal)
    run.run_json.write_bytes(b"[" * 100_000)
    with pytest.raises(UsageError, match="cut off or damaged, not JSON: nested more"):
        read_record(run)


def test_a_record_without_a_format_is_refused(run: RunDirectory) -> None:
    run.run_json.write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"run\.json has no format, and .* reads format 2"):
        read_record(run)


def test_hashes_of_lines_keep_no_objects(run: RunDirectory, tmp_path: Path) -> None:
    """An object that is named like a line, its check or run.json is nobody's."""
    run.grades.unlink()
    names = {hashlib.sha256(RECORD).hexdigest(), last_hash(run.journal)}
    for raw in whole_lines(run.journal):
        names |= {json.loads(raw)["before"], json.loads(raw)["check"]}
    store = ObjectStore(run.objects)
    for name in names:
        store.path(name).parent.mkdir(exist_ok=True)
        store.path(name).write_bytes(b"of nobody")
    assert collect_objects(tmp_path, dry_run=False).objects.number == len(names) == 9
    assert not any(store.path(name).exists() for name in names)


def test_the_package_is_of_the_version_that_reads_its_format() -> None:
    package = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    ours, reader = (text.split(".")[:2] for text in (package["version"], READ_BY[FORMAT]))
    assert list(map(int, ours)) >= list(map(int, reader))
