"""Collecting runs for a report: many --out directories, one summary for each run directory.

Only runs that are new or have changed are read. A run that cannot be read is named with the reason;
it never costs the others their place in the report. Logs of Inspect are not read at all: a run's
own directory says everything.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.records import UNKNOWN
from mlagentbench.report.cache import package_hash
from mlagentbench.report.cached_summaries import CachedRun, SummaryCache
from mlagentbench.report.find_runs import RunsPlace, find_places
from mlagentbench.report.inspect_logs import unreadable_logs
from mlagentbench.report.read_runs import ReadJob, read_runs, words_hash
from mlagentbench.report.report_data import CollectedRun, Collection, CopiedRun
from mlagentbench.runs.directory import RunDirectory

BATCH = 500
"""Runs that are kept at once: stopping a long report loses no more than these."""

LONGEST_NAME = 200
"""Characters of a run's name: a file's may have 255 with what is added to it."""

Progress = Callable[[int, int], None]
"""Called with how many runs have been read, of how many."""


def collect(outs: Sequence[Path], progress: Progress | None = None) -> Collection:
    """All runs below these directories; UsageError for a directory without runs."""
    places = find_places(outs)
    code = package_hash()
    found: list[CollectedRun] = []
    unreadable: list[UnreadableRun] = []
    read = 0
    for place in places:
        entries, anew = _entries(place, code, progress)
        read += anew
        for run in place.runs:
            entry = entries[run.relative.as_posix()]
            if entry.summary is not None:
                found.append(_collected(run, entry, entry.summary, place.shown))
            elif entry.unreadable is not None:
                unreadable.append(entry.unreadable.model_copy(update={"out": place.shown}))
    replays = [run for run in found if run.summary.result.record.origin == "replay"]
    counted, copies = _without_copies(
        [run for run in found if run.summary.result.record.origin != "replay"]
    )
    return Collection(
        outs=tuple(place.out for place in places),
        runs=tuple(_with_unique_names(counted)),
        unreadable=tuple(unreadable),
        copies=tuple(copies),
        replays=tuple(_same_as(run, _replayed(run)) for run in replays),
        unreadable_logs=tuple(log for place in places for log in unreadable_logs(place.out)),
        read=read,
    )


def _entries(
    place: RunsPlace, code: str, progress: Progress | None
) -> tuple[dict[str, CachedRun], int]:
    """What is known of each run, by its path; and how many had to be read for it."""
    cache = SummaryCache(place.out)
    known = cache.load()
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
            jobs.append(ReadJob(str(place.out), path, place.shown, fingerprint))
    if place.whole and known:
        cache.forget(known)
    entries |= _read_and_kept(jobs, cache, progress)
    return entries, len(jobs)


def _read_and_kept(
    jobs: Sequence[ReadJob], cache: SummaryCache, progress: Progress | None
) -> Iterator[tuple[str, CachedRun]]:
    waiting: list[tuple[str, bytes]] = []
    for number, (job, packed) in enumerate(zip(jobs, read_runs(jobs), strict=True), start=1):
        waiting.append((job.path, packed))
        if len(waiting) == BATCH or number == len(jobs):
            cache.store(waiting)
            waiting.clear()
        if progress is not None:
            progress(number, len(jobs))
        yield job.path, CachedRun.unpacked(packed)


def _fingerprint(run: RunDirectory, has_objects: bool, code: str) -> str:
    """Changes whenever a file of the run that is read does, or the code that reads it."""
    parts = [code, str(has_objects)]
    for file in (run.run_json, run.journal, run.failure, *run.appended_files):
        try:
            status = file.stat()
            parts.append(f"{status.st_size} {status.st_mtime_ns}")
        except OSError:
            parts.append("none")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _same_task(entry: CachedRun) -> bool:
    """Whether the run's task still says what it said when the run was read."""
    return (
        entry.summary is None or words_hash(entry.task_path, entry.task_version) == entry.task_words
    )


def _collected(
    run: RunDirectory, entry: CachedRun, summary: RunSummary, shown: str
) -> CollectedRun:
    if summary.out != shown:
        root = summary.cluster.removeprefix(summary.out)
        summary = summary.model_copy(update={"out": shown, "cluster": f"{shown}{root}"})
    state = hashlib.sha256(f"{entry.fingerprint}{entry.task_words}".encode()).hexdigest()
    return CollectedRun(
        name=_file_name(summary.result.path),
        directory=run.path,
        fingerprint=state[:32],
        summary=summary,
        judgements=entry.judgements,
    )


def _file_name(path: str) -> str:
    """A run's place as one word: house-price--mini--react-1a2b3c4d--openai_gpt-5--1."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", path.removeprefix("runs/").replace("/", "--"))
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}--{hashlib.sha256(path.encode()).hexdigest()[:8]}"


def _with_unique_names(runs: Sequence[CollectedRun]) -> Iterator[CollectedRun]:
    """Runs of two OUTs may have the same place below them: then the OUT's hash tells them apart."""
    taken = Counter(run.name for run in runs)
    for run in runs:
        if taken[run.name] == 1:
            yield run
        else:
            digest = hashlib.sha256(str(run.directory).encode()).hexdigest()[:8]
            yield replace(run, name=f"{run.name}--{digest}")


def _without_copies(
    runs: Sequence[CollectedRun],
) -> tuple[list[CollectedRun], list[CopiedRun]]:
    """Leave out runs that are there again, as they are or as they were at an earlier time."""
    alike: dict[tuple[str, ...], list[CollectedRun]] = defaultdict(list)
    for run in runs:
        record = run.summary.result.record
        facts = record.disclosure
        same = (record.created, str(record.epoch), facts.task, facts.agent, facts.model)
        alike[same].append(run)
    copy_of: dict[Path, Path] = {}
    for group in alike.values():
        if len(group) > 1:
            copy_of |= _copies(group)
    copies = [
        _same_as(run, str(copy_of[run.directory])) for run in runs if run.directory in copy_of
    ]
    return [run for run in runs if run.directory not in copy_of], copies


def _same_as(run: CollectedRun, other: str) -> CopiedRun:
    return CopiedRun(out=run.summary.out, path=run.summary.result.path, same_as=other)


def _replayed(run: CollectedRun) -> str:
    return run.summary.result.record.replay_of or UNKNOWN


def _copies(runs: Sequence[CollectedRun]) -> Iterator[tuple[Path, Path]]:
    """Each copy with the run that counts: the one that has come furthest."""
    kept: list[CollectedRun] = []
    for run in sorted(runs, key=_progress, reverse=True):
        original = next((other for other in kept if _is_copy(run, other)), None)
        if original is None:
            kept.append(run)
        else:
            yield run.directory, original.directory


def _progress(run: CollectedRun) -> tuple[int, int]:
    sizes = [
        file.stat().st_size if file.exists() else 0
        for file in (run.directory / "journal.jsonl", run.directory / "grades.jsonl")
    ]
    return sizes[0], sizes[1]


def _is_copy(run: CollectedRun, other: CollectedRun) -> bool:
    """Whether it is the same run: created at once, and its journal begins the other's."""
    if run.summary.result.record != other.summary.result.record:
        return False
    journals = [_contents(one.directory / "journal.jsonl") for one in (run, other)]
    return journals[1].startswith(journals[0])


def _contents(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""
