"""`mlagentbench agents relay`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.options import ModelArguments, RoleOption
from mlagentbench.numeric.number_format import counted

MailboxOption = Annotated[
    Path, typer.Option("--mailbox", metavar="DIR", help="Directory of the mailbox.")
]
ModelOption = Annotated[
    str, typer.Option("--model", metavar="MODEL", help="Inspect model that answers.")
]
WorkersOption = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, help="Requests answered in parallel.")
]
OnceOption = Annotated[
    bool, typer.Option("--once", help="Stop when no request is left, instead of waiting.")
]


def relay(
    mailbox: MailboxOption,
    model: ModelOption,
    workers: WorkersOption = 4,
    once: OnceOption = False,
    role: RoleOption = None,
    model_argument: ModelArguments = None,
) -> None:
    """Answer the requests of a mailbox with a model, from a machine that can reach it.

    Examples:
      mlagentbench agents relay --mailbox box --model openai/gpt-6-sol
      mlagentbench agents relay --mailbox box --model ollama/llama3 --once
    """
    from mlagentbench.models.model_choice import parse_arguments, parse_role
    from mlagentbench.models.relay import relay as answer_mailbox
    from mlagentbench.terminal import tell

    answered = answer_mailbox(
        mailbox,
        model,
        parse_arguments(model_argument or []),
        roles=dict(map(parse_role, role or [])),
        workers=workers,
        once=once,
        say=tell,
    )
    tell(f"{counted(answered, 'request')} answered")
