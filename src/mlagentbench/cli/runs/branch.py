"""`mlagentbench runs branch`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.completion import complete_agent
from mlagentbench.cli.generated_options import generated_values, with_options
from mlagentbench.cli.options import (
    MODELS_PANEL,
    Jobs,
    JsonOption,
    ModelArguments,
    Prices,
    RoleOption,
    RunArgument,
    read_jobs,
    resume_options,
)

CHANGES_PANEL = "What the branches change"

StepOption = Annotated[
    int, typer.Option("--step", metavar="N", min=0, help="Last step that the branches share.")
]
RunsOption = Annotated[int, typer.Option("--runs", metavar="N", min=1, help="Number of branches.")]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        rich_help_panel=CHANGES_PANEL,
        help="Another agent, e.g. act.",
        autocompletion=complete_agent,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        rich_help_panel=CHANGES_PANEL,
        help="A setting of the agent; repeatable.",
    ),
]
EditObservation = Annotated[
    Path | None,
    typer.Option(
        "--edit-observation",
        metavar="FILE",
        rich_help_panel=CHANGES_PANEL,
        help="File with the observation to show after the step instead.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="MODEL", rich_help_panel=MODELS_PANEL, help="Another Inspect model."
    ),
]


@with_options(resume_options)
def branch(
    context: typer.Context,
    run: RunArgument,
    step: StepOption,
    runs: RunsOption = 1,
    jobs: Jobs = "1",
    json_output: JsonOption = False,
    agent: AgentOption = None,
    setting: SetOption = None,
    edit_observation: EditObservation = None,
    model: ModelOption = None,
    role: RoleOption = None,
    model_argument: ModelArguments = None,
    prices: Prices = None,
) -> None:
    """Start new runs from a step of another run, with or without changes.

    Examples:
      mlagentbench runs branch RUN --step 7 --runs 5
      mlagentbench runs branch RUN --step 7 --model openai/gpt-6-sol
    """
    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.branch import Changes, branch_run
    from mlagentbench.launch.resume import ResumeOptions
    from mlagentbench.terminal import Terminal, say

    changes = Changes.read(
        agent=agent,
        settings=setting or [],
        model=model,
        roles=role or [],
        observation=edit_observation,
    )
    how = ResumeOptions.read(
        model_arguments=model_argument or [],
        prices=prices,
        jobs=read_jobs(jobs),
        **generated_values(context),
    )
    outcome = branch_run(run, step, runs, changes, how, say, Terminal(stderr=json_output))
    raise typer.Exit(print_suite(outcome, as_json=json_output))
