"""`mlagentbench runs import`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.completion import complete_task
from mlagentbench.cli.options import OutOption

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="Log directory of one run, or of many below it.")
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="The task, if neither logs nor paths name it.",
        autocompletion=complete_task,
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="NAME", help="The agent, in place of what the logs say."),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model, in place of what the logs say."),
]


def import_runs(
    directory: Directory,
    out: OutOption = Path("results"),
    task: TaskOption = None,
    agent: AgentOption = None,
    model: ModelOption = None,
) -> None:
    """Import runs of the original MLAgentBench from its logs.

    Examples:
      mlagentbench runs import logs --out results
      mlagentbench runs import logs/run1 --task house-price --model gpt-4
    """
    from mlagentbench.legacy.import_runs import ImportChoices, import_logs
    from mlagentbench.terminal import say, tell

    choices = ImportChoices(task=task, agent=agent, model=model)
    results = []
    for result in import_logs(directory, out, choices):
        (say if result.run is None else tell)(result.text)
        results.append(result)
    raise typer.Exit(int(any(result.run is None for result in results)))
