"""Every kind of write that a run makes, on a disk that has no room or takes no writes.

Run as a program for which DIRECTORY is a small disk of its own: prints one line for each failure.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.fs import write_atomically
from mlagentbench.runs.hash_chain import append_line, find_fault, first_hash, whole_lines
from mlagentbench.runs.journal import EventLine, Journal, read_lines
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import materialise
from mlagentbench.runs.objects.snapshots import Snapshots

SIZE = 3_000_000


class SmallDisk:
    """A run's files on the disk, with what is to be written beside them in memory."""

    def __init__(self, disk: Path, elsewhere: Path) -> None:
        self.disk = disk
        self.work = elsewhere / "work"
        self.work.mkdir()
        write_atomically(disk / "run.json", b"first")
        self.open()
        (self.work / "small").write_text("small")
        self.first = self.snapshots.take().id
        self.store.commit()
        (self.work / "submission").write_bytes(b"large" * (SIZE // 5))
        self.in_memory = ObjectStore(elsewhere / "objects")
        self.large = Snapshots(self.in_memory, self.work).take().id
        self.in_memory.commit()
        self.journal.append(EventLine, 0.0, event="note", detail="first")
        append_line(disk / "grades.jsonl", b'{"n":"first"}')
        (disk / "outputs").mkdir()
        (disk / "restored").mkdir()

    def open(self) -> None:
        self.store = ObjectStore(self.disk / "objects")
        self.snapshots = Snapshots(self.store, self.work)
        self.journal = Journal(self.disk / "journal.jsonl")

    def close(self) -> None:
        self.store.close()
        self.journal.close()

    def writes(self) -> dict[str, Callable[[], object]]:
        return {
            "snapshot": self.snapshot,
            "object": lambda: self.store.put(b"x" * SIZE),
            "commit": self.commit,
            "journal": lambda: self.journal.append(EventLine, 1.0, event="note", detail="x" * SIZE),
            "grades": lambda: append_line(
                self.disk / "grades.jsonl", b'{"n":"%s"}' % (b"y" * SIZE)
            ),
            "run.json": lambda: write_atomically(self.disk / "other" / "run.json", b"z" * SIZE),
            "outputs": lambda: materialise(
                self.in_memory, self.large, self.disk / "outputs", ["submission"]
            ),
            "restore": lambda: Snapshots(self.in_memory, self.disk / "restored").restore(
                self.large
            ),
        }

    def snapshot(self) -> None:
        self.snapshots.take()
        self.store.commit()

    def commit(self) -> None:
        self.store.put(b"c" * SIZE)
        self.store.commit()

    def state(self) -> list[tuple[str, bytes]]:
        """All files but the one that fills the disk, and the one whole one that is restored."""
        files = sorted(path for path in self.disk.rglob("*") if path.is_file())
        return [
            (str(path), path.read_bytes())
            for path in files
            if path.name not in ("filler", "small", "lock")
        ]


def attempt(small: SmallDisk, where: str, writes: dict[str, Callable[[], object]]) -> None:
    before = small.state()
    for kind, write in writes.items():
        try:
            write()
        except RunFailed as failure:
            print(f"{where} {kind}: {failure.cause}: {failure.detail}")
        except OSError as error:
            print(f"{where} {kind}: {error.filename}: {error.strerror}")
        else:
            print(f"{where} {kind}: WRITTEN")
        if small.state() != before:
            print(f"{where} {kind}: LEFT {[name for name, _ in small.state()]}")


def main(disk: Path, elsewhere: Path) -> None:
    small = SmallDisk(disk, elsewhere)
    with (disk / "filler").open("wb", buffering=0) as filler:
        while filler.tell() < 8_500_000:
            filler.write(bytes(100_000))
    attempt(small, "full", small.writes())
    (disk / "filler").unlink()
    small.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    reopened = small.writes() | {"journal": lambda: Journal(disk / "journal.jsonl")}
    attempt(small, "read-only", reopened)
    subprocess.run(["mount", "-o", "remount,rw,size=40m", str(disk)], check=True)
    small.open()
    for write in small.writes().values():
        write()
    small.store.commit()
    assert [line.n for line in read_lines(disk / "journal.jsonl")] == [0, 1]
    assert len((disk / "grades.jsonl").read_bytes().splitlines()) == 2
    for file in (disk / "journal.jsonl", disk / "grades.jsonl"):
        assert find_fault(whole_lines(file), first_hash(file)) is None
    later = Snapshots(ObjectStore(disk / "objects"), small.work)
    later.restore(small.first)
    later.restore(small.large)
    assert (small.work / "submission").read_bytes() == b"large" * (SIZE // 5)
    print("and it goes on")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
