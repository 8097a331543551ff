"""The reference agents without a model: baseline, nop, default and oracle."""

import shlex

from inspect_ai.solver import Solver, solver

from mlagentbench.agents.runner import as_solver
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunFailed
from mlagentbench.records import REBUILD, Action
from mlagentbench.runs.results import read_record
from mlagentbench.tasks.spec import REPRODUCE
from mlagentbench.tasks.stored_measurements import how_to_measure, stored_measurements
from mlagentbench.tasks.task import DEFAULT, Files

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
        await _follow(environment, _as_solution(environment, environment.task.solution_files()))

    return as_solver(loop)


@solver
def default() -> Solver:
    """Run the program that is the best on the draw of all that people write first, and submit."""

    async def loop(environment: Environment) -> None:
        task, data = environment.task, environment.data
        measured = stored_measurements(task, data.tier, data.hash)
        if measured is None:
            raise RunFailed(
                "task",
                f"{task.id}: which program of default/ is the best is not known, since this draw "
                f"was not measured; run: {how_to_measure(task.address, data.tier, None)}",
            )
        scores = measured.default
        best = task.spec.metric.best(list(scores.values()))
        name = next(name for name, score in scores.items() if score == best)
        await _follow(environment, _as_solution(environment, task.panel(DEFAULT)[name]))

    return as_solver(loop)


def _as_solution(environment: Environment, files: Files) -> list[Action]:
    """Writes files and runs them by the solution's command."""
    writes = [_write(name, contents) for name, contents in files.items()]
    command = environment.task.spec.commands.solution
    return [*writes, *_made_by(environment, command)]


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
