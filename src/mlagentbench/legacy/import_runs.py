"""`mlagentbench runs import`: convert runs of the original MLAgentBench to run directories.

A run is written to a temporary directory and then renamed, so that it is never incomplete. What
the original's logs do not contain is "unknown". The data hash starts with "legacy:", so that
imported runs never share a table with others unmarked.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from mlagentbench.errors import UsageError
from mlagentbench.fs import fsync_directory, remove_tree, write_atomically
from mlagentbench.grading.grade import IMPORTED_NOT_GRADED
from mlagentbench.legacy.imported_journal import Workspaces, write_journal
from mlagentbench.legacy.original_log import (
    AGENTS,
    LegacyRun,
    find_logs,
    read_log,
    task_name,
)
from mlagentbench.records import UNKNOWN, Disclosure, Json, Record, RunRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import put_tree, store_directory, walk
from mlagentbench.runs.record import settings_hash
from mlagentbench.runs.results import read_record, run_directories
from mlagentbench.tasks.task import Task, load_task

SANDBOX = "none (original)"
TOO_DEEP = "its directories are nested too deeply"
PROGRAMS = (".py", ".sh", ".ipynb", ".log", ".pyc")
"""Suffixes of files that are not data."""


class ImportedLog(Record):
    """The result for one run of the original; `run` is its path below OUT, None if it failed."""

    source: Path
    run: str | None
    is_new: bool
    words: str

    @property
    def text(self) -> str:
        """The result as a line for people."""
        if self.run is None:
            return f"{self.source}: not imported: {self.words}"
        return f"{self.source} -> {self.run}: {self.words}"


class ImportChoices(Record):
    """Options for all runs, which override their logs."""

    task: str | None = None
    agent: str | None = None
    model: str | None = None


def import_logs(directory: Path, out: Path, choices: ImportChoices) -> Iterator[ImportedLog]:
    """Import every run at or below a directory; an unreadable one does not stop the others."""
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory")
    top = directory.absolute()
    top = top.parent if top.name == "env_log" else top
    sources = find_logs(top)
    if not sources:
        raise UsageError(
            f"{directory}: no logs of the original; expected RUN/env_log/trace.json, at any depth"
        )
    known = _imported_before(out)
    for source in sources:
        try:
            log = read_log(source)
            if log.trace_hash in known:
                yield ImportedLog(
                    source=source, run=known[log.trace_hash], is_new=False, words="already imported"
                )
                continue
            task = _task_of(log, top, choices)
            run, words = _import(log, task, out.absolute(), choices)
        except (UsageError, PermissionError) as error:
            yield ImportedLog(source=source, run=None, is_new=False, words=str(error))
            continue
        except RecursionError:
            yield ImportedLog(source=source, run=None, is_new=False, words=TOO_DEEP)
            continue
        known[log.trace_hash] = run
        yield ImportedLog(source=source, run=run, is_new=True, words=words)


def _imported_before(out: Path) -> dict[str, str]:
    """The imported runs below OUT by their trace's hash."""
    found = {}
    for run in run_directories(out.absolute()):
        try:
            record = read_record(run)
        except UsageError:
            continue
        if record.imported_trace is not None:
            found[record.imported_trace] = run.relative.as_posix()
    return found


def _task_of(log: LegacyRun, top: Path, choices: ImportChoices) -> Task:
    name = choices.task or task_name(log, top)
    if name is None:
        raise UsageError("neither the log nor its path names the task; pass --task ID")
    return load_task(name)


def _import(log: LegacyRun, task: Task, out: Path, choices: ImportChoices) -> tuple[str, str]:
    """Create the run directory; returns its path below OUT and a short description."""
    store = ObjectStore(out / "objects")
    store.directory.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix="importing-", dir=out))
    try:
        with RunDirectory(out, staging.relative_to(out)).hold():
            workspaces = _workspaces(log, store)
            data_hash = _data_hash(store, workspaces, task.spec.submission.path)
            facts = _disclosure(log, task, data_hash, choices)
            final = _write_record(staging, out, log, task, facts)
            replies = write_journal(staging / "journal.jsonl", log, facts, workspaces, store)
            (staging / "failure.txt").write_text(IMPORTED_NOT_GRADED, encoding="utf-8")
            store.commit()
            place = _publish(staging, final, out)
    finally:
        remove_tree(staging)
    told = f"{len(log.steps)} steps, {replies.matched} replies, ended: {log.outcome.kind}"
    lost = f"; {replies.unmatched} replies fit no step" if replies.unmatched else ""
    return place, told + lost


def _write_record(staging: Path, out: Path, log: LegacyRun, task: Task, facts: Disclosure) -> Path:
    """Write run.json with the next free number of the run's cell; gives the run's place."""
    record = RunRecord(
        task_path=task.address,
        epoch=1,
        seed=0,
        created=_created(log),
        disclosure=facts,
        origin="legacy",
        imported_trace=log.trace_hash,
    )
    cell = out / record.directory(settings_hash(facts)).parent
    cell.mkdir(parents=True, exist_ok=True)
    taken = [int(path.name) for path in cell.iterdir() if path.name.isdecimal()]
    record = record.model_copy(update={"epoch": max(taken, default=0) + 1})
    write_atomically(staging / "run.json", record.model_dump_json(indent=2).encode())
    return cell / str(record.epoch)


def _publish(staging: Path, final: Path, out: Path) -> str:
    """Move the run to its place; gives it as a path below OUT."""
    (staging / "work").mkdir()
    staging.chmod(0o755)
    staging.rename(final)
    fsync_directory(final.parent)
    return PurePosixPath(final.relative_to(out)).as_posix()


def _disclosure(log: LegacyRun, task: Task, data_hash: str, choices: ImportChoices) -> Disclosure:
    """The disclosure of a run; task version 0 means the original's task."""
    said = log.settings
    agent = choices.agent or AGENTS.get(said.agent or "", said.agent) or UNKNOWN
    roles = {"fast": said.fast_model, "edit": said.edit_model}
    return Disclosure(
        task=task.id,
        task_version=0,
        metric=task.spec.metric.name,
        better=task.spec.metric.better,
        data_hash=data_hash,
        data_verified=False,
        tier="full",
        agent=f"legacy-{agent}".replace("/", "_"),
        agent_settings={"retrieval": True} if said.retrieval else {},
        model=choices.model or said.model or UNKNOWN,
        roles={role: name for role, name in roles.items() if name is not None},
        sandbox=SANDBOX,
        isolation="none",
        network=True,
        limits=_limits(log),
        feedback="none",
        protocol="legacy",
        interactive=said.interactive,
        python_env=UNKNOWN,
        hardware={},
        packages={},
    )


def _limits(log: LegacyRun) -> dict[str, Json]:
    said = log.settings
    if said.max_steps is None and said.max_seconds is None:
        return {}
    return {"steps": said.max_steps, "time": said.max_seconds, "tokens": None, "cost": None}


def _created(log: LegacyRun) -> str:
    started = log.started
    if started is None:
        return UNKNOWN
    return datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds")


def _workspaces(log: LegacyRun, store: ObjectStore) -> Workspaces:
    """All snapshots in the logs; a step without files has those of the step before."""
    kept = {step: store_directory(store, path) for step, path in sorted(log.files.items())}
    final = None if log.final_files is None else store_directory(store, log.final_files)
    first = next(iter(kept.values()), final)
    return Workspaces(
        first=put_tree(store, []) if first is None else first,
        after={step + 1: snapshot for step, snapshot in kept.items()},
        final=final,
        is_known=first is not None,
    )


def _data_hash(store: ObjectStore, workspaces: Workspaces, submission: str) -> str:
    """A hash of the data in the workspace: files of the first snapshot that never change.

    The original's snapshots do not contain read-only data. So different hashes mean different
    data, but equal hashes prove nothing.
    """
    snapshots = [workspaces.first, *workspaces.after.values()]
    lasting = set(_data_files(store, snapshots[0], submission))
    for snapshot in dict.fromkeys(snapshots[1:]):
        lasting &= set(_data_files(store, snapshot, submission))
    listing = json.dumps(sorted(lasting))
    return f"legacy:{hashlib.sha256(listing.encode()).hexdigest()}"


def _data_files(store: ObjectStore, snapshot: str, submission: str) -> Sequence[tuple[str, str]]:
    return [
        (path, entry.value)
        for path, entry in walk(store, snapshot)
        if entry.kind == "file"
        and not path.endswith(PROGRAMS)
        and not path.startswith("backup/")
        and path != submission
        and not path.startswith(f"{submission}/")
    ]
