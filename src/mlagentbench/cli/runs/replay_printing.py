"""What `mlagentbench runs replay` prints, and the page that it writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from mlagentbench.analysis.run_diff import main_argument
from mlagentbench.fs import write_atomically
from mlagentbench.launch.replay.result import Agreement, Replay, ScoreComparison, StepComparison
from mlagentbench.numeric.number_format import counted, number_text
from mlagentbench.records import Step
from mlagentbench.report.site import rendering
from mlagentbench.report.site.pages.text_diffs import (
    MOST_LINES,
    Block,
    FileChange,
    compare,
    cut,
    workspace_change,
)
from mlagentbench.runs.objects.object_store import JoinedObjects, ObjectStore
from mlagentbench.runs.results import find_run, read_files
from mlagentbench.statistics.cell_marks import agent_with_model
from mlagentbench.terminal import Terminal, plain_table, print_json, text_line
from mlagentbench.untrusted_text import shown_path, this_command

TEMPLATE = "replay.html"
AGREEMENTS: tuple[Agreement, ...] = get_args(Agreement)
STYLES: dict[Agreement, str] = {
    "same": "green",
    "within tolerance": "green",
    "different": "red",
    "not replayable": "yellow",
}


@dataclass(frozen=True)
class StepPage:
    """A step as the page shows it: how it compares, and the differences line by line."""

    compared: StepComparison
    subject: str
    observation: tuple[Block, ...] = ()
    left_out: int = 0
    files: tuple[FileChange, ...] = ()


@dataclass(frozen=True)
class ReplayPage:
    """What the template shows of a replay."""

    replay: Replay
    who: str
    verdict: str
    steps: tuple[StepPage, ...]


def print_replay(replay: Replay, page: Path | None, *, as_json: bool) -> int:
    """Print how a replay compares; returns the exit code, 0 only when everything agrees."""
    code = 0 if replay.agrees else 1
    if as_json:
        values = replay.model_dump(mode="json")
        print_json({**values, "agrees": replay.agrees, "page": None if page is None else str(page)})
        return code
    console = Terminal()
    if replay.setup:
        _print_setup(console, replay)
    console.heading("steps")
    table = plain_table("step", "action", "agreement", "what differs", right=("step",))
    for step in replay.steps:
        name = f"{step.action.name} {main_argument(step.action)}".rstrip()
        agreement = text_line(step.agreement, STYLES[step.agreement])
        table.add_row(str(step.step), text_line(name), agreement, text_line(step.reason))
    console.print(table)
    if replay.scores:
        _print_scores(console, replay.scores)
    console.print()
    console.print(text_line(verdict(replay), "bold"))
    console.print(f"replay: {shown_path(Path(replay.replay))}", soft_wrap=True)
    if page is not None:
        console.print(f"page: {shown_path(page)}", soft_wrap=True)
    return code


def verdict(replay: Replay) -> str:
    """What the replay says about the run, in a sentence."""
    counts = [f"{replay.count(one)} {one}" for one in AGREEMENTS if replay.count(one)]
    taken = counted(len(replay.steps), "step")
    steps = f"{taken}: {', '.join(counts) or 'none taken'}"
    agreeing = sum(one.agreement in ("same", "within tolerance") for one in replay.scores)
    total = len(replay.scores)
    scores = f"scores that agree: {agreeing} of {total}" if total else "it was never graded"
    return f"{'reproduced' if replay.agrees else 'not reproduced'}; {steps}; {scores}"


def _print_setup(console: Terminal, replay: Replay) -> None:
    console.heading("different here")
    table = plain_table("what", "in the run", "in the replay")
    for one in replay.setup:
        table.add_row(text_line(one.what), text_line(one.then), text_line(one.now))
    console.print(table)


def _print_scores(console: Terminal, scores: tuple[ScoreComparison, ...]) -> None:
    console.heading("scores")
    numbers = ("after step", "then", "now")
    table = plain_table(*numbers, "agreement", "", right=numbers)
    for one in scores:
        table.add_row(
            str(one.step),
            number_text(one.then),
            number_text(one.now),
            text_line(one.agreement, STYLES[one.agreement]),
            text_line(one.reason),
        )
    console.print(table)


def write_replay_page(replay: Replay) -> Path:
    """Write the page into the replay's directory; it needs no other file."""
    from markupsafe import Markup

    view = ReplayPage(
        replay=replay,
        who=agent_with_model(replay.agent, replay.model),
        verdict=verdict(replay),
        steps=tuple(_step_pages(replay)),
    )
    style = Markup(rendering.style_sheet())
    text = rendering.render(
        TEMPLATE, view=view, agreements=AGREEMENTS, style=style, command=this_command()
    )
    place = find_run(Path(replay.replay)).replay_page
    write_atomically(place, text.encode("utf-8", "replace"))
    return place


def _step_pages(replay: Replay) -> Iterator[StepPage]:
    runs = find_run(Path(replay.run)), find_run(Path(replay.replay))
    then, now = ({step.n: step for step in read_files(run).history.steps} for run in runs)
    objects = JoinedObjects(*(run.objects for run in runs))
    for compared in replay.steps:
        page = StepPage(compared=compared, subject=main_argument(compared.action))
        if compared.compared and compared.step in then and compared.step in now:
            page = _with_differences(page, then[compared.step], now[compared.step], objects)
        yield page


def _with_differences(page: StepPage, then: Step, now: Step, objects: ObjectStore) -> StepPage:
    before, after = (one.observation.text.splitlines() for one in (then, now))
    blocks, left_out = cut(compare(before, after), MOST_LINES)
    named = {one.what for one in page.compared.compared}
    changed = workspace_change(objects, then.snapshot, now.snapshot, MOST_LINES)
    files = tuple(file for file in changed.files if f"file {file.path}" in named)
    return StepPage(page.compared, page.subject, blocks, left_out, files)
