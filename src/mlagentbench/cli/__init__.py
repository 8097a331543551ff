"""The command line: each verb says what it does and hands the work to a module."""

import sys
from gc import set_threshold
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from mlagentbench.cli.resume_and_branch import (
    Jobs,
    MaxCost,
    MaxSteps,
    MaxTime,
    MaxTokens,
    ModelArguments,
    Prices,
    branch,
    resume,
)
from mlagentbench.cli.runs.verbs import diff, gc, replay, show
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import PERSONS_DISK, disk_trouble

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""With Python's own 700, looking for garbage while Inspect's modules load takes a second."""


class InterruptibleGroup(TyperGroup):
    """Commands that say how to go on when a person stops them."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("\nmlagentbench: stopped; to go on, type the same command again", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="mlagentbench",
    cls=InterruptibleGroup,
    help="Can language-model agents do machine-learning experimentation?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
tasks_app = typer.Typer(help="What tasks there are.", no_args_is_help=True)
app.add_typer(tasks_app, name="tasks")

TierName = Literal["mini", "full"]
SeedName = Literal["public", "secret"]
VariantName = Literal["original", "renamed", "both"]
TierOption = Annotated[
    TierName, typer.Option("--tier", help="mini: generated, seconds; full: real data.")
]
SeedOption = Annotated[
    SeedName, typer.Option("--mini-seed", help="public: same for all; secret: drawn here.")
]
TaskNames = Annotated[
    list[str] | None, typer.Argument(metavar="TASK...", help="Ids, or paths of task folders.")
]
SuiteOption = Annotated[
    str | None,
    typer.Option("--suite", help="All tasks of a suite: paper, v1, quick, demo, all, or a file."),
]
AllOption = Annotated[bool, typer.Option("--all", help="All tasks there are: --suite all.")]
OutOption = Annotated[Path, typer.Option("--out", help="Where runs, logs and snapshots go.")]
ToolOption = Annotated[
    list[str] | None, typer.Option("--role", help="tool=MODEL: for tasks whose programs use one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def _chosen(tasks: list[str] | None, suite: str | None, every: bool) -> list[str]:
    from mlagentbench.tasks.suites import chosen_tasks

    if every and suite is not None:
        raise UsageError(f"--all and --suite {suite} are both given; name one")
    return chosen_tasks(tasks or [], "all" if every else suite)


@tasks_app.command("list")
def tasks_list(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    json_output: JsonOption = False,
) -> None:
    """List the tasks: what they are, need and measured, and their Inspect names."""
    from mlagentbench.cli.tasks.show_printing import print_task_list

    print_task_list(_chosen(tasks, suite, not tasks and suite is None), as_json=json_output)


@tasks_app.command("show")
def tasks_show(task: str, json_output: JsonOption = False) -> None:
    """Show one task: problem, metric, limits, data sources, measured figures."""
    from mlagentbench.cli.tasks.show_printing import print_task

    print_task(task, as_json=json_output)


@app.command()
def agents(
    name: Annotated[str | None, typer.Argument(help="Only this one, with all settings.")] = None,
    json_output: JsonOption = False,
) -> None:
    """List the agents and their settings."""
    from mlagentbench.cli.agents.agents_printing import print_agents

    print_agents(name, as_json=json_output)


@app.command()
def prepare(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    every: AllOption = False,
    tier: TierOption = "mini",
    from_dir: Annotated[Path | None, typer.Option("--from", help="Files that you have.")] = None,
    mini_seed: SeedOption = "public",
    accept_unverified: Annotated[
        bool, typer.Option(help="Go on when a checksum differs; every result will say so.")
    ] = False,
) -> None:
    """Make a task's data and python environment ready."""
    from mlagentbench.cli.tasks.prepare_printing import prepare_from_command_line

    prepare_from_command_line(
        _chosen(tasks, suite, every), tier=tier, from_dir=from_dir, mini_seed=mini_seed,
        accept_unverified=accept_unverified,
    )  # fmt: skip


@app.command()
def run(
    agents: Annotated[str, typer.Option("--agents", help="E.g. baseline,oracle.")],
    tasks: Annotated[str, typer.Option("--tasks", help="Ids or folders, comma separated.")] = "",
    suite: SuiteOption = None,
    variant: Annotated[
        VariantName, typer.Option(help="renamed: other names for columns, labels, ids; or both.")
    ] = "original",
    models: Annotated[str, typer.Option("--models", help="Inspect model names.")] = "none",
    runs: Annotated[int | None, typer.Option("--runs", min=1, help="Runs per cell.")] = None,
    tier: TierOption = "mini",
    out: OutOption = Path("results"),
    max_steps: MaxSteps = None,
    max_time: MaxTime = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    prices: Prices = None,
    max_retries: Annotated[
        int | None, typer.Option(min=0, help="Ask a failing provider again; 11: for 81 minutes.")
    ] = None,
    jobs: Jobs = 1,
    sandbox: Annotated[
        str, typer.Option(help="bubblewrap, or local: no isolation.")
    ] = "bubblewrap",
    feedback: Annotated[str, typer.Option(help="none or validation:N.")] = "none",
    protocol: Annotated[
        Literal["ours", "paper"], typer.Option(help="paper: its 8 runs, 50 actions or 5 h, rule.")
    ] = "ours",
    role: Annotated[list[str] | None, typer.Option(help="ROLE=MODEL, repeatable.")] = None,
    model_argument: ModelArguments = None,
    record: Annotated[
        Path | None, typer.Option(help="Write the models' replies here, to be replayed.")
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Agents may ask you for help.")
    ] = False,
    mini_seed: SeedOption = "public",
    json_output: JsonOption = False,
) -> None:
    """Run agents on tasks, grade what they submit, print the table."""
    from rich.console import Console

    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.suite import SuiteRequest, run_suite
    from mlagentbench.models.record_replies import record_outcome, require_recordable

    require_recordable(record)
    request = SuiteRequest.read(
        tasks=tasks, suite=suite, variant=variant, agents=agents, models=models, runs=runs,
        tier=tier, out=out,
        max_steps=max_steps, max_time=max_time, max_tokens=max_tokens, max_cost=max_cost,
        prices=prices, max_retries=max_retries, jobs=jobs, sandbox=sandbox, feedback=feedback,
        protocol=protocol, roles=role or [], model_arguments=model_argument or [],
        mini_seed=mini_seed, interactive=interactive,
    )  # fmt: skip
    outcome = run_suite(request, Console(file=sys.stderr if json_output else sys.stdout))
    record_outcome(outcome, record, lambda text: typer.echo(text, err=True))
    raise typer.Exit(print_suite(outcome, as_json=json_output))


@app.command()
def record(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write.")],
    answered_by: Annotated[
        str | None, typer.Option(help="Who answered, where the runs do not say.")
    ] = None,
) -> None:
    """Write the models' replies of runs into a file that mlagentbench/recorded replays."""
    from mlagentbench.models.record_replies import record_directories

    typer.echo(record_directories(runs, to, answered_by))


@app.command()
def relay(
    mailbox: Annotated[Path, typer.Option("--mailbox", help="The mailbox's directory.")],
    model: Annotated[str, typer.Option("--model", help="An Inspect model name.")],
    model_argument: ModelArguments = None,
    role: Annotated[list[str] | None, typer.Option(help="ROLE=MODEL, repeatable.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Requests side by side.")] = 4,
    once: Annotated[bool, typer.Option("--once", help="End when nothing is left.")] = False,
) -> None:
    """Answer the requests of a mailbox with a model, from where it can be reached."""
    from mlagentbench.models.model_choice import parse_arguments, parse_role
    from mlagentbench.models.relay import relay as answer_mailbox

    answered = answer_mailbox(
        mailbox, model, parse_arguments(model_argument or []),
        roles=dict(map(parse_role, role or [])), workers=workers, once=once, say=typer.echo,
    )  # fmt: skip
    typer.echo(f"{answered} requests answered")


@app.command()
def score(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    steps: Annotated[
        str,
        typer.Option(
            "--steps",
            help="last, all, every:N, 1,5,9, or changed: those that changed the submission.",
        ),
    ] = "last",
    json_output: JsonOption = False,
) -> None:
    """Grade runs again, also as they were after earlier steps."""
    from mlagentbench.cli.runs.regrade_printing import print_grades
    from mlagentbench.grading.regrade import score_runs

    regraded = score_runs(runs, steps, lambda text: typer.echo(text, err=True))
    print_grades([(item.run, item.grades) for item in regraded], as_json=json_output)
    raise typer.Exit(any(item.failure is not None for item in regraded))


@app.command("import-legacy")
def import_legacy(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="One run, or many below it.")],
    out: OutOption = Path("results"),
    task: Annotated[str | None, typer.Option(help="Where logs and paths do not name it.")] = None,
    agent: Annotated[str | None, typer.Option(help="Over what the logs say.")] = None,
    model: Annotated[str | None, typer.Option(help="Over what the logs say.")] = None,
) -> None:
    """Import runs of the original MLAgentBench from its logs."""
    from mlagentbench.launch.legacy.import_runs import ImportChoices, import_logs

    choices = ImportChoices(task=task, agent=agent, model=model)
    results = []
    for result in import_logs(directory, out, choices):
        typer.echo(result.text, err=result.run is None)
        results.append(result)
    raise typer.Exit(int(any(result.run is None for result in results)))


@app.command()
def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="--out directories, or parts of them.")
    ],
    to: Annotated[Path | None, typer.Option(help="Where it goes; else DIR/report.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Tables with all digits.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="The same, as Parquet.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Tables for a paper.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables for a read-me.")] = False,
    plots: Annotated[bool, typer.Option("--plots", help="Plots as SVG and PDF.")] = False,
    bundle: Annotated[bool, typer.Option("--bundle", help="Add Inspect's log viewer.")] = False,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="MODEL", help="A second opinion on each run.")
    ] = None,
    model_argument: ModelArguments = None,
    json_output: JsonOption = False,
) -> None:
    """Write a site about runs: tables, comparisons, process, a page for each run."""
    from mlagentbench.cli.report_printing import print_report, reading_progress
    from mlagentbench.report.report import ReportRequest, write_report

    wanted = {
        "csv": csv,
        "parquet": parquet,
        "latex": latex,
        "markdown": markdown,
        "plots": plots,
    }
    request = ReportRequest(
        directories=tuple(directories),
        to=to,
        formats=frozenset(name for name, is_wanted in wanted.items() if is_wanted),
        bundle=bundle,
    )
    if judge is not None:
        _judge_runs(directories, judge, model_argument or [])
    with reading_progress() as progress:
        written = write_report(request, progress)
    print_report(written, as_json=json_output)


def _judge_runs(directories: list[Path], model: str, arguments: list[str]) -> None:
    from mlagentbench.analysis.judge.judge_runs import judge_runs
    from mlagentbench.models.model_choice import ModelChoice, parse_arguments
    from mlagentbench.report.find_runs import find_places

    def say(text: str) -> None:
        typer.echo(text, err=True)

    runs = [run for place in find_places(directories) for run in place.runs]
    say(judge_runs(runs, ModelChoice(name=model, arguments=parse_arguments(arguments)), say).text)


for command in (resume, branch, show, diff, replay, gc):
    app.command()(command)


@app.command()
def view(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The --out directory.")] = Path(
        "results"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7575,
) -> None:
    """Start Inspect's viewer on the logs: raw transcripts, on this machine only."""
    from mlagentbench.report.inspect_logs import view_logs

    raise typer.Exit(view_logs(directory, port))


@app.command()
def baseline(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    every: AllOption = False,
    tier: TierOption = "mini",
    runs: Annotated[int | None, typer.Option("--runs", min=2, help="Starter runs.")] = None,
    reference_runs: Annotated[int, typer.Option(min=1, help="Runs of the solution.")] = 8,
    write: Annotated[bool, typer.Option("--write", help="Into task.toml, not the home.")] = False,
    mini_seed: SeedOption = "public",
    role: ToolOption = None,
) -> None:
    """Measure trivial predictors, starter, reference and bar by running them."""
    from mlagentbench.cli.tasks.measure_printing import print_measured
    from mlagentbench.task_checks.measure import measure_tasks

    for measured in measure_tasks(
        _chosen(tasks, suite, every), tier=tier, runs=runs, reference_runs=reference_runs,
        write=write, mini_seed=mini_seed, roles=role or [],
    ):  # fmt: skip
        print_measured(measured)


@app.command()
def check(
    tasks: TaskNames = None,
    suite: SuiteOption = None,
    every: AllOption = False,
    tier: TierOption = "mini",
    mini_seed: SeedOption = "public",
    role: ToolOption = None,
    json_output: JsonOption = False,
) -> None:
    """Check that tasks are sound: figures, fairness, leaks."""
    from mlagentbench.cli.tasks.check_printing import print_checked
    from mlagentbench.task_checks.check import check_tasks

    checked = check_tasks(
        _chosen(tasks, suite, every), tier=tier, mini_seed=mini_seed, roles=role or []
    )
    raise typer.Exit(print_checked(checked, as_json=json_output))


@app.command("check-sandbox")
def check_sandbox(
    provider: Annotated[
        str, typer.Argument(help="bubblewrap, or any of Inspect's.")
    ] = "bubblewrap",
) -> None:
    """Check that a sandbox on this machine keeps what runs rely on."""
    from mlagentbench.cli.doctor_printing import print_conformance
    from mlagentbench.launch.sandbox_check import check_provider

    raise typer.Exit(print_conformance(provider, check_provider(provider)))


@app.command()
def demo(
    every: Annotated[bool, typer.Option("--all", help="Also the tasks that need torch.")] = False,
    out: OutOption = Path("demo-results"),
) -> None:
    """Run baseline, nop, oracle and a recorded agent on mini tasks: no key, no network, no GPU."""
    from rich.console import Console

    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.demo import run_demo
    from mlagentbench.report.report import report_suite

    outcome = run_demo(every=every, out=out, console=Console(file=sys.stdout))
    code = print_suite(outcome)
    if (page := report_suite(outcome)) is not None:
        typer.echo(f"report: {page}")
    raise typer.Exit(code)


@app.command()
def version() -> None:
    """Print the version."""
    from mlagentbench import __version__

    typer.echo(__version__)


def main() -> None:
    """Run the command line; a person's mistake is one line, not a traceback."""
    set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        app()
    except UsageError as error:
        _complain(str(error))
        sys.exit(2)
    except RunFailed as error:
        _complain(f"failed ({error.cause}): {error.detail}")
        sys.exit(1)
    except OSError as error:
        if error.errno not in PERSONS_DISK:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{disk_trouble(error)}")
        sys.exit(1)


def _complain(text: str) -> None:
    """Say what went wrong; names of files may be the agent's, with signs that nobody sees."""
    from mlagentbench.report.text import visible

    typer.echo(visible(f"mlagentbench: {text}"), err=True)
