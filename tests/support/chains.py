"""Files of runs that a test changed, chained again as their writers would have done it."""

from collections.abc import Sequence

from mlagentbench.records import RunRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import chained, find_faults, first_hash, payloads
from mlagentbench.runs.journal import AnyLine, whole_journal


def rechain(run: RunDirectory) -> None:
    """Chain all files of a run to its run.json as it is now."""
    for file in (run.journal, *run.appended_files):
        if file.exists():
            file.write_bytes(chained(payloads(file), first_hash(file)))


def change_record(run: RunDirectory, record: RunRecord) -> None:
    """Make a run another one, from its beginning."""
    run.run_json.write_text(record.model_dump_json(indent=2))
    rechain(run)


def write_lines(run: RunDirectory, lines: Sequence[AnyLine]) -> None:
    """Give a run another journal; what was written after lines of the old one fits it."""
    run.journal.write_bytes(whole_journal(lines, run.journal))
    rechain(run)


def faults(run: RunDirectory) -> list[str]:
    """Why the chains of a run do not hold; nothing when they do."""
    return list(find_faults(run.journal, run.appended_files))
