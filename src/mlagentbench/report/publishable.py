"""`report --publish`: refuse tables that support no claim about capability."""

from collections.abc import Callable, Sequence

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.errors import UsageError
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import RunRecord
from mlagentbench.tasks.draws import is_public

MOST_NAMED = 5
NEXT_STEP = (
    "run the same tasks on draws that could not be known before (mlagentbench run --draw LABEL or "
    "--draw N..M, into another --out; see docs/evaluation/draws.md), and report only those runs"
)
VERIFY = (
    "prepare the data from their official source (mlagentbench tasks prepare TASK --tier full) "
    "and run again into another --out"
)
LEAVE_OUT = "report without them"


def require_publishable(summaries: Sequence[RunSummary]) -> None:
    """Raise a UsageError that names the runs which cannot be published, and what to run instead."""
    problems = [
        *_problem(summaries, _has_public_draw, "on the public draw, for development", NEXT_STEP),
        *_problem(summaries, _has_other_data, "on data that differ from the official ones", VERIFY),
        *_problem(summaries, _is_imported, "imported, on unknown data", LEAVE_OUT),
    ]
    if not summaries:
        problems = ["there are no runs"]
    if problems:
        raise UsageError(f"--publish: {'; '.join(problems)}")


def _has_public_draw(record: RunRecord) -> bool:
    return record.disclosure.tier != "full" and is_public(record.disclosure.draw)


def _has_other_data(record: RunRecord) -> bool:
    """Data without a checksum and without a known difference pass; every table marks them."""
    return bool(record.disclosure.data_differences)


def _is_imported(record: RunRecord) -> bool:
    return record.origin == "legacy"


def _problem(
    summaries: Sequence[RunSummary],
    is_refused: Callable[[RunRecord], bool],
    what: str,
    next_step: str,
) -> list[str]:
    refused = [one.result.path for one in summaries if is_refused(one.result.record)]
    if not refused:
        return []
    more = f" and {len(refused) - MOST_NAMED:,} more" if len(refused) > MOST_NAMED else ""
    named = f"{', '.join(refused[:MOST_NAMED])}{more}"
    verb = "is" if len(refused) == 1 else "are"
    return [f"{counted(len(refused), 'run')} {verb} {what} ({named}): {next_step}"]
