"""Options that several commands share, each with one name and one help text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from mlagentbench.cli.completion import complete_suite, complete_task
from mlagentbench.cli.generated_options import GeneratedOption
from mlagentbench.errors import UsageError

TierName = Literal["mini", "hard", "full"]
PoolName = Literal["eval", "train"]
ProfileName = Literal["cpu", "gpu"]

BUDGET_PANEL = "Budget of each run"
MODELS_PANEL = "Models"

TaskNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TASK",
        help="Task ids, or paths of task folders.",
        autocompletion=complete_task,
    ),
]
TaskName = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="Task id, or path of a task folder.",
        autocompletion=complete_task,
    ),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        help="All tasks of a suite: paper, v1, quick, demo, all, or a TOML file.",
        autocompletion=complete_suite,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="All tasks; short for --suite all.")]
TierOption = Annotated[
    TierName,
    typer.Option(
        "--tier",
        metavar="TIER",
        help="mini: generated in seconds; hard: likewise, and only experiments help; full: the "
        "real data set.",
    ),
]
DrawOption = Annotated[
    str,
    typer.Option(
        "--draw",
        metavar="DRAW",
        help="Generated data: public (for development), secret, any label, or a range N..M.",
    ),
]
PoolOption = Annotated[
    PoolName | None,
    typer.Option(
        "--pool",
        metavar="POOL",
        help="What the hard tier draws its mechanisms from: eval (default), or train: to train "
        "agents on.",
    ),
]
ProfileOption = Annotated[
    ProfileName | None,
    typer.Option(
        "--profile",
        metavar="PROFILE",
        help="Hardware that the full tier's limits assume: cpu (default), or gpu: one CUDA GPU.",
    ),
]
ToolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role", metavar="tool=MODEL", help="Model for tasks whose programs call one; repeatable."
    ),
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Run directory: OUT/runs/TASK/TIER/AGENT/MODEL/EPOCH.")
]
RunArguments = Annotated[list[Path], typer.Argument(metavar="RUN", help="Run directories.")]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Directory for runs, logs and snapshots.")
]
OutArgument = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="The --out directory of the command that planned them."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def _jobs(text: str) -> str:
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise typer.BadParameter(f"{text}: expected a number from 1, or auto")
    return text


Jobs = Annotated[
    str,
    typer.Option(
        "--jobs",
        metavar="N|auto",
        callback=_jobs,
        help="The most runs at once; auto: as many as the machine's cores, memory and GPUs allow.",
    ),
]

RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ROLE=MODEL",
        rich_help_panel=MODELS_PANEL,
        help="Model for another role, e.g. edit or fast; repeatable.",
    ),
]
ModelArguments = Annotated[
    list[str] | None,
    typer.Option(
        "-M",
        metavar="KEY=VALUE",
        rich_help_panel=MODELS_PANEL,
        help="Argument for the model provider; repeatable.",
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        rich_help_panel=BUDGET_PANEL,
        help="Model prices for --max-cost, as JSON or YAML.",
    ),
]


def read_jobs(text: str) -> int | None:
    """The most runs at once; None for auto."""
    return None if text == "auto" else int(text)


def seconds_of(text: str | None, option: str) -> float | None:
    """A duration such as 4h, from an option; a UsageError names the option."""
    from mlagentbench.tasks.spec import parse_seconds

    try:
        return None if text is None else parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error


def chosen(tasks: list[str] | None, suite: str | None, every: bool) -> list[str]:
    """The ids of the tasks that a person named, by TASK..., --suite or --all."""
    from mlagentbench.tasks.suites import chosen_tasks

    if every and suite is not None:
        raise UsageError(f"--all and --suite {suite} are both given; name one")
    return chosen_tasks(tasks or [], "all" if every else suite)


def engine_options() -> Iterator[GeneratedOption]:
    """Where runs are executed, and how."""
    from mlagentbench.launch.engines.engine import ENGINES

    known = ", or ".join(f"{one.spelled} ({one.description})" for one in ENGINES.values())
    yield GeneratedOption("engine", f"Where runs are executed: {known}.", metavar="NAME")
    yield GeneratedOption(
        "engine_options",
        "Its options, as partition=gpu,time=8h, or a .toml file.",
        metavar="KEY=VALUE,...",
    )


def resume_options() -> Iterator[GeneratedOption]:
    """The options of commands that continue runs, which depend on what is installed."""
    yield from engine_options()
    yield from limit_options()


def limit_options() -> Iterator[GeneratedOption]:
    """An option for each limit on what a run may use."""
    from mlagentbench.limit_table import LIMITS

    for limit in LIMITS.values():
        yield GeneratedOption(limit.setting, limit.description, BUDGET_PANEL, limit.metavar)
