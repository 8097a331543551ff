"""`mlagentbench demo`: agents without a model, and a recorded one whose every change is graded."""

import os
from pathlib import Path
from typing import Any

from mlagentbench.grading.regrade import grade_changes
from mlagentbench.grading.timed_grading import TIME_ANYWAY
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import run_suite
from mlagentbench.models.model_choice import RECORDED, shipped_tasks
from mlagentbench.rebuild.rebuild_run import grade_step
from mlagentbench.runs.results import SuiteOutcome, find_run
from mlagentbench.tasks.suites import chosen_tasks
from mlagentbench.terminal import Terminal

DEMO_AGENT = "research"


def run_demo(
    *,
    every: bool,
    out: Path,
    console: Terminal,
    sandbox: str | None = None,
    image: str | None = None,
) -> SuiteOutcome:
    """Run the demo; the recorded runs are also graded as they were before their end.

    A demo is no measurement, so it does not wait for a calm machine to time programs.
    """
    os.environ.setdefault(TIME_ANYWAY, "1")
    request = demo_request(every=every, out=out, sandbox=sandbox, image=image)
    outcome = run_suite(request, console)
    for result in outcome.results:
        if result.record.disclosure.agent == DEMO_AGENT and result.grade is not None:
            run = find_run(outcome.out / result.path)
            grade_changes(run, lambda text: console.print(text, soft_wrap=True), grade_step)
    return outcome


def demo_request(
    *, every: bool, out: Path, sandbox: str | None = None, image: str | None = None
) -> SuiteRequest:
    """On the mini tier the agents without a model, and recorded runs; torch only with `every`."""
    suite = "paper" if every else "demo"
    where: dict[str, Any] = {"out": out, "sandbox": sandbox, "image": image}
    reference_agents = SuiteRequest.read(suite=suite, agents="nop,baseline,oracle", **where)
    tasks = [name for name in shipped_tasks(DEMO_AGENT) if name in chosen_tasks([], suite)]
    replayed = SuiteRequest.read(
        tasks=",".join(tasks),
        agents=DEMO_AGENT,
        models=RECORDED,
        model_arguments=["on_mismatch=continue"],
        **where,
    )
    return replayed.model_copy(update={"cells": (*reference_agents.cells, *replayed.cells)})
