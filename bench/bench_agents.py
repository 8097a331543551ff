"""Agents without a model of their own, whose runs `make bench` measures."""

import json
import subprocess
import time
from itertools import pairwise
from pathlib import Path

from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, execute_tools
from inspect_ai.solver import Solver, solver
from inspect_ai.tool import ToolCall

from mlagentbench import Action, Environment, action_tools, as_solver
from mlagentbench.agents.scripted import FINAL_ANSWER, execute_command

HI = Action(name="Write File", arguments={"file_name": "hi.py", "content": "print('hi')\n"})
RUN_HI = Action(name="Execute Script", arguments={"script_name": "hi.py"})


@solver
def tool_calls(times: str, rounds: int) -> Solver:
    """Run a script by Inspect's tool call, by the Environment alone, and bare, again and again.

    Args:
        times: The file for the seconds that the three took in each round.
        rounds: How often; each is two steps.
    """

    async def loop(environment: Environment) -> None:
        await environment.execute(HI)
        tools = action_tools(environment)
        bare: list[str | Path] = [
            environment.python_env.python,
            "-u",
            environment.run.work / "hi.py",
        ]
        taken = []
        for number in range(rounds):
            call = ToolCall(id=str(number), function="execute_script", arguments=RUN_HI.arguments)
            message = ChatMessageAssistant(content="", tool_calls=[call])
            clocks = [time.perf_counter()]
            await execute_tools([message], tools)
            clocks.append(time.perf_counter())
            await environment.execute(RUN_HI)
            clocks.append(time.perf_counter())
            subprocess.run(bare, check=True, capture_output=True)
            clocks.append(time.perf_counter())
            taken.append([end - start for start, end in pairwise(clocks)])
        Path(times).write_text(json.dumps(taken))
        await environment.execute(FINAL_ANSWER)

    return as_solver(loop)


@solver
def notes_the_first_step(clock: str) -> Solver:
    """Note when the first step is over, and submit.

    Args:
        clock: The file for the time, in seconds since the epoch.
    """

    async def loop(environment: Environment) -> None:
        await environment.execute(HI)
        Path(clock).write_text(str(time.time()))
        await environment.execute(FINAL_ANSWER)

    return as_solver(loop)


@solver
def asks_and_says_hi(steps: int) -> Solver:
    """Run the starter, then ask the model and run a script in every step, then submit.

    Args:
        steps: All steps but the submission.
    """

    async def loop(environment: Environment) -> None:
        await environment.execute(execute_command(environment.task.spec.commands.starter))
        await environment.execute(HI)
        for _ in range(steps - 2):
            await environment.models.ask([ChatMessageUser(content="What next?")])
            await environment.execute(RUN_HI)
        await environment.execute(FINAL_ANSWER)

    return as_solver(loop)


@solver
def sleeps(steps: int, seconds: float) -> Solver:
    """Run a script that sleeps.

    Args:
        steps: All steps but the submission.
        seconds: How long each run of the script takes.
    """

    async def loop(environment: Environment) -> None:
        script = f"import time\ntime.sleep({seconds})\n"
        nap = {"file_name": "nap.py", "content": script}
        await environment.execute(Action(name="Write File", arguments=nap))
        run_it = Action(name="Execute Script", arguments={"script_name": "nap.py"})
        for _ in range(steps - 1):
            await environment.execute(run_it)
        await environment.execute(FINAL_ANSWER)

    return as_solver(loop)
