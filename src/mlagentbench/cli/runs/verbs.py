"""The commands about runs that are there, whatever made them: show, diff, replay, gc."""

from pathlib import Path
from typing import Annotated

import typer

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def show(
    run: RunArgument,
    step: Annotated[int | None, typer.Option(min=1, help="All of this step.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Show a run: how it ended, and what it did step by step."""
    from mlagentbench.cli.runs.run_printing import print_run

    print_run(run, step, as_json=json_output)


def diff(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run's directory.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another one's.")],
    json_output: JsonOption = False,
) -> None:
    """Compare two runs: actions, plans, code, scores, and what they used."""
    from mlagentbench.analysis.run_diff import compare_runs
    from mlagentbench.cli.runs.diff_printing import print_run_diff

    print_run_diff(compare_runs(run_a, run_b), as_json=json_output)


def replay(
    run: RunArgument,
    html: Annotated[bool, typer.Option("--html", help="Also write a page about it.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the replay goes; else OUT/replays.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="How much numbers may differ, as a share of their size.")
    ] = 0.001,
    json_output: JsonOption = False,
) -> None:
    """Carry out a run's actions again, without a model, and compare: is it reproducible?"""
    from mlagentbench.cli.runs.replay_printing import print_replay, write_replay_page
    from mlagentbench.launch.replay.replay import replay_run
    from mlagentbench.report.text import visible

    replayed = replay_run(run, out, tolerance, lambda text: typer.echo(visible(text), err=True))
    page = write_replay_page(replayed) if html else None
    raise typer.Exit(print_replay(replayed, page, as_json=json_output))


def gc(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The --out directory.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    workspaces: Annotated[
        bool, typer.Option("--workspaces", help="Also work/ and outputs/ of finished runs.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Remove stored contents that no run refers to."""
    from mlagentbench.cli.runs.gc_printing import print_freed
    from mlagentbench.launch.free_space import free_space

    freed = free_space(out, dry_run=dry_run, workspaces=workspaces)
    print_freed(freed, as_json=json_output)
