"""`mlagentbench run`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mlagentbench.cli.completion import complete_agents, complete_tasks
from mlagentbench.cli.generated_options import GeneratedOption, generated_values, with_options
from mlagentbench.cli.options import (
    MODELS_PANEL,
    DrawOption,
    Jobs,
    JsonOption,
    ModelArguments,
    OutOption,
    PoolOption,
    Prices,
    ProfileOption,
    RoleOption,
    SuiteOption,
    TierOption,
    engine_options,
    limit_options,
    read_jobs,
)

if TYPE_CHECKING:
    from mlagentbench.launch.request import SuiteRequest

AgentsOption = Annotated[
    str,
    typer.Option(
        "--agents",
        metavar="NAMES",
        help="Agents, separated by commas; settings in brackets.",
        autocompletion=complete_agents,
    ),
]
TasksOption = Annotated[
    str,
    typer.Option(
        "--tasks",
        metavar="TASKS",
        help="Task ids or folders, separated by commas.",
        autocompletion=complete_tasks,
    ),
]
VariantOption = Annotated[
    Literal["original", "renamed", "both"],
    typer.Option(
        "--variant",
        metavar="VARIANT",
        help="original; renamed: new names for columns, labels and ids; or both.",
    ),
]
RunsOption = Annotated[
    int | None, typer.Option("--runs", metavar="N", min=1, help="Runs per task, agent and model.")
]
FeedbackOption = Annotated[
    str,
    typer.Option(
        "--feedback",
        metavar="MODE",
        help="none; or validation:N, to let agents ask for a validation score N times.",
    ),
]
ProtocolOption = Annotated[
    Literal["standard", "paper", "rebuild"] | None,
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="standard (default); paper: 8 runs, 50 actions or 5 h, its rule and actions; or "
        "rebuild (default of hard): the submission is made again, and graded, on fresh draws.",
    ),
]
RebuildDrawsOption = Annotated[
    int | None,
    typer.Option(
        "--rebuild-draws",
        metavar="N",
        min=1,
        help="Fresh draws of --protocol rebuild (default 3).",
    ),
]
NoExecutionOption = Annotated[
    bool,
    typer.Option(
        "--no-execution",
        help="Agents execute nothing; the program that they leave is run afterwards.",
    ),
]
PrimaryOption = Annotated[
    str | None,
    typer.Option(
        "--primary",
        metavar="A:B",
        help="The pair of agents or models that the runs are made to compare.",
    ),
]
InteractiveOption = Annotated[
    bool, typer.Option("--interactive", help="Let agents ask you for help.")
]
RecordOption = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="Write the models' replies here, for replay."),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only say what it is expected to take: hours, tokens, dollars, disk, downloads.",
    ),
]
ModelsOption = Annotated[
    str,
    typer.Option(
        "--models",
        metavar="NAMES",
        rich_help_panel=MODELS_PANEL,
        help="Inspect model names, separated by commas.",
    ),
]
GpusOption = Annotated[
    int | None,
    typer.Option("--gpus", metavar="N", min=0, help="GPUs of each run (default: the task's)."),
]
MaxRetries = Annotated[
    int | None,
    typer.Option(
        "--max-retries",
        metavar="N",
        min=0,
        rich_help_panel=MODELS_PANEL,
        help="Retries of a call that the provider turned away as too many (default 11).",
    ),
]
MaxSpend = Annotated[
    float | None,
    typer.Option(
        "--max-spend",
        metavar="DOLLARS",
        rich_help_panel=MODELS_PANEL,
        help="For all runs together; run again with more to continue. Needs --prices.",
    ),
]
MaxRate = Annotated[
    list[str] | None,
    typer.Option(
        "--max-rate",
        metavar="PROVIDER=N",
        rich_help_panel=MODELS_PANEL,
        help="Model calls a minute, all workers together, e.g. openai=500.",
    ),
]
MaxOutage = Annotated[
    str | None,
    typer.Option(
        "--max-outage",
        metavar="TIME",
        rich_help_panel=MODELS_PANEL,
        help="How long runs wait for a provider that is down (default 24h); 0: retry each call.",
    ),
]

RENAMED = {"role": "roles", "model_argument": "model_arguments"}
"""Options that can be repeated have another name where all their values are together."""
NOT_OF_RUNS = ("context", "record", "json_output", "dry_run")
"""What is no option of the runs themselves."""


def run_options() -> Iterator[GeneratedOption]:
    """The options that depend on what is installed."""
    from mlagentbench.launch.presets.preset import PRESETS
    from mlagentbench.sandbox.sandbox_registry import SANDBOXES

    presets = ", or ".join(f"{one.name} ({one.description})" for one in PRESETS.values())
    yield GeneratedOption("preset", f"A whole plan: {presets}.", metavar="NAME")
    known = ", or ".join(f"{one.name} ({one.description})" for one in SANDBOXES.values())
    yield GeneratedOption("sandbox", f"{known}.", metavar="NAME")
    yield GeneratedOption("image", "Base image of --sandbox docker.", metavar="IMAGE")
    yield from engine_options()
    yield from limit_options()


@with_options(run_options)
def run(
    context: typer.Context,
    agents: AgentsOption = "",
    tasks: TasksOption = "",
    suite: SuiteOption = None,
    tier: TierOption = "mini",
    profile: ProfileOption = None,
    variant: VariantOption = "original",
    draw: DrawOption = "public",
    pool: PoolOption = None,
    runs: RunsOption = None,
    out: OutOption = Path("results"),
    jobs: Jobs = "1",
    gpus: GpusOption = None,
    feedback: FeedbackOption = "none",
    protocol: ProtocolOption = None,
    rebuild_draws: RebuildDrawsOption = None,
    no_execution: NoExecutionOption = False,
    primary: PrimaryOption = None,
    interactive: InteractiveOption = False,
    record: RecordOption = None,
    json_output: JsonOption = False,
    models: ModelsOption = "none",
    role: RoleOption = None,
    model_argument: ModelArguments = None,
    max_retries: MaxRetries = None,
    prices: Prices = None,
    max_spend: MaxSpend = None,
    max_rate: MaxRate = None,
    max_outage: MaxOutage = None,
    dry_run: DryRunOption = False,
) -> None:
    """Run agents on tasks, grade what they submit, and print the results.

    Examples:
      mlagentbench run --tasks house-price --agents baseline,oracle
      mlagentbench run --suite quick --agents react --models openai/gpt-6-sol
      mlagentbench run --preset paper-icml --models openai/gpt-6-sol --out paper
    """
    request = _request(locals())
    if dry_run:
        raise typer.Exit(_forecast(request, json_output))
    _announce(request, is_preset="preset" in generated_values(context))
    raise typer.Exit(_run(request, record, json_output))


def _request(given: dict[str, Any]) -> "SuiteRequest":
    """What was asked for, from the options of the command."""
    from mlagentbench.launch.request import SuiteRequest

    options = {RENAMED.get(name, name): given[name] for name in given if name not in NOT_OF_RUNS}
    options["jobs"] = read_jobs(given["jobs"])
    return SuiteRequest.read(**options, **generated_values(given["context"]))


def _announce(request: "SuiteRequest", is_preset: bool) -> None:
    """Say what will be run; of a preset, also what it can take."""
    from mlagentbench.terminal import say

    say(f"runs: {len(request.cells) * request.runs}; results go to {request.out}")
    if is_preset:
        from mlagentbench.launch.presets.estimate import estimate

        for line in estimate(request).lines():
            say(line)


def _forecast(request: "SuiteRequest", as_json: bool) -> int:
    """Print what the runs are expected to take; returns the exit code."""
    from mlagentbench.launch.forecast.forecast import forecast
    from mlagentbench.terminal import print_json, tell

    expected = forecast(request)
    if as_json:
        print_json(expected.model_dump(mode="json"))
        return 0
    for line in expected.lines():
        tell(line)
    return 0


def _run(request: "SuiteRequest", record: Path | None, as_json: bool) -> int:
    """Run what was asked for and print what came of it; returns the exit code."""
    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.suite import run_suite
    from mlagentbench.models.recording import record_outcome, require_recordable
    from mlagentbench.terminal import Terminal, say

    require_recordable(record)
    outcome = run_suite(request, Terminal(stderr=as_json))
    record_outcome(outcome, record, say)
    return print_suite(outcome, as_json=as_json)
