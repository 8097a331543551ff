"""What `mlagentbench run` prints at the end: the table, how to read it, what to run next."""

from collections.abc import Sequence

from mlagentbench.cli.suite_tables import print_differences, print_tables
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Outcome
from mlagentbench.report.collect_runs import collect
from mlagentbench.runs.results import SuiteOutcome
from mlagentbench.statistics.cells import CellStatistics, cell_statistics
from mlagentbench.statistics.variants import variant_differences
from mlagentbench.tasks.stored_measurements import how_to_measure
from mlagentbench.terminal import Terminal, print_json, text_block
from mlagentbench.untrusted_text import shown_path, this_command

LEGEND = """
valid: runs with a submission that could be scored, of all that count;
runs lost to infrastructure failures are excluded
success: the bar is reached, which lies halfway from floor to reference
and above the starter's noise; [95 % Wilson interval]
normalised: 0 = floor, the best of starter and trivial predictors
(in the hard tier also of its panel);
1 = reference; ± SE: the standard error over the runs
rungs: how far up runs got; each implies those before it: invalid, valid,
above the floor, success, matches the reference, near the ceiling
time: the run's own clock, without waiting for providers or people
paper: success by the paper's rule, more than 10 % better than the starter
""".rstrip()
REBUILT_LEGEND = """\
rebuilt runs: success, normalised and paper are about the mean over fresh
draws; score, floor, bar and reference are those of the given draw"""


def print_suite(outcome: SuiteOutcome, *, as_json: bool = False) -> int:
    """Print what came of a suite; returns the exit code, 0 only when every run ended well."""
    return print_cells(outcome, suite_cells(outcome), as_json=as_json)


def suite_cells(outcome: SuiteOutcome) -> list[CellStatistics]:
    """The statistics of a suite's runs, the same as in a report."""
    if not outcome.results:
        return []
    asked_for = {result.path for result in outcome.results}
    summaries = collect([outcome.out]).summaries
    return cell_statistics([one for one in summaries if one.result.path in asked_for])


def print_cells(
    outcome: SuiteOutcome, cells: Sequence[CellStatistics], *, as_json: bool = False
) -> int:
    """Print what came of a suite with these statistics; returns the exit code."""
    if as_json:
        _print_json(outcome, cells)
    else:
        _print_table(outcome, cells, Terminal())
    console = Terminal(stderr=True)
    if outcome.interrupted:
        console.print()
        console.print("Stopped. To resume, run the same command again:")
        console.print(f"  {this_command()}", soft_wrap=True)
        return 130
    for path, holder in outcome.held.items():
        console.print(f"{path}: being run by {holder}")
    if outcome.missing == 0:
        return 0
    for result in outcome.unfinished:
        end = result.outcome
        if outcome.spent_out is not None and result.failure is None and not _failed(end):
            continue
        failed = f"{end.cause}: {end.detail}" if end and _failed(end) else "did not end"
        why = result.failure or failed
        console.print(f"{result.path}: {why}", style="red", soft_wrap=True)
    if outcome.disk_full:
        console.print(
            f"the disk of {shown_path(outcome.out)} is full; free some space", style="red"
        )
    expected = counted(outcome.expected, "run")
    if outcome.spent_out is not None:
        console.print(
            f"unfinished: {outcome.missing} of {expected}; {outcome.spent_out}", soft_wrap=True
        )
        return 1
    console.print(f"failed: {outcome.missing} of {expected}; to retry, run:")
    console.print(f"  {this_command()}", soft_wrap=True)
    if (not_begun := outcome.expected - len(outcome.results)) > 0:
        console.print(
            f"{not_begun} did not begin; to see why: mlagentbench view {shown_path(outcome.out)}",
            soft_wrap=True,
        )
    return 1


def _failed(end: Outcome | None) -> bool:
    return end is not None and end.kind == "failed"


def _print_table(outcome: SuiteOutcome, lines: Sequence[CellStatistics], console: Terminal) -> None:
    if not lines:
        console.print("no run has started")
        return
    print_tables(console, lines, paper=outcome.paper_rule)
    console.print(text_block(LEGEND, "dim"))
    if any(line.key.conditions.rebuild_draws is not None for line in lines):
        console.print(text_block(REBUILT_LEGEND, "dim"))
    print_differences(console, variant_differences(outcome.results))
    unmeasured = {
        (how_to_measure(line.task_path, conditions.tier, conditions.profile), conditions.tier)
        for line, conditions in ((line, line.key.conditions) for line in lines)
        if line.counted > line.success.n
    }
    for command, tier in sorted(unmeasured):
        console.print()
        console.print(
            f"to measure floor and bar: {command}; "
            f"then: mlagentbench runs regrade {shown_path(outcome.out)}/runs/*/{tier}/*/*/*",
            soft_wrap=True,
        )
    out = shown_path(outcome.out)
    console.print()
    console.print(f"runs: {out}   to inspect them: mlagentbench report {out}", soft_wrap=True)
    console.print(f"raw transcripts: mlagentbench view {out}", soft_wrap=True)


def _print_json(outcome: SuiteOutcome, cells: Sequence[CellStatistics]) -> None:
    values = {
        "out": str(outcome.out),
        "expected": outcome.expected,
        "missing": outcome.missing,
        "interrupted": outcome.interrupted,
        "spent_out": outcome.spent_out,
        "variant_differences": [
            line.model_dump(mode="json") for line in variant_differences(outcome.results)
        ],
        "cells": [cell.model_dump(mode="json") for cell in cells],
        "runs": [result.model_dump(mode="json") for result in outcome.results],
    }
    print_json(values)
