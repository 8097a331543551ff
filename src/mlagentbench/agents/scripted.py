"""The reference agents without a model: baseline, nop and oracle."""

import shlex
from pathlib import Path

from inspect_ai.solver import Solver, solver

from mlagentbench.agents.runner import as_solver
from mlagentbench.environment.environment import Environment
from mlagentbench.records import Action

FINAL_ANSWER = Action(name="Final Answer", arguments={"final_answer": "done"})


@solver
def baseline() -> Solver:
    """Run the unchanged starter and submit."""

    async def loop(environment: Environment) -> None:
        await _follow(environment, [execute_command(environment.task.spec.commands.starter)])

    return as_solver(loop)


@solver
def nop() -> Solver:
    """Submit immediately."""

    async def loop(environment: Environment) -> None:
        await _follow(environment, [])

    return as_solver(loop)


@solver
def oracle() -> Solver:
    """Copy the task's solution into the workspace, run it and submit."""

    async def loop(environment: Environment) -> None:
        task = environment.task
        files = sorted(path for path in task.solution.rglob("*") if path.is_file())
        writes = [_write(task.solution, file) for file in files if "__pycache__" not in file.parts]
        await _follow(environment, [*writes, execute_command(task.spec.commands.solution)])

    return as_solver(loop)


async def _follow(environment: Environment, script: list[Action]) -> None:
    """Execute the rest of a script, then submit; an interrupted step is repeated."""
    own = environment.steps[environment.taken_over :]
    done = sum(step.observation.status != "interrupted" for step in own)
    for action in [*script, FINAL_ANSWER][done:]:
        await environment.execute(action)


def _write(folder: Path, file: Path) -> Action:
    name, content = file.relative_to(folder).as_posix(), file.read_text(encoding="utf-8")
    return Action(name="Write File", arguments={"file_name": name, "content": content})


def execute_command(command: str) -> Action:
    """The action that runs a command of task.toml, `python SCRIPT [ARGUMENT...]`."""
    _, script, *arguments = shlex.split(command)
    return Action(
        name="Execute Script",
        arguments={"script_name": script, "arguments": shlex.join(arguments)},
    )
