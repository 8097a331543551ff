"""`mlagentbench runs record` and `run --record`: the replies of runs, as a file to replay."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import SuiteOutcome, find_run


def require_recordable(to: Path | None) -> None:
    """Find out before the runs whether their recording can be written, if one is wanted."""
    if to is not None:
        from mlagentbench.models import recording

        recording.require_recordable(to)


def record_directories(paths: Sequence[Path], to: Path, answered_by: str | None = None) -> str:
    """Record the runs at these paths."""
    said = record_runs([find_run(path) for path in paths], to, answered_by)
    if said is None:
        raise UsageError("no model has answered in these runs: there is nothing to record")
    return said


def record_outcome(outcome: SuiteOutcome, to: Path | None, say: Callable[[str], None]) -> None:
    """Record the runs of a `run` command as far as they have come, if that is wanted."""
    if to is not None:
        runs = [RunDirectory(outcome.out, Path(result.path)) for result in outcome.results]
        say(record_runs(runs, to) or f"nothing recorded in {to}: no model has answered")


def record_runs(
    directories: Sequence[RunDirectory], to: Path, answered_by: str | None = None
) -> str | None:
    """Write the recording, and say what is in it; None when there is nothing to write."""
    from mlagentbench.models.recording import record_run, write_recording

    found = [record_run(run, answered_by) for run in directories]
    recorded = [run for run in found if run is not None]
    if not recorded:
        return None
    write_recording(to, recorded)
    replies = sum(len(run.replies) for run in recorded)
    who = "; ".join(dict.fromkeys(run.run.answered_by for run in recorded))
    runs = "1 run" if len(recorded) == 1 else f"{len(recorded)} runs"
    return f"recorded {replies} replies of {runs} in {to} ({who})"
