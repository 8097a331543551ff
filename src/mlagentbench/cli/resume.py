"""`mlagentbench resume`."""

from typing import Annotated

import typer

from mlagentbench.cli.generated_options import generated_values, with_options
from mlagentbench.cli.options import (
    Jobs,
    JsonOption,
    ModelArguments,
    Prices,
    RunArguments,
    read_jobs,
    resume_options,
)

AgentFile = Annotated[
    str | None,
    typer.Option("--agent", metavar="FILE.py", help="The agent's file, for a custom agent."),
]


@with_options(resume_options)
def resume(
    context: typer.Context,
    runs: RunArguments,
    agent: AgentFile = None,
    jobs: Jobs = "1",
    json_output: JsonOption = False,
    model_argument: ModelArguments = None,
    prices: Prices = None,
) -> None:
    """Resume runs that were interrupted, ran out of budget, or still need grading.

    Examples:
      mlagentbench resume results/runs/house-price/mini/*/*/*
      mlagentbench resume RUN --max-steps 80
    """
    from mlagentbench.terminal import Terminal, say

    say(f"reading {', '.join(map(str, runs))}")
    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.resume import ResumeOptions, resume_runs

    how = ResumeOptions.read(
        model_arguments=model_argument or [],
        agent=agent,
        prices=prices,
        jobs=read_jobs(jobs),
        **generated_values(context),
    )
    outcome = resume_runs(runs, how, say, Terminal(stderr=json_output))
    raise typer.Exit(print_suite(outcome, as_json=json_output))
