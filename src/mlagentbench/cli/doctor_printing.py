"""What `mlagentbench check-sandbox` prints."""

from collections.abc import Sequence

from rich.console import Console

from mlagentbench.sandbox.conformance import ConformanceResult


def print_conformance(provider: str, results: Sequence[ConformanceResult]) -> int:
    """One line for each promise; returns the exit code, 0 when all are kept."""
    console = Console()
    for result in results:
        mark = "[green]kept[/green]  " if result.ok else "[red]broken[/red]"
        console.print(f"{mark} {result.name}", highlight=False)
        if not result.ok:
            console.print(f"       {result.problem}", style="dim", highlight=False, markup=False)
    broken = sum(not result.ok for result in results)
    console.print(f"\n{provider}: {len(results) - broken} kept, {broken} broken", highlight=False)
    return 1 if broken else 0
