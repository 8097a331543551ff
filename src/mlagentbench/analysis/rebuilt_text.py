"""Descriptions of rebuilt submissions, for the terminal and for reports."""

from collections.abc import Iterator

from mlagentbench.numeric.number_format import counted, duration_text, fixed, spread_text
from mlagentbench.records import Rebuilt, RebuiltDraw

BETTER_ON_FRESH = (
    "far better on fresh draws than on the given one; look whether the program knows their data"
)


def fresh_text(count: int) -> str:
    """Such as "rebuilt on 3 fresh draws"."""
    return f"rebuilt on {counted(count, 'fresh draw')}"


def with_error(value: float, error: float | None) -> str:
    """A normalised score, with its standard error if that is known."""
    return spread_text(value, error, "SE", 2)


def draw_result(one: RebuiltDraw) -> str:
    """The normalised score of a draw, with the standard error from the size of its test set."""
    return "none" if one.normalised is None else with_error(one.normalised, one.standard_error)


def command_text(rebuilt: Rebuilt) -> str:
    """What was run, and whether the agent left it."""
    if rebuilt.command is None:
        return "the submission itself is the program"
    if rebuilt.asked_for:
        return f"{rebuilt.command} (given by --command)"
    if rebuilt.proposed:
        return f"{rebuilt.command} (proposed: the agent did not leave it)"
    return rebuilt.command


def rebuilt_facts(rebuilt: Rebuilt) -> Iterator[tuple[str, str]]:
    """What is said of a rebuilt submission besides its draws, each with its name."""
    count = len(rebuilt.fresh)
    yield (
        f"mean of {counted(count, 'fresh draw')}",
        with_error(rebuilt.mean, rebuilt.standard_error),
    )
    verdict = "success" if rebuilt.success else "no success"
    yield "result", f"{verdict} (the mean has to reach {fixed(rebuilt.bar, 2)})"
    if rebuilt.rung is not None:
        yield "rung", rebuilt.rung + (f" ({rebuilt.rung_note})" if rebuilt.rung_note else "")
    if rebuilt.transfer_gap is not None:
        gap = with_error(rebuilt.transfer_gap, rebuilt.gap_error)
        yield "transfer gap", f"{gap} (given draw minus fresh draws)"
    if rebuilt.is_better_on_fresh:
        yield "warning", BETTER_ON_FRESH
    if rebuilt.program_only:
        yield "submitted", "the program alone: its agent could not execute it"
    elif rebuilt.submitted_normalised is not None:
        yield "as submitted", fixed(rebuilt.submitted_normalised, 2)
    yield "command", command_text(rebuilt)
    cpu = duration_text(rebuilt.cpu_seconds)
    yield "time", f"{duration_text(rebuilt.seconds)}, {cpu} of CPU time"
    for one in rebuilt.skipped:
        yield f"skipped draw {one.draw}", one.reason
    if rebuilt.difference is not None:
        yield "compared with what was submitted", rebuilt.difference
    if rebuilt.left_out:
        yield "left out", "; ".join(rebuilt.left_out)
    for literal in rebuilt.literals:
        yield "data in a source file", literal
    for warning in rebuilt.warnings:
        yield "warning", warning
