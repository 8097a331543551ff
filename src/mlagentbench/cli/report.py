"""`mlagentbench report`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.generated_options import GeneratedOption, generated_values, with_options
from mlagentbench.cli.options import JsonOption, ModelArguments

FILES_PANEL = "Files beside the site"

Directories = Annotated[
    list[Path], typer.Argument(metavar="DIR", help="--out directories, or parts of them.")
]
To = Annotated[
    Path | None,
    typer.Option("--to", metavar="DIR", help="Directory for the report (default DIR/report)."),
]
Primary = Annotated[
    str | None,
    typer.Option(
        "--primary",
        metavar="A:B",
        help="A pair of agents to show first, marked as named after the runs.",
    ),
]
Judge = Annotated[
    str | None,
    typer.Option("--judge", metavar="MODEL", help="Let this model judge each run as well."),
]
Publish = Annotated[
    bool,
    typer.Option(
        "--publish",
        help="Refuse runs on the public draw, and on data that differ from the official ones.",
    ),
]
Bundle = Annotated[
    bool, typer.Option("--bundle", rich_help_panel=FILES_PANEL, help="Inspect's log viewer.")
]


def format_options() -> Iterator[GeneratedOption]:
    """An option for each export format."""
    from mlagentbench.report.exports.formats import FORMATS

    for one in FORMATS.values():
        yield GeneratedOption(one.name, one.description, FILES_PANEL)


@with_options(format_options)
def report(
    context: typer.Context,
    directories: Directories,
    to: To = None,
    primary: Primary = None,
    judge: Judge = None,
    model_argument: ModelArguments = None,
    publish: Publish = False,
    json_output: JsonOption = False,
    bundle: Bundle = False,
) -> None:
    """Write a site about runs: tables, comparisons, process, and a page for each run.

    Exits with 1 if a run could not be read; the others are in the report.

    Examples:
      mlagentbench report results
      mlagentbench report results older-results --to site --csv --latex
      mlagentbench report results --publish
    """
    from mlagentbench.terminal import say

    say(f"reading the runs in {', '.join(map(str, directories))}")
    from mlagentbench.cli.report_printing import print_report, reading_progress
    from mlagentbench.report.report import ReportRequest, write_report

    request = ReportRequest(
        directories=tuple(directories),
        to=to,
        primary=primary,
        formats=frozenset(name for name, wanted in generated_values(context).items() if wanted),
        bundle=bundle,
        publish=publish,
    )
    if judge is not None:
        _judge_runs(directories, judge, model_argument or [])
    with reading_progress() as progress:
        written = write_report(request, progress)
    print_report(written, as_json=json_output)
    raise typer.Exit(int(bool(written.data.collection.unreadable)))


def _judge_runs(directories: list[Path], model: str, arguments: list[str]) -> None:
    from mlagentbench.analysis.judge.judge_runs import judge_runs
    from mlagentbench.models.model_choice import ModelChoice, parse_arguments
    from mlagentbench.report.find_runs import find_places
    from mlagentbench.terminal import say

    runs = [run for place in find_places(directories) for run in place.runs]
    say(judge_runs(runs, ModelChoice(name=model, arguments=parse_arguments(arguments)), say).text)
