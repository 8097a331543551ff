"""What agents leave under --protocol rebuild."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from small_task import OpenRun

from mlagentbench.agents.best_submission import BestSubmission
from mlagentbench.agents.external.bridge import agent_variables
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.rehearsal import Rehearsal
from mlagentbench.guest import GUEST
from mlagentbench.records import Action

SCRIPT = """
open("submission.csv", "w").write("id,y\\n5,{value}\\n6,1\\n")
print("validation MAE={score}")
"""


async def step(environment: Environment, best: BestSubmission, name: str, **values: str) -> None:
    await environment.execute(Action(name=name, arguments=dict(values)))
    await best.note(environment.steps[-1])


async def run(environment: Environment, best: BestSubmission, score: float) -> None:
    script = SCRIPT.format(value=score, score=score)
    await step(environment, best, "Write File", file_name="fit.py", content=script)
    await step(environment, best, "Execute Script", script_name="fit.py")


@pytest.mark.anyio
async def test_what_can_be_made_again_is_the_best_submission(open_environment: OpenRun) -> None:
    rehearsal = Rehearsal(command="bash reproduce.sh")
    async with open_environment(rehearsal=rehearsal) as environment:
        best = BestSubmission(environment)
        await run(environment, best, 3.0)
        assert "without reproduce.sh, so it counts for nothing" in best.status()
        program = {"file_name": "reproduce.sh", "content": "python fit.py\n"}
        await step(environment, best, "Write File", **program)
        assert (
            best.status()
            == "Best submission so far: after step 3 (not validated), validation MAE=3."
        )
        await run(environment, best, 5.0)
        assert best.best is not None and best.best.step.n == 3, "the program makes a worse one"
        await run(environment, best, 2.0)
        assert best.best.step.n == 7
        assert agent_variables(environment)["MLAGENTBENCH_PROGRAM"] == "reproduce.sh"


def fit(score: float, note: str = "") -> str:
    return SCRIPT.format(value=score, score=score) + f"# {note}\n"


@pytest.mark.anyio
async def test_the_program_that_was_fixed_last_is_submitted(open_environment: OpenRun) -> None:
    async with open_environment(rehearsal=Rehearsal(command="bash reproduce.sh")) as environment:
        best = BestSubmission(environment)

        async def best_after(name: str, **values: str) -> int:
            await step(environment, best, name, **values)
            return 0 if best.best is None else best.best.step.n

        old = "test -f train.py && python train.py\n"
        await best_after("Write File", file_name="reproduce.sh", content=old)
        await best_after("Write File", file_name="exp.py", content=fit(2.0))
        assert await best_after("Execute Script", script_name="exp.py") == 3, "the best score"
        new = "python exp.py\n"
        assert await best_after("Write File", file_name="reproduce.sh", content=new) == 4
        assert await best_after("Write File", file_name="exp.py", content=fit(2.0, "fixed")) == 5
        assert await best_after("Execute Script", script_name="exp.py") == 6, "equal bytes"
        assert await best_after("Validate Submission") == 7
        await best_after("Write File", file_name="exp.py", content=fit(1.0))
        assert await best_after("Execute Script", script_name="exp.py") == 9, "a better score"
        assert await best_after("Validate Submission") == 10
        await best_after("Write File", file_name="exp.py", content=fit(0.5))
        await best_after("Execute Script", script_name="exp.py")
        await best_after("Write File", file_name="reproduce.sh", content="exit 3\n")
        assert await best_after("Execute Script", script_name="exp.py") == 14
        assert await best_after("Validate Submission") == 10, "it cannot be made again"


@pytest.mark.anyio
async def test_other_runs_need_no_program(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        best = BestSubmission(environment)
        await run(environment, best, 3.0)
        assert best.status() == "Best submission so far: after step 2, validation MAE=3."
        assert "MLAGENTBENCH_PROGRAM" not in agent_variables(environment)


def test_the_program_of_aide_runs_its_best_script_where_it_expects_to_be(tmp_path: Path) -> None:
    tree = ast.parse((GUEST / "aide_driver.py").read_text())
    [program] = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PROGRAM_TEXT"
    )
    (tmp_path / "reproduce.sh").write_text(program.format(submission="out/submission.csv"))
    (tmp_path / "train.csv").write_text("1\n2\n")
    (tmp_path / "helper.py").write_text("RIGHT = 1\n")
    (tmp_path / "aide").mkdir()
    (tmp_path / "aide" / "best_solution.py").write_text(
        "rows = open('./input/train.csv').read()\n"
        "open('./working/out/submission.csv', 'w').write(rows)\n"
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    for _ in range(2):
        subprocess.run(
            ["bash", "reproduce.sh"], cwd=tmp_path, check=True,
            env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"},
        )  # fmt: skip
        assert (tmp_path / "out" / "submission.csv").read_text() == "1\n2\n"
