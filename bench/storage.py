"""What the snapshots of a run take on the disk, and what it takes to bring one back."""

import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from blake3 import blake3
from measurements import Measurement, interleaved, ratio
from steps import MILLION, Execute, fill, open_environment

from mlagentbench.records import Action
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshots import Snapshots

FILES = 200
STEPS = 50
REWRITTEN = 10
REWRITE = f"""
import os, random
from pathlib import Path
for path in random.sample(sorted(Path("ballast").glob("*/*.bin")), {REWRITTEN}):
    path.write_bytes(os.urandom({MILLION}))
"""
COUNT = """
from pathlib import Path
count = Path("count")
count.write_text(f"{int(count.read_text()) + 1 if count.exists() else 1}\\n")
"""
LONG_RUN = 1_000
MANY_FILES = 20_000
SNAPSHOTS = 3


def stored_bytes() -> Measurement:
    """All that a run leaves on the disk beside its workspace, against the unique bytes in it."""
    with open_environment() as (environment, execute):
        fill(environment.run.work / "ballast", FILES, MILLION)
        _run_script(execute, REWRITE, STEPS)
        out = environment.run.objects.parent
        stored = sum(
            path.lstat().st_blocks * 512
            for path in out.rglob("*")
            if not path.is_relative_to(environment.run.work)
        )
    unique = (FILES + STEPS * REWRITTEN) * MILLION
    return Measurement(
        what=f"bytes stored, {STEPS} steps over 200 MB, 10 MB rewritten / unique",
        value=stored / unique,
        target=1.02,
        from_what=f"{stored / MILLION:.1f} MB / {unique / MILLION:.0f} MB",
    )


def first_snapshot() -> Measurement:
    """The first snapshot of many files, against copying, hashing and syncing them."""
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory, "work")
        fill(work, MANY_FILES, MILLION // 100)
        stores, copies = Path(directory, "stores"), Path(directory, "copies")
        numbers = iter(range(2 * SNAPSHOTS))

        def snapshot() -> None:
            store = ObjectStore(stores / str(next(numbers)))
            Snapshots(store, work).take()
            store.commit()
            store.close()

        def copy_hash_and_sync() -> None:
            copy = copies / str(next(numbers))
            copies.mkdir(exist_ok=True)
            subprocess.run(["cp", "-r", work, copy], check=True)
            for path in copy.rglob("*.bin"):
                blake3(path.read_bytes()).hexdigest()
            subprocess.run(["sync", "-f", copy], check=True)

        ours, beside = interleaved(snapshot, copy_hash_and_sync, rounds=SNAPSHOTS)
    return ratio(
        f"first snapshot, 200 MB in {MANY_FILES:,} files / cp, hash, sync", ours, beside, target=1.5
    )


def restoring() -> Measurement:
    """Any step of a long run over 200 MB, restored into an empty directory, against `cp -r`."""
    with open_environment() as (environment, execute), tempfile.TemporaryDirectory() as directory:
        fill(environment.run.work / "ballast", FILES, MILLION)
        _run_script(execute, COUNT, LONG_RUN)
        restored, copied = Path(directory, "restored"), Path(directory, "copied")
        chosen = iter(random.sample(environment.steps, 15))

        def restore() -> None:
            restored.mkdir()
            Snapshots(environment.store, restored).restore(next(chosen).snapshot)

        def copy() -> None:
            subprocess.run(["cp", "-r", environment.run.work, copied], check=True)

        def clear() -> None:
            shutil.rmtree(restored)
            shutil.rmtree(copied)

        ours, beside, _ = interleaved(restore, copy, clear, rounds=15)
    return ratio(f"restoring any of {LONG_RUN:,} steps, 200 MB / cp -r", ours, beside, target=1.3)


def _run_script(execute: Execute, script: str, times: int) -> None:
    execute(Action(name="Write File", arguments={"file_name": "work.py", "content": script}))
    for _ in range(times):
        execute(Action(name="Execute Script", arguments={"script_name": "work.py"}))
