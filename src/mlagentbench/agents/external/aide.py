"""The `aide` agent: AIDE (aideml) in the sandbox, in a virtual environment of its own.

It gets the task's problem, metric and files. `aide_driver.py` replaces AIDE's terminal display and
keeps the best node's submission in the workspace.
"""

import re

from inspect_ai.solver import Solver, solver

from mlagentbench.agents.external.bridge import FOLDER, MODEL, run_in_sandbox
from mlagentbench.agents.runner import as_solver
from mlagentbench.agents.status_text import problem_with_history
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.guest import GUEST
from mlagentbench.prompts import prompt
from mlagentbench.sandbox.base import WORKSPACE
from mlagentbench.sandbox.executor.places import HOME
from mlagentbench.tasks.spec import REPRODUCE

DRIVER = GUEST / "aide_driver.py"
TASK = "TASK.md"
CALLS_PER_NODE = 2
"""One for the script, one for the review of what it printed."""
NODES_WITHOUT_LIMIT = 20


@solver
def aide(
    steps: int | None = None,
    num_drafts: int = 5,
    max_debug_depth: int = 3,
    k_fold_validation: int = 5,
    data_preview: bool = True,
) -> Solver:
    """AIDE's tree search over whole scripts, as its authors publish it.

    Args:
        steps: The number of nodes; by default half of the run's steps, since each node takes at
            least two model calls, and 20 if steps are not limited.
        num_drafts: The number of drafts before the best one is improved.
        max_debug_depth: How often in a row it tries to fix a failing script.
        k_fold_validation: The number of folds for validation; 1 for a hold-out set.
        data_preview: Whether prompts show an overview of all files, which is long for JSON files.
    """
    if min(num_drafts, k_fold_validation, 1 if steps is None else steps) < 1:
        raise UsageError("agent aide: steps, num_drafts and k_fold_validation should be at least 1")

    async def loop(environment: Environment) -> None:
        if environment.task.spec.needs_model:
            raise RunFailed("task", "AIDE does not support tasks whose programs call a model")
        settings = {
            "agent.steps": steps or _nodes(environment),
            "agent.k_fold_validation": k_fold_validation,
            "agent.data_preview": data_preview,
            "agent.search.num_drafts": num_drafts,
            "agent.search.max_debug_depth": max_debug_depth,
            **_common(environment),
        }
        arguments = [f"{key}={value}" for key, value in settings.items()]
        await run_in_sandbox(
            environment,
            ["python", f"{FOLDER}/{DRIVER.name}", *arguments],
            files={
                DRIVER.name: DRIVER.read_bytes(),
                TASK: _description(environment).encode(),
            },
        )

    return as_solver(loop)


def _nodes(environment: Environment) -> int:
    steps = environment.budget.limits.get("steps")
    return NODES_WITHOUT_LIMIT if steps is None else max(1, int(steps) // CALLS_PER_NODE)


def _common(environment: Environment) -> dict[str, object]:
    """AIDE's settings that are the same in every run."""
    seconds = environment.budget.command_time(environment.task.spec.limits.command_time)
    return {
        "data_dir": f"{HOME}/data",
        "desc_file": f"{FOLDER}/{TASK}",
        "copy_data": False,
        "workspace_dir": f"{WORKSPACE}/aide",
        "log_dir": f"{HOME}/logs",
        "exp_name": "run",
        "exec.timeout": max(1, int(seconds)),
        "agent.code.model": MODEL,
        "agent.feedback.model": MODEL,
    }


def _description(environment: Environment) -> str:
    spec = environment.task.spec
    names = (re.split(r"[^\w.-]", requirement)[0] for requirement in spec.python.requirements)
    described = prompt(
        "agents/aide",
        problem=problem_with_history(environment, len(environment.steps)),
        submission=spec.submission.path,
        metric=spec.metric.name,
        better=spec.metric.better,
        packages=", ".join(names),
    )
    if environment.rebuilt_by is None:
        return described
    return f"{described}\n\n{prompt('agents/aide_rebuild', script=REPRODUCE)}"
