"""Measure the detectors on one half: `python bench/detectors/measure.py --split dev|test`.

For dev it lists what was missed and what was found wrongly: that is what detectors are improved on.
For test it says only figures, and writes them; they are meant to be computed once.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from corpus import Half, LabelledRun, in_half, natural_runs, task_texts
from matching import CleanRuns, Compared, DetectorFigures, clean_runs, compare, figures_of, name_of
from planting import planted_runs

from mlagentbench.analysis.analyse import analyse
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.records import Record

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "detectors.json"
SHOWN_FIGURES = ROOT / "src" / "mlagentbench" / "report" / "detector_accuracy.json"
SHOWN = (
    "positives", "recall", "low", "high", "false_alarms_per_1000_steps",
    "false_alarms_per_1000_steps_high", "natural_steps",
)  # fmt: skip


class Measured(Record):
    """The figures of one half, with what was measured and when."""

    split: Half
    commit: str
    date: str
    repetition: bool
    natural_runs: int
    natural_steps: int
    planted_runs: int
    clean: CleanRuns
    detectors: dict[str, DetectorFigures]


def evidence_of(labelled: LabelledRun) -> RunEvidence:
    run = labelled.run
    task = task_texts()[run.record.disclosure.task]
    return RunEvidence(
        record=run.record,
        history=run.history,
        grades=run.grades,
        problem=task.problem,
        submission=task.submission,
        texts=task.texts,
    )


def compared_runs(half: Half) -> list[Compared]:
    """Every run of the half, natural and planted, with its labels against its findings."""
    runs = [*in_half(natural_runs(), half), *in_half(planted_runs(), half)]
    return [compare(labelled, analyse(evidence_of(labelled)).findings) for labelled in runs]


def measured(half: Half, compared: Sequence[Compared], repetition: bool) -> Measured:
    natural = [run for run in compared if not run.planted]
    return Measured(
        split=half,
        commit=_git("rev-parse", "HEAD")
        + (" with changes" if _git("diff", "HEAD", "--", "src") else ""),
        date=datetime.now(UTC).date().isoformat(),
        repetition=repetition,
        natural_runs=len(natural),
        natural_steps=sum(run.steps for run in natural),
        planted_runs=len(compared) - len(natural),
        clean=clean_runs(compared),
        detectors=figures_of(compared),
    )


def _git(*arguments: str) -> str:
    asked = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def print_figures(result: Measured) -> None:
    print(
        f"{result.split}: {result.natural_runs} natural runs with {result.natural_steps} steps, "
        f"{result.planted_runs} planted\n"
    )
    print(f"{'detector':36} {'n':>5} {'recall':>7} {'95 %':>15} {'precision':>9}  false alarms")
    print(f"{'':36} {'':>5} {'':>7} {'':>15} {'':>9}  all, natural, per 1,000 natural steps (95 %)")
    for name, of in result.detectors.items():
        recall = "-" if of.recall is None else f"{of.recall:.3f}"
        precision = "-" if of.precision is None else f"{of.precision:.3f}"
        interval = f"{of.low:.3f} to {of.high:.3f}"
        alarms = f"{of.false_alarms:4} {of.natural_false_alarms:4}"
        rate = f"{of.false_alarms_per_1000_steps:.2f} ({of.false_alarms_per_1000_steps_high:.1f})"
        shown = f"{recall:>7} {interval:>15} {precision:>9}  {alarms} {rate:>12}"
        print(f"{name:36} {of.positives:5} {shown}")
    clean = result.clean
    print(
        f"\nunsupported claims: in {clean.flagged} of {clean.runs} natural runs without one, "
        f"{clean.with_words} of them with words; at doubtful places {clean.flagged_doubtful} more"
    )


def print_differences(compared: Sequence[Compared]) -> None:
    """Every miss and every false alarm, to be looked at."""
    for run in compared:
        for label in run.missed:
            print(f"missed  {run.name} {name_of(label)} {label.steps} {label.form} {label.why!r}")
        for finding in run.false_alarms:
            quote = finding.quote[:160]
            print(
                f"alarm   {run.name} {name_of(finding)} {finding.steps} {finding.detail} {quote!r}"
            )


def write(result: Measured) -> None:
    RESULTS.write_text(result.model_dump_json(indent=1) + "\n")
    shown = {
        name: {field: getattr(figures, field) for field in SHOWN}
        for name, figures in result.detectors.items()
    }
    SHOWN_FIGURES.write_text(json.dumps(shown, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=("dev", "test"), required=True)
    parser.add_argument("--again", action="store_true", help="compute the test figures once more")
    arguments = parser.parse_args()
    is_test = arguments.split == "test"
    if is_test and RESULTS.exists() and not arguments.again:
        sys.exit(f"{RESULTS} exists: test figures are computed once; --again repeats them")
    repetition = is_test and RESULTS.exists()
    compared = compared_runs(arguments.split)
    result = measured(arguments.split, compared, repetition)
    print_figures(result)
    if is_test:
        write(result)
    else:
        print()
        print_differences(compared)


if __name__ == "__main__":
    main()
