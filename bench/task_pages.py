"""The measurements on the pages of docs/tasks/, written from task.toml between two markers:

    <!-- measured: mini -->
    <!-- end -->

Every page has such a block for each tier, measured or not, and for each measurement of the renamed
variant (`renamed mini`). `make pages` writes the blocks; with --check nothing is written, and the
pages that differ are named.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.grading.success import floor_of
from mlagentbench.numeric.number_format import counted, fixed, number_text, spread_text
from mlagentbench.records import Tier
from mlagentbench.tasks.spec import Measured, Metric, ReferenceMeasurements, StarterMeasurements
from mlagentbench.tasks.stored_measurements import how_to_measure
from mlagentbench.tasks.task import SUITE, Task, load_folder

PAGES = Path(__file__).parents[1] / "docs" / "tasks"
BLOCK = re.compile(r"(<!-- measured: (.*?) -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)
CAPTIONS = {
    "mini": "**Mini tier, public draw**",
    "hard": "**Hard tier, public draw**",
    "full": "**Full tier**",
    "full-gpu": "**Full tier, gpu profile**",
    "renamed mini": "**Mini tier, public draw, renamed variant**",
    "renamed full": "**Full tier, renamed variant**",
    "renamed full-gpu": "**Full tier, gpu profile, renamed variant**",
}
ARROWS = {"higher": "↑", "lower": "↓"}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write measurements to the pages of the tasks.")
    parser.add_argument("--check", action="store_true", help="only name the pages that differ")
    check = parser.parse_args().check
    try:
        stale = stale_pages(PAGES)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 1
    for page, text in stale.items():
        if not check:
            page.write_text(text, encoding="utf-8")
        print(f"{page.name}: {'differs from task.toml; run: make pages' if check else 'written'}")
    return 1 if check and stale else 0


def stale_pages(pages: Path) -> dict[Path, str]:
    """The pages that differ from their task.toml, with what they should be."""
    tasks = [load_folder(file.parent) for file in sorted(SUITE.glob("*/task.toml"))]
    texts = {pages / f"{task.id}.md": updated_page(pages / f"{task.id}.md", task) for task in tasks}
    return {page: text for page, text in texts.items() if text != page.read_text(encoding="utf-8")}


def updated_page(page: Path, task: Task) -> str:
    """The page with its blocks written anew; a UsageError if it lacks one or has another."""
    if not page.is_file():
        raise UsageError(f"{page} not found; write it: every task of the suite has a page")
    text, blocks = page.read_text(encoding="utf-8"), blocks_of(task)
    found = [name for _, name, _, _ in BLOCK.findall(text)]
    if sorted(found) != sorted(blocks):
        raise UsageError(
            f"{page}: expected blocks for {', '.join(blocks)}, found {', '.join(found) or 'none'}; "
            "write '<!-- measured: NAME -->' and '<!-- end -->', each on a line, for each of them"
        )
    return BLOCK.sub(lambda block: f"{block[1]}\n{blocks[block[2]]}\n\n{block[4]}", text)


def blocks_of(task: Task) -> dict[str, str]:
    """What is between the markers, by the name that the first one gives."""
    spec, variant = task.spec, task.spec.renamed
    tiers: tuple[Tier, ...] = ("mini", "hard", "full") if task.has_hard_tier else ("mini", "full")
    unmeasured = {
        tier: f"Not measured yet. To measure it, run `{how_to_measure(task.id, tier, None)}`."
        for tier in tiers
    }
    measured = {key: measured_text(spec.metric, found) for key, found in spec.measured.items()}
    renamed = {
        f"renamed {key}": measured_text(spec.metric, found)
        for key, found in (variant.measured if variant else {}).items()
    }
    blocks = unmeasured | measured | renamed
    return {name: f"{CAPTIONS[name]}\n\n{text}" for name, text in blocks.items()}


def measured_text(metric: Metric, measured: Measured) -> str:
    """A table of all measurements of a tier, and below it how they were made."""
    lines = [
        f"| | {metric.name} {ARROWS[metric.better]} | runs | CPU s a run |",
        "|---|---|---|---|",
        *measured_rows(metric, measured),
        "",
        *notes_on(measured),
    ]
    return "\n".join(lines)


def measured_rows(metric: Metric, measured: Measured) -> Iterator[str]:
    floor, starter, reference = floor_of(metric, measured), measured.starter, measured.reference

    def mark(score: float) -> str:
        return " (floor)" if score == floor else ""

    for kind, scores in measured.panels.items():
        for name, score in scores.items():
            text = f"`{name}`{mark(score)} | {number_text(score)}"
            yield f"| {text} | | |" if kind == "trivial" else f"| {kind}: {text} | 1 | |"
    runs = f"{starter.runs}, deterministic" if starter.deterministic else f"{starter.runs}"
    yield f"| starter{mark(starter.mean)} | {_score(starter)} | {runs} | {_cpu(starter)} |"
    yield f"| bar | {number_text(measured.bar)} | | |"
    yield f"| reference | {_score(reference)} | {reference.runs} | {_cpu(reference)} |"
    ceiling = "unknown" if measured.ceiling is None else number_text(measured.ceiling)
    yield f"| ceiling | {ceiling} | | |"


def notes_on(measured: Measured) -> Iterator[str]:
    starter = measured.starter
    yield "± is the standard deviation over runs with different seeds."
    if starter.over_bar is not None and not starter.deterministic:
        yield (
            f"Of {counted(starter.runs, 'starter run')}, {starter.over_bar} would reach the bar "
            f"and {starter.over_paper_bar} would succeed by the paper's rule."
        )
    if measured.tool is not None:
        yield f"The model in the role `tool` was `{measured.tool}`."


def _score(measured: StarterMeasurements | ReferenceMeasurements) -> str:
    return spread_text(measured.mean, measured.std if measured.runs > 1 else None, None)


def _cpu(measured: StarterMeasurements | ReferenceMeasurements) -> str:
    return fixed(measured.cpu_seconds, 1)


if __name__ == "__main__":
    sys.exit(main())
