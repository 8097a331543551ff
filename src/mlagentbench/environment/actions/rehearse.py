"""Validate Submission under --protocol rebuild: run the program that makes the submission again."""

from pathlib import Path
from typing import TYPE_CHECKING

from mlagentbench.environment.rehearsal import Rehearsal
from mlagentbench.environment.reproduction import Reproduction, reproduce
from mlagentbench.errors import ActionError
from mlagentbench.fs import scratch_directory
from mlagentbench.limit_table import duration
from mlagentbench.runs.objects.file_differences import submission_difference
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import NotCollected, materialise
from mlagentbench.tasks.call_contract import InvalidSubmissionReported

if TYPE_CHECKING:
    from mlagentbench.environment.actions.submission import SubmissionCheck

LAST_LINES = 15
NAMED_FILES = 10
OWN, OTHERS = "the data here", "other data like these"


async def rehearse(
    check: "SubmissionCheck", rehearsal: Rehearsal, store: ObjectStore, snapshot: str
) -> str:
    """Make the submission again, on the run's data and on others, and say how that went.

    Raises ActionError at the first that fails. That the submission differs from the one in the
    workspace is only said: what is made again counts.
    """
    path = check.task.spec.submission.path
    with scratch_directory("rehearsal") as scratch:
        made = await _made(check, store, snapshot, check.public, scratch / "own", OWN)
        difference = _difference(check, store, snapshot, made, scratch / "submitted")
        told = [f"`{rehearsal.command}` makes a valid {path} from {OWN}, in {_seconds(made)}."]
        if difference is not None:
            told.append(
                f"Warning: {path} in the workspace differs from it ({difference}); only what the "
                "program makes counts."
            )
        if rehearsal.public is None:
            told.append("There are no other data to rehearse on.")
        else:
            other = await _made(check, store, snapshot, rehearsal.public, scratch / "other", OTHERS)
            told.append(f"It also makes a valid one from {OTHERS}, in {_seconds(other)}.")
        told += _remarks(made)
    return "\n".join(told)


async def _made(
    check: "SubmissionCheck",
    store: ObjectStore,
    snapshot: str,
    public: Path,
    scratch: Path,
    where: str,
) -> Reproduction:
    """What the program makes of some public data, which is a valid submission for them."""
    scratch.mkdir(mode=0o755)
    made = await reproduce(
        check.task, store, snapshot, public, check.python_env, check.seed, scratch
    )
    reason = made.reason
    if made.submission is not None:
        try:
            await check.check_outputs(made.submission, public)
        except InvalidSubmissionReported as invalid:
            reason = f"what it makes is not valid: {invalid}"
    if reason is not None:
        raise ActionError(_refusal(reason, made, where))
    return made


def _refusal(reason: str, made: Reproduction, where: str) -> str:
    parts = [f"The submission cannot be made again from {where}: {reason}."]
    lines = made.output.rstrip().splitlines()[-LAST_LINES:]
    if lines:
        parts += ["The program's last lines:", *(f"  {line}" for line in lines)]
    return "\n".join([*parts, *_remarks(made)])


def _remarks(made: Reproduction) -> list[str]:
    """What is to be said about the sources, whatever came of them."""
    remarks = [f"Warning: {warning}" for warning in made.warnings]
    remarks += [
        f"Warning: data in a source file ({literal}); results name it. Make data from the given "
        "files instead."
        for literal in made.literals
    ]
    if made.left_out:
        more = len(made.left_out) - NAMED_FILES
        named = "; ".join(made.left_out[:NAMED_FILES]) + (f"; and {more} more" if more > 0 else "")
        remarks.append(f"Files of the workspace that it could not use: {named}.")
    return remarks


def _difference(
    check: "SubmissionCheck", store: ObjectStore, snapshot: str, made: Reproduction, submitted: Path
) -> str | None:
    """How what was made differs from what is in the workspace; None if it does not."""
    submitted.mkdir()
    submission = check.task.spec.submission
    try:
        materialise(store, snapshot, submitted, [submission.path], submission.max_bytes)
    except NotCollected as missing:
        return str(missing)
    return None if made.submission is None else submission_difference(submitted, made.submission)


def _seconds(made: Reproduction) -> str:
    return duration(made.seconds)
