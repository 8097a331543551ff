"""Collect the runs of a report: many --out directories, one summary for each run directory.

Only new and changed runs are read; the others come from the cache. A run that cannot be read is
listed with the reason and does not affect the others. Inspect's logs are not read.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.fs import read_regular
from mlagentbench.records import UNKNOWN
from mlagentbench.report.cache import CachedRun, ReportCache, package_hash, unpacked
from mlagentbench.report.find_runs import RunsPlace, find_places
from mlagentbench.report.inspect_logs import unreadable_logs
from mlagentbench.report.read_runs import ReadJob, read_runs, task_words
from mlagentbench.report.report_data import CollectedRun, Collection, CopiedRun
from mlagentbench.runs.directory import RunDirectory

BATCH = 500
"""Runs that are cached at once: interrupting a long report loses no more than these."""

LONGEST_NAME = 200
"""Characters of a run's name; a file name may have 255, and a suffix is added."""

Progress = Callable[[int, int], None]
"""Called with the number of runs read so far and the total."""


def collect(outs: Sequence[Path], progress: Progress | None = None) -> Collection:
    """All runs below these directories; UsageError for a directory without runs."""
    places = find_places(outs)
    code = package_hash()
    found: list[CollectedRun] = []
    unreadable: list[UnreadableRun] = []
    read = 0
    for place in places:
        entries, newly_read = _entries(place, code, progress)
        read += newly_read
        for run in place.runs:
            entry = entries[run.relative.as_posix()]
            if entry.summary is not None:
                found.append(_collected(run, entry, entry.summary, place.label))
            elif entry.unreadable is not None:
                unreadable.append(entry.unreadable.model_copy(update={"out": place.label}))
    replays = [run for run in found if run.summary.result.record.origin == "replay"]
    counted, copies = _separate_copies(
        [run for run in found if run.summary.result.record.origin != "replay"]
    )
    return Collection(
        outs=tuple(place.out for place in places),
        runs=tuple(_with_unique_names(counted)),
        unreadable=tuple(unreadable),
        copies=tuple(copies),
        replays=tuple(
            _copied(run, run.summary.result.record.replay_of or UNKNOWN) for run in replays
        ),
        unreadable_logs=tuple(log for place in places for log in unreadable_logs(place.out)),
        read=read,
    )


def _entries(
    place: RunsPlace, code: str, progress: Progress | None
) -> tuple[dict[str, CachedRun], int]:
    """The entry of each run by its path, and how many of them had to be read."""
    cache = ReportCache(str(place.out))
    known = cache.load_runs()
    entries: dict[str, CachedRun] = {}
    jobs: list[ReadJob] = []
    has_objects = (place.out / "objects").is_dir()
    for run in place.runs:
        path = run.relative.as_posix()
        fingerprint = _fingerprint(run, has_objects, code)
        entry = known.pop(path, None)
        if entry is not None and entry.fingerprint == fingerprint and _same_task(entry):
            entries[path] = entry
        else:
            jobs.append(ReadJob(str(place.out), path, place.label, fingerprint))
    if place.complete and known:
        cache.forget(known)
    entries |= _read_and_cached(jobs, cache, progress)
    return entries, len(jobs)


def _read_and_cached(
    jobs: Sequence[ReadJob], cache: ReportCache, progress: Progress | None
) -> Iterator[tuple[str, CachedRun]]:
    batch: list[tuple[str, bytes]] = []
    for number, (job, packed) in enumerate(zip(jobs, read_runs(jobs), strict=True), start=1):
        batch.append((job.path, packed))
        if len(batch) == BATCH or number == len(jobs):
            cache.store(batch)
            batch.clear()
        if progress is not None:
            progress(number, len(jobs))
        entry = unpacked(CachedRun, packed)
        if entry is not None:
            yield job.path, entry


def _fingerprint(run: RunDirectory, has_objects: bool, code: str) -> str:
    """A hash that changes with the run's files and with our code."""
    parts = [code, str(has_objects)]
    for file in (run.run_json, run.journal, run.failure, *run.appended_files):
        try:
            status = file.stat()
            parts.append(f"{status.st_size} {status.st_mtime_ns}")
        except OSError:
            parts.append("none")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _same_task(entry: CachedRun) -> bool:
    """Whether the task's text is the same as when the run was read."""
    return entry.summary is None or task_words(entry.summary.result.record) == entry.task_words


def _collected(
    run: RunDirectory, entry: CachedRun, summary: RunSummary, label: str
) -> CollectedRun:
    if summary.out != label:
        root = summary.cluster.removeprefix(summary.out)
        summary = summary.model_copy(update={"out": label, "cluster": f"{label}{root}"})
    state = hashlib.sha256(f"{entry.fingerprint}{entry.task_words}".encode()).hexdigest()
    return CollectedRun(
        name=_file_name(summary.result.path),
        directory=run.path,
        fingerprint=state[:32],
        summary=summary,
        judgements=entry.judgements,
    )


def _file_name(path: str) -> str:
    """A run's path as a file name: house-price--mini--react-1a2b3c4d--openai_gpt-5--1."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", path.removeprefix("runs/").replace("/", "--"))
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}--{hashlib.sha256(path.encode()).hexdigest()[:8]}"


def _with_unique_names(runs: Sequence[CollectedRun]) -> Iterator[CollectedRun]:
    """Two OUTs may have runs with the same path; a hash of the directory tells them apart."""
    taken = Counter(run.name for run in runs)
    for run in runs:
        if taken[run.name] == 1:
            yield run
        else:
            digest = hashlib.sha256(str(run.directory).encode()).hexdigest()[:8]
            yield replace(run, name=f"{run.name}--{digest}")


def _separate_copies(
    runs: Sequence[CollectedRun],
) -> tuple[list[CollectedRun], list[CopiedRun]]:
    """Leave out copies of runs, also copies that were made before the run ended."""
    candidates: dict[tuple[str, ...], list[CollectedRun]] = defaultdict(list)
    for run in runs:
        record = run.summary.result.record
        facts = record.disclosure
        key = (record.created, str(record.epoch), facts.task, facts.agent, facts.model)
        candidates[key].append(run)
    copy_of: dict[Path, Path] = {}
    for group in candidates.values():
        if len(group) > 1:
            copy_of |= _copies(group)
    copies = [_copied(run, str(copy_of[run.directory])) for run in runs if run.directory in copy_of]
    return [run for run in runs if run.directory not in copy_of], copies


def _copied(run: CollectedRun, original: str) -> CopiedRun:
    return CopiedRun(out=run.summary.out, path=run.summary.result.path, same_as=original)


def _copies(runs: Sequence[CollectedRun]) -> Iterator[tuple[Path, Path]]:
    """Each copy with the run that counts: the one that got furthest."""
    originals: list[CollectedRun] = []
    for run in sorted(runs, key=_progress, reverse=True):
        original = next((other for other in originals if _is_copy(run, other)), None)
        if original is None:
            originals.append(run)
        else:
            yield run.directory, original.directory


def _progress(run: CollectedRun) -> tuple[int, bool, int]:
    """How far a run got; of two that got equally far, one that was altered got less far."""
    sizes = [
        file.stat().st_size if file.exists() else 0
        for file in (run.directory / "journal.jsonl", run.directory / "grades.jsonl")
    ]
    return sizes[0], not run.summary.altered, sizes[1]


def _is_copy(run: CollectedRun, other: CollectedRun) -> bool:
    """Whether the records are equal and the run's journal is a prefix of the other's."""
    if run.summary.result.record != other.summary.result.record:
        return False
    journals = [_contents(one.directory / "journal.jsonl") for one in (run, other)]
    return journals[1].startswith(journals[0])


def _contents(file: Path) -> bytes:
    try:
        return read_regular(file)
    except FileNotFoundError:
        return b""
