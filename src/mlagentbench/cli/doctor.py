"""`mlagentbench doctor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from mlagentbench.errors import UsageError

if TYPE_CHECKING:
    from mlagentbench.sandbox.conformance import ConformanceResult


def doctor(
    provider: Annotated[
        str | None,
        typer.Argument(
            metavar="PROVIDER",
            help="With --sandbox: a sandbox of `run --sandbox`, or a sandbox provider of Inspect.",
        ),
    ] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Check only the sandbox, or that of PROVIDER.")
    ] = False,
) -> None:
    """Check that the sandbox on this machine enforces the required isolation.

    Examples:
      mlagentbench doctor
      mlagentbench doctor --sandbox docker
    """
    from mlagentbench.sandbox.sandbox_registry import check_provider, default_sandbox

    if provider is not None and not sandbox:
        command = f"mlagentbench doctor --sandbox {provider}"
        raise UsageError(f"doctor {provider}: name a sandbox with --sandbox; run: {command}")
    name = provider or default_sandbox()
    raise typer.Exit(print_conformance(name, check_provider(name)))


def print_conformance(provider: str, results: Sequence["ConformanceResult"]) -> int:
    """One line for each check; returns the exit code, 0 when all pass."""
    from mlagentbench.terminal import Terminal

    console = Terminal()
    for result in results:
        mark, style = ("passed", "green") if result.ok else ("failed", "red")
        console.print(mark, style=style, end=" ")
        console.print(result.name)
        if not result.ok:
            console.print(f"       {result.problem}", style="dim")
    failed = sum(not result.ok for result in results)
    console.print()
    console.print(f"{provider}: {len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0
