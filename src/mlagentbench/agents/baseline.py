"""Agents without a model: what the starter gives, what nothing gives, what is possible."""

import shlex

from inspect_ai.solver import Solver, solver

from mlagentbench.agents.agent import as_solver
from mlagentbench.environment.environment import Environment
from mlagentbench.records import Action

FINAL_ANSWER = Action(name="Final Answer", arguments={"final_answer": "done"})


@solver
def baseline() -> Solver:
    """Run the starter as it is, and submit."""

    async def loop(environment: Environment) -> None:
        await environment.execute(_execute(environment.task.spec.commands.starter))
        await environment.execute(FINAL_ANSWER)

    return as_solver(loop)


@solver
def nop() -> Solver:
    """Submit at once."""

    async def loop(environment: Environment) -> None:
        await environment.execute(FINAL_ANSWER)

    return as_solver(loop)


@solver
def oracle() -> Solver:
    """Lay the task's solution over the workspace, run it, and submit."""

    async def loop(environment: Environment) -> None:
        solution = environment.task.solution
        for file in sorted(path for path in solution.rglob("*") if path.is_file()):
            arguments = {
                "file_name": file.relative_to(solution).as_posix(),
                "content": file.read_text(encoding="utf-8"),
            }
            await environment.execute(Action(name="Write File", arguments=arguments))
        await environment.execute(_execute(environment.task.spec.commands.solution))
        await environment.execute(FINAL_ANSWER)

    return as_solver(loop)


def _execute(command: str) -> Action:
    """The action that runs a command of task.toml, `python SCRIPT [ARGUMENT...]`."""
    _, script, *arguments = shlex.split(command)
    return Action(
        name="Execute Script",
        arguments={"script_name": script, "arguments": shlex.join(arguments)},
    )
