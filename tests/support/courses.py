"""What is run to be killed: courses whose score tells when a step was done twice, or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path

from killing import Course, Reply
from number_task import write_number_task

from mlagentbench.models.mailbox_folder import MailCall, MailReply
from mlagentbench.models.recording import SHIPPED, RecordedReply, read_recording

LEDGER = """
import csv, os, random, time
def note(what):
    with open("ledger.txt", "a") as ledger:
        ledger.write(what + "\\n")
note("begun")
time.sleep(0.3)
note("ended")
slope = len(open("ledger.txt").readlines()) / 4
random.seed(int(os.environ["MLAGENTBENCH_SEED"]))
with open("submission.csv", "w") as out:
    out.write("id,y\\n")
    for row in csv.DictReader(open("test.csv")):
        out.write(f"{row['id']},{slope * float(row['x']) + random.gauss(0, 0.01)}\\n")
print("slope", slope)
"""
"""Each time it is run, its predictions are others; the sixth time they are right."""
TIMES = 6
STEADY = f"""
from inspect_ai.solver import Solver, solver
from mlagentbench import Action, Environment, as_solver


@solver
def steady() -> Solver:
    \"\"\"Run the script, and again what was interrupted.\"\"\"

    async def loop(environment: Environment) -> None:
        run_it = Action(name="Execute Script", arguments={{"script_name": "train.py"}})
        done = sum(step.observation.status == "ok" for step in environment.steps)
        for _ in range(done, {TIMES}):
            await environment.execute(run_it)
        await environment.execute(Action(name="Final Answer", arguments={{"final_answer": "6"}}))

    return as_solver(loop)
"""


def ledger_task(folder: Path) -> str:
    write_number_task(folder, "ledger", starter=LEDGER)
    return "./ledger"


def steady(folder: Path) -> Course:
    """An agent of one's own, which reads its past from the Environment."""
    (folder / "steady.py").write_text(STEADY)
    return Course("own agent", ledger_task(folder), "./steady.py")


def react(folder: Path) -> Course:
    """Tool calls."""
    run_it = MailCall(function="execute_script", arguments={"script_name": "train.py"})
    submit = MailCall(function="final_answer", arguments={"final_answer": "6"})

    def reply(step: int, _role: str, _number: int) -> MailReply:
        return MailReply(tool_calls=(run_it if step <= TIMES else submit,))

    return Course("react", ledger_task(folder), "react", reply)


def act(folder: Path) -> Course:
    """Replies as text."""

    def reply(step: int, _role: str, _number: int) -> MailReply:
        action, inputs = ("Execute Script", {"script_name": "train.py", "arguments": ""})
        if step > TIMES:
            action, inputs = ("Final Answer", {"final_answer": "6"})
        return MailReply(text=f"Action: {action}\nAction Input: {json.dumps(inputs)}\n")

    return Course("act", ledger_task(folder), "act", reply)


def oracle(_folder: Path) -> Course:
    """No model, and a real task."""
    return Course("oracle", "spaceship-titanic", "oracle")


def research(_folder: Path) -> Course:
    """The shipped recording's replies, each given again for a step that was interrupted."""
    [recorded] = read_recording(SHIPPED / "spaceship-titanic.research.jsonl").runs
    said = {(one.step, one.role, one.number): one for one in recorded.replies}
    return Course("research", "spaceship-titanic", "research", _recorded(said))


def _recorded(said: Mapping[tuple[int, str, int], RecordedReply]) -> Reply:
    def reply(step: int, role: str, number: int) -> MailReply:
        return MailReply(text=said[step, role, number].reply)

    return reply
