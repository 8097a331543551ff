"""The commands that let runs go on: resume, branch; with the options that `run` shares."""

import sys
from pathlib import Path
from typing import Annotated

import typer

ModelArguments = Annotated[
    list[str] | None,
    typer.Option("-M", metavar="KEY=VALUE", help="An argument of a model; repeatable."),
]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", min=1, help="Actions per run.")]
MaxTime = Annotated[str | None, typer.Option("--max-time", help="Per run, e.g. 30m or 5h.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Per run.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0.0, help="Dollars per run.")]
Prices = Annotated[Path | None, typer.Option("--prices", help="Model prices for --max-cost.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Runs side by side.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def resume(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    max_steps: MaxSteps = None,
    max_time: MaxTime = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    prices: Prices = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="FILE.py, where the agent is yours.")
    ] = None,
    model_argument: ModelArguments = None,
    jobs: Jobs = 1,
    json_output: JsonOption = False,
) -> None:
    """Let runs go on: broken off, out of budget that you now raise, or only not graded."""
    from rich.console import Console

    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.resume import ResumeOptions, resume_runs

    how = ResumeOptions.read(
        model_arguments=model_argument or [], agent=agent, prices=prices, jobs=jobs,
        max_steps=max_steps, max_time=max_time, max_tokens=max_tokens, max_cost=max_cost,
    )  # fmt: skip
    console = Console(file=sys.stderr if json_output else sys.stdout)
    outcome = resume_runs(runs, how, lambda text: typer.echo(text, err=True), console)
    raise typer.Exit(print_suite(outcome, as_json=json_output))


def branch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    step: Annotated[int, typer.Option(min=0, help="The last step that is shared.")],
    runs: Annotated[int, typer.Option("--runs", min=1, help="How many branches.")] = 1,
    agent: Annotated[str | None, typer.Option(help="Another one, e.g. act.")] = None,
    model: Annotated[str | None, typer.Option(help="Another Inspect model.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="ROLE=MODEL, repeatable.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE of the agent, repeatable.")
    ] = None,
    edit_observation: Annotated[
        Path | None, typer.Option(help="What the step shows instead, in a file.")
    ] = None,
    max_steps: MaxSteps = None,
    max_time: MaxTime = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    prices: Prices = None,
    model_argument: ModelArguments = None,
    jobs: Jobs = 1,
    json_output: JsonOption = False,
) -> None:
    """Start new runs from a step of another run, with or without changes."""
    from rich.console import Console

    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.branch import Changes, branch_run
    from mlagentbench.launch.resume import ResumeOptions

    changes = Changes.read(
        agent=agent, settings=setting or [], model=model, roles=role or [],
        observation=edit_observation,
    )  # fmt: skip
    how = ResumeOptions.read(
        model_arguments=model_argument or [], prices=prices, jobs=jobs,
        max_steps=max_steps, max_time=max_time, max_tokens=max_tokens, max_cost=max_cost,
    )  # fmt: skip
    console = Console(file=sys.stderr if json_output else sys.stdout)
    outcome = branch_run(
        run, step, runs, changes, how, lambda text: typer.echo(text, err=True), console
    )
    raise typer.Exit(print_suite(outcome, as_json=json_output))
