"""The reference agents without a model: baseline, nop and oracle."""

import shlex

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
        writes = [_write(name, contents) for name, contents in task.solution_files().items()]
        await _follow(environment, [*writes, execute_command(task.spec.commands.solution)])

    return as_solver(loop)


async def _follow(environment: Environment, script: list[Action]) -> None:
    """Execute the rest of a script, then submit; an interrupted step is repeated."""
    own = environment.steps[environment.taken_over :]
    done = sum(step.observation.status != "interrupted" for step in own)
    for action in [*script, FINAL_ANSWER][done:]:
        await environment.execute(action)


def _write(name: str, contents: bytes) -> Action:
    return Action(
        name="Write File", arguments={"file_name": name, "content": contents.decode("utf-8")}
    )


def execute_command(command: str) -> Action:
    """The action that runs a command of task.toml, `python SCRIPT [ARGUMENT...]`."""
    _, script, *arguments = shlex.split(command)
    return Action(
        name="Execute Script",
        arguments={"script_name": script, "arguments": shlex.join(arguments)},
    )
