"""Run directories that others made: commands say what is wrong, and go on with the rest."""

import json
import os
import shutil
import socket
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from generated_runs import generate_runs

from mlagentbench.cli import main
from mlagentbench.errors import UsageError
from mlagentbench.fs import MAX_FILE, parse_json, read_regular
from mlagentbench.models.recording import SHIPPED, read_recording
from mlagentbench.report.inspect_logs import bundle_logs
from mlagentbench.report.site.build import MANIFEST
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, changes, put_tree, read_tree, walk
from mlagentbench.runs.results import run_directories

DEEP = b"[" * 500 + b"]" * 500


def deep_field(file: Path) -> None:
    """One line more, or a record, that is right but for a value nested deeply."""
    line = json.loads(file.read_bytes().splitlines()[-1] if file.suffix == ".jsonl" else b"{}")
    raw = json.dumps(line | {"deep": 0}).replace('"deep": 0', '"deep": ' + DEEP.decode())
    with file.open("a" if file.suffix == ".jsonl" else "w") as handle:
        handle.write(raw + "\n")


def listening(file: Path) -> None:
    place = os.open(file.parent, os.O_PATH)
    socket.socket(socket.AF_UNIX).bind(f"/proc/self/fd/{place}/{file.name}")
    os.close(place)


def sparse(file: Path) -> None:
    file.touch()
    os.truncate(file, 10_000_000_000_000)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "endless": lambda file: file.symlink_to("/dev/zero"),
    "outside": lambda file: file.symlink_to("/etc/passwd"),
    "itself": lambda file: file.symlink_to(file.name),
    "pipe": os.mkfifo,
    "socket": listening,
    "directory": lambda file: file.mkdir(),
    "sparse": sparse,
    "list": lambda file: file.write_text("[1, 2]\n"),
    "deep": lambda file: file.write_bytes(DEEP + b"\n"),
    "digits": lambda file: file.write_text('{"v": %s}\n' % ("9" * 5_000)),
    "bytes": lambda file: file.write_bytes(b"\xff\x00\n" * 3),
}
NO_REGULAR_FILE = ("endless", "outside", "itself", "pipe", "socket", "directory", "sparse")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[RunDirectory]:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "1000")
    generate_runs(tmp_path / "out", epochs=2, tasks=1, agents=1)
    return list(run_directories(tmp_path / "out"))


Typed = Callable[..., tuple[int, str]]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Types a command; its exit code, and what it prints, which is no traceback."""

    def type_command(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["mlagentbench", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = "".join(capfd.readouterr())
        assert "Traceback" not in printed and "a bug in" not in printed, (words, printed)
        return int(end.value.code or 0), printed

    return type_command


def replace_by(file: Path, kind: str) -> None:
    file.unlink(missing_ok=True)
    HOSTILE[kind](file)


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", ["run.json", "journal.jsonl", "grades.jsonl", "failure.txt"])
def test_the_report_lists_it_and_has_the_other_run(
    runs: list[RunDirectory], typed: Typed, name: str, kind: str
) -> None:
    good, bad = runs
    if name == "run.json" and kind == "itself":
        pytest.skip("like no file at all, as long as the journal is there")
    replace_by(bad.path / name, kind)
    code, shown = typed("report", good.out, "--to", good.out / "site")
    must_fail = name in ("run.json", "journal.jsonl") or kind in NO_REGULAR_FILE
    if must_fail:
        assert code == 1 and f"not read: {bad.relative}" in shown, shown
        assert "root:" not in shown
    assert f"\n{'1 run' if must_fail else '2 runs'}, " in shown, shown


def test_the_report_lists_a_run_whose_texts_cannot_be_encoded(
    runs: list[RunDirectory], typed: Typed
) -> None:
    good, bad = runs
    values = json.loads(bad.run_json.read_bytes())
    values["disclosure"]["model"] = "half a \ud800"
    bad.run_json.write_text(json.dumps(values))
    code, shown = typed("report", good.out, "--to", good.out / "site")
    assert code == 1 and "\n1 run, " in shown, shown
    assert (
        f"not read: {bad.relative}: its name or a text in its files is not valid Unicode" in shown
    )


def test_the_report_lists_a_run_whose_name_cannot_be_encoded(
    runs: list[RunDirectory], typed: Typed
) -> None:
    good, bad = runs
    bad.path.rename(bad.path.with_name("half a \udcff"))
    for _ in ("read", "from the cache"):
        code, shown = typed("report", good.out, "--to", good.out / "site")
        assert code == 1 and "\n1 run, " in shown, shown
        assert f"not read: {bad.relative.parent}/half a \\udcff: its name or" in shown


@pytest.mark.parametrize("kind", HOSTILE)
def test_other_commands_say_what_is_wrong(
    runs: list[RunDirectory], typed: Typed, kind: str, tmp_path: Path
) -> None:
    good, bad = runs
    for name in ("journal.jsonl", "run.json"):
        replace_by(bad.path / name, kind)
        for words in (
            ("runs", "show", bad.path),
            ("runs", "diff", good.path, bad.path),
            ("runs", "replay", bad.path),
            ("runs", "regrade", bad.path),
            ("runs", "branch", bad.path, "--step", 1),
            ("runs", "record", bad.path, "--to", tmp_path / "replies.jsonl"),
            ("resume", bad.path),
            ("runs", "gc", bad.out, "--dry-run"),
        ):
            code, shown = typed(*words)
            assert code in (1, 2) and "mlagentbench: " in shown, (words, shown)


def test_deep_fields_in_files_that_are_otherwise_right(
    runs: list[RunDirectory], typed: Typed
) -> None:
    good, bad = runs
    deep_field(bad.journal)
    code, shown = typed("report", good.out, "--to", good.out / "site")
    assert code == 1 and "nested more than 100 levels deep" in shown
    assert "nested more than 100" in typed("runs", "show", bad.path)[1]


@pytest.mark.parametrize("kind", HOSTILE)
def test_legacy_logs(tmp_path: Path, typed: Typed, kind: str) -> None:
    log = tmp_path / "logs" / "env_log"
    log.mkdir(parents=True)
    (tmp_path / "logs" / "agent_log").mkdir()
    HOSTILE[kind](log / "trace.json")
    code, shown = typed("runs", "import", tmp_path / "logs", "--out", tmp_path / "out")
    assert code in (1, 2) and shown


@pytest.mark.parametrize("kind", HOSTILE)
def test_leases_and_logs(runs: list[RunDirectory], typed: Typed, kind: str) -> None:
    (runs[0].out / "logs").mkdir()
    HOSTILE[kind](runs[0].out / "logs" / "a.eval")
    HOSTILE[kind](runs[0].path / "lease-000001")
    code, shown = typed("report", runs[0].out, "--to", runs[0].out / "site")
    assert code in (0, 1) and "2 runs, " in shown and "log not readable" in shown
    typed("runs", "show", runs[0].path)


def test_links_below_runs_are_not_followed(runs: list[RunDirectory], typed: Typed) -> None:
    task = runs[0].path.parents[3]
    for name in ("root", "here"):
        (task / name).symlink_to("/" if name == "root" else task)
    assert list(run_directories(runs[0].out)) and len(list(run_directories(runs[0].out))) == 2
    assert "2 runs, " in typed("report", runs[0].out, "--to", runs[0].out / "site")[1]


def test_names_with_line_breaks(runs: list[RunDirectory], typed: Typed) -> None:
    odd = runs[0].path.parent / "3\nnot read: 4\x1b[2J"
    shutil.copytree(runs[0].path, odd)
    shown = typed("report", runs[0].out, "--to", runs[0].out / "site")[1]
    assert "\x1b" not in shown


def test_stored_objects(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "objects")
    for listing in (
        b'["../../x","file",420,"0"]\n', b'["a/b","file",420,"0"]\n', b"[" * 5_000, b"{}", b"[1]",
        b'["x","device",420,"0"]\n', b'["x","file","rwx","0"]\n', b'[["x"],"file",420,"0"]\n',
    ):  # fmt: skip
        digest = store.put(listing)
        with pytest.raises(ObjectLost, match="not a listing"):
            read_tree(store, digest)
    big = store.put(b"big")
    store.commit()
    store.path(big).chmod(0o644)
    os.truncate(store.path(big), MAX_FILE + 1)
    with pytest.raises(ObjectLost, match="too large"):
        store.read(big)


def test_deep_snapshots_are_walked(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "objects")
    tree = put_tree(store, [Entry("file", "file", 0o644, "0").line()])
    empty = put_tree(store, [])
    for _ in range(1_100):
        tree = put_tree(store, [Entry("d", "directory", 0o755, tree).line()])
    assert sum(1 for _ in walk(store, tree)) == 1_101
    assert sum(1 for _ in changes(store, empty, tree)) == 1_101


def test_bounds_of_json_and_files(tmp_path: Path) -> None:
    assert parse_json(b'{"seed": 340282366920938463463374607431768211455}')
    wide = [[1]] * 1_000
    assert parse_json(json.dumps(wide).encode()) == wide, "many, but not deep"
    for raw in (DEEP, b"[" * 5_000, b"[" * 10**6, b"9" * 101):
        with pytest.raises(ValueError, match=r"nested|digits"):
            parse_json(raw)
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_regular(file, 5) == b"12345"
    with pytest.raises(UsageError, match="more than the 4 that are read"):
        read_regular(file, 4)


@pytest.mark.parametrize("damage", ["compressed wrongly", "encrypted", "unknown method"])
def test_a_damaged_log_is_left_out_of_the_bundle(tmp_path: Path, damage: str) -> None:
    log = tmp_path / "logs" / "a.eval"
    log.parent.mkdir()
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
    raw = bytearray(log.read_bytes())
    listed = raw.index(b"PK\x01\x02")
    if damage == "compressed wrongly":
        start = raw.index(b"header.json") + len("header.json")
        raw[start : start + 4] = b"\xff" * 4
    elif damage == "encrypted":
        raw[6] = raw[listed + 8] = 1
    else:
        raw[8] = raw[listed + 10] = 99
    log.write_bytes(raw)
    assert bundle_logs([tmp_path], tmp_path / "site") is None


def test_a_recording_may_be_named_by_a_link(tmp_path: Path) -> None:
    shipped = sorted(SHIPPED.glob("*.jsonl"))[0]
    (tmp_path / "link.jsonl").symlink_to(shipped)
    assert read_recording(tmp_path / "link.jsonl") == read_recording(shipped)


def test_a_report_that_others_made_reaches_no_file_elsewhere(
    runs: list[RunDirectory], typed: Typed, tmp_path: Path
) -> None:
    """The default place of a report is in the directory of the runs."""
    out, mine = runs[0].out, tmp_path / "mine.html"
    assert typed("report", out)[0] == 0
    mine.write_text("mine")
    (out / "report" / MANIFEST).write_text(json.dumps({"../../../mine": "0"}))
    assert typed("report", out)[0] == 0
    assert mine.read_text() == "mine"
    page = next((out / "report" / "runs").glob("*.html"))
    page.unlink()
    page.symlink_to(mine)
    code, shown = typed("report", out)
    assert code == 2 and f"{page} is a link; remove it" in shown
    assert mine.read_text() == "mine"
    shutil.rmtree(out / "report")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (out / "report").symlink_to(elsewhere)
    code, shown = typed("report", out)
    assert code == 2 and "report is a link; remove it" in shown
    assert not list(elsewhere.iterdir())
