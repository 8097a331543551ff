"""Reading runs that no report has read yet, in several processes where there are many."""

import hashlib
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mlagentbench.analysis.analyse import summarise
from mlagentbench.analysis.evidence import task_texts
from mlagentbench.analysis.judge.judge import current_judgements
from mlagentbench.analysis.run_summary import UnreadableRun
from mlagentbench.errors import UsageError
from mlagentbench.report.cached_summaries import CachedRun
from mlagentbench.runs.directory import RunDirectory

WORTH_A_POOL = 100
"""So many runs take longer to read than processes to start."""


@dataclass(frozen=True)
class ReadJob:
    """A run to be read: where it is, how its OUT is called, and the state in which it was found."""

    out: str
    path: str
    shown: str
    fingerprint: str


def read_runs(jobs: Sequence[ReadJob]) -> Iterator[bytes]:
    """What is made of each run, packed, in the order of the jobs."""
    workers = len(os.sched_getaffinity(0))
    if workers == 1 or len(jobs) < WORTH_A_POOL:
        yield from map(_read, jobs)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_read, jobs, chunksize=8)


def _read(job: ReadJob) -> bytes:
    """Summarise a run; whatever is wrong with it is its own affair and not the others'."""
    run = RunDirectory(Path(job.out), Path(job.path))
    try:
        summary = summarise(run, job.shown)
    except UsageError as error:
        return _unreadable(job, str(error))
    except OSError as error:
        return _unreadable(job, f"{error.filename}: {error.strerror}")
    except Exception as error:  # noqa: BLE001 a run that breaks our analysis must not hide the rest
        return _unreadable(job, f"the analysis failed, which is our fault: {error!r}")
    record = summary.result.record
    return CachedRun(
        fingerprint=job.fingerprint,
        task_path=record.task_path,
        task_version=record.disclosure.task_version,
        task_words=words_hash(record.task_path, record.disclosure.task_version),
        summary=summary,
        judgements=tuple(current_judgements(run)) if run.judgements.is_file() else (),
    ).packed()


def _unreadable(job: ReadJob, reason: str) -> bytes:
    unreadable = UnreadableRun(out=job.shown, path=job.path, reason=reason)
    return CachedRun(fingerprint=job.fingerprint, unreadable=unreadable).packed()


@lru_cache(maxsize=256)
def words_hash(task_path: str, version: int) -> str:
    """A hash of what a task says to its agents, as it is known here."""
    return hashlib.sha256(task_texts(task_path, version).model_dump_json().encode()).hexdigest()
