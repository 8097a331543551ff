"""`mlagentbench tasks memorisation`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.completion import complete_tasks
from mlagentbench.cli.options import MODELS_PANEL, JsonOption, ModelArguments, SuiteOption

ModelName = Annotated[
    str, typer.Argument(metavar="MODEL", help="Inspect model name, as PROVIDER/NAME.")
]
ChosenTasks = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        metavar="TASKS",
        help="Task ids or folders, separated by commas (default: all prepared full tiers).",
        autocompletion=complete_tasks,
    ),
]
RowsOption = Annotated[
    int, typer.Option("--rows", metavar="N", min=10, help="Questions in each test of a task.")
]
RowSeed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Chooses the rows that are asked for.")
]
MaxTokens = Annotated[
    int,
    typer.Option(
        "--max-tokens",
        metavar="N",
        min=1,
        rich_help_panel=MODELS_PANEL,
        help="Tokens of each reply, reasoning included.",
    ),
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        rich_help_panel=MODELS_PANEL,
        help="Model prices, as JSON or YAML, to say what it cost.",
    ),
]
ResultFile = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="File for the result (default: in the user data directory)."
    ),
]


def memorisation(
    model: ModelName,
    tasks: ChosenTasks = None,
    suite: SuiteOption = None,
    rows: RowsOption = 50,
    seed: RowSeed = 0,
    max_tokens: MaxTokens = 4000,
    prices: PricesOption = None,
    out: ResultFile = None,
    model_argument: ModelArguments = None,
    json_output: JsonOption = False,
) -> None:
    """Test whether a model has memorised the full data sets.

    It is asked to complete held-out rows of the original files.

    Examples:
      mlagentbench tasks memorisation openai/gpt-6-sol
      mlagentbench tasks memorisation openai/gpt-6-sol --tasks house-price
    """
    from mlagentbench.cli.tasks.memorisation_printing import memorisation_from_command_line

    memorisation_from_command_line(
        model,
        model_argument or [],
        tasks=tasks,
        suite=suite,
        rows=rows,
        seed=seed,
        max_tokens=max_tokens,
        prices=prices,
        out=out,
        as_json=json_output,
    )
