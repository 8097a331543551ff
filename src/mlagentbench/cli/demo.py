"""`mlagentbench demo`."""

from pathlib import Path
from typing import Annotated

import typer

from mlagentbench.cli.options import OutOption


def demo(
    every: Annotated[
        bool, typer.Option("--all", help="Include the tasks that need PyTorch.")
    ] = False,
    out: OutOption = Path("demo-results"),
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", metavar="NAME", help="As of `run`.")
    ] = None,
    image: Annotated[
        str | None, typer.Option("--image", metavar="IMAGE", help="As of `run`.")
    ] = None,
) -> None:
    """Run reference agents and a recorded agent on mini tasks: no key, no network, no GPU.

    Examples:
      mlagentbench demo
      mlagentbench demo --all --out everything
      mlagentbench demo --sandbox docker
    """
    from mlagentbench.terminal import Terminal, say, tell

    say(f"running the demo; results go to {out}")
    from mlagentbench.cli.suite_printing import print_suite
    from mlagentbench.launch.demo import run_demo
    from mlagentbench.report.report import report_suite

    outcome = run_demo(every=every, out=out, console=Terminal(), sandbox=sandbox, image=image)
    code = print_suite(outcome)
    if (page := report_suite(outcome)) is not None:
        tell(f"report: {page}")
    raise typer.Exit(code)
