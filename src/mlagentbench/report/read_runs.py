"""Read runs that are not cached yet, in several processes where there are many."""

import hashlib
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic_core import PydanticSerializationError

from mlagentbench.analysis.analyse import summarise
from mlagentbench.analysis.evidence import task_texts
from mlagentbench.analysis.judge.judge import current_judgements
from mlagentbench.analysis.run_summary import UnreadableRun
from mlagentbench.errors import UsageError
from mlagentbench.records import RunRecord, Tier
from mlagentbench.report.cache import CachedRun, packed
from mlagentbench.runs.directory import RunDirectory

WORTH_A_POOL = 100
"""With this many runs, starting processes pays off."""


@dataclass(frozen=True)
class ReadJob:
    """A run to read: where it is, how its OUT was given, and a hash of its present state."""

    out: str
    path: str
    label: str
    fingerprint: str


def read_runs(jobs: Sequence[ReadJob]) -> Iterator[bytes]:
    """The packed cache entry of each run, in the order of the jobs."""
    # Only Linux tells which cores a process may use.
    known = getattr(os, "sched_getaffinity", None)
    workers = os.cpu_count() or 1 if known is None else len(known(0))
    if workers == 1 or len(jobs) < WORTH_A_POOL:
        yield from map(_read, jobs)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_read, jobs, chunksize=8)


def _read(job: ReadJob) -> bytes:
    """Summarise a run; an error becomes the entry of this run and does not affect the others."""
    try:
        return packed(_entry(job))
    except UsageError as error:
        return _unreadable(job, str(error))
    except OSError as error:
        return _unreadable(job, f"{error.filename}: {error.strerror}")
    except PydanticSerializationError:
        return _unreadable(
            job, "its name or a text in its files is not valid Unicode; copy it again"
        )
    except Exception as error:  # noqa: BLE001 a run that breaks our analysis must not hide the rest
        return _unreadable(job, f"the analysis failed (a bug in mlagentbench): {error!r}")


def _entry(job: ReadJob) -> CachedRun:
    run = RunDirectory(Path(job.out), Path(job.path))
    summary = summarise(run, job.label)
    return CachedRun(
        fingerprint=job.fingerprint,
        task_words=task_words(summary.result.record),
        summary=summary,
        judgements=tuple(current_judgements(run)) if run.judgements.exists() else (),
    )


def _unreadable(job: ReadJob, reason: str) -> bytes:
    unreadable = UnreadableRun(out=job.label, path=_encodable(job.path), reason=_encodable(reason))
    return packed(CachedRun(fingerprint=job.fingerprint, unreadable=unreadable))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def task_words(record: RunRecord) -> str:
    """A hash of what the run's task, as it is installed, says to agents."""
    return words_hash(record.task_path, record.disclosure.task_version, record.disclosure.tier)


@lru_cache(maxsize=256)
def words_hash(task_path: str, version: int, tier: Tier) -> str:
    """A hash of what the installed task says to agents."""
    texts = task_texts(task_path, version, tier)
    return hashlib.sha256(texts.model_dump_json().encode()).hexdigest()
