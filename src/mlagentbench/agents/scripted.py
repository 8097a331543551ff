"""The reference agents without a model: baseline, nop and oracle."""

import shlex

from inspect_ai.solver import Solver, solver

from mlagentbench.agents.runner import as_solver
from mlagentbench.environment.environment import Environment
from mlagentbench.records import REBUILD, Action
from mlagentbench.runs.results import read_record
from mlagentbench.tasks.spec import REPRODUCE

FINAL_ANSWER = Action(name="Final Answer", arguments={"final_answer": "done"})


@solver
def baseline() -> Solver:
    """Run the unchanged starter and submit."""

    async def loop(environment: Environment) -> None:
        command = environment.task.spec.commands.starter
        await _follow(environment, _made_by(environment, command))

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
        command = task.spec.commands.solution
        await _follow(environment, [*writes, *_made_by(environment, command)])

    return as_solver(loop)


async def _follow(environment: Environment, script: list[Action]) -> None:
    """Execute the rest of a script, then submit; an interrupted step is repeated."""
    own = environment.steps[environment.taken_over :]
    done = sum(step.observation.status != "interrupted" for step in own)
    for action in [*script, FINAL_ANSWER][done:]:
        await environment.execute(action)


def _made_by(environment: Environment, command: str) -> list[Action]:
    """Makes the submission by a command, if it can be executed, and leaves its program."""
    left = _reproduce(environment, command)
    return [*left, execute_command(command)] if environment.can_execute else left


def _reproduce(environment: Environment, command: str) -> list[Action]:
    """Leaves the program that makes the submission again, in runs that are rebuilt."""
    task, run = environment.task, environment.run
    if task.spec.rebuild.command is None or read_record(run).disclosure.protocol != REBUILD:
        return []
    return [_write(REPRODUCE, f"set -e\n{command}\n".encode())]


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
