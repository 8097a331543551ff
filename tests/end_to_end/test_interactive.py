"""Runs whose agent asks the person at the terminal, on a real terminal."""

import os
import pty
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND
from number_task import write_number_task

from mlagentbench.environment.actions.model_assisted import NO_ANSWER
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import collect

pytestmark = pytest.mark.slow

ASKING = """
from inspect_ai.solver import Solver, solver
from mlagentbench import Action, Environment, as_solver


@solver
def asking() -> Solver:
    async def loop(environment: Environment) -> None:
        for request in ("Which slope?", "Are you sure?")[len(environment.steps):]:
            await environment.execute(Action(name="Request Help", arguments={"request": request}))
        answer = {"final_answer": ", ".join(environment.actions.specs)}
        await environment.execute(Action(name="Final Answer", arguments=answer))

    return as_solver(loop)
"""
ARGUMENTS = ("--tasks", "./numbers", "--agents", "./asking.py", "--out", "out")


class Terminal:
    """A terminal with a command in it."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.shown = ""

    def read_until(self, text: str) -> None:
        """Wait for a text that comes after what was waited for before."""
        while text not in self.shown:
            self.shown += self._read()
        self.shown = self.shown.partition(text)[2]

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def close(self) -> int:
        while more := self._read(""):
            self.shown += more
        os.close(self._master)
        return self.process.wait()

    def _read(self, at_end: str | None = None) -> str:
        try:
            return os.read(self._master, 65536).decode()
        except OSError:  # what Linux says when the other side is closed
            assert at_end is not None, f"the command ended: {self.shown}"
            return at_end


def test_a_person_is_asked_at_the_terminal(
    tmp_path: Path, environment_variables: dict[str, str]
) -> None:
    write_number_task(tmp_path)
    (tmp_path / "asking.py").write_text(ASKING)
    command = [str(COMMAND), "run", *ARGUMENTS, "--interactive"]
    terminal = Terminal(command, tmp_path, environment_variables)
    terminal.read_until("asks for help")
    terminal.read_until("Which slope?")
    terminal.read_until("Your answer")
    terminal.type(b"Try 3.\n")
    terminal.read_until("Are you sure?")
    terminal.read_until("Your answer")
    terminal.type(b"\x04")
    assert terminal.close() == 0, terminal.shown
    [result] = collect(tmp_path / "out")
    assert result.record.disclosure.interactive
    [journal] = tmp_path.glob("out/runs/*/*/*/*/*/journal.jsonl")
    told = [step.observation.text for step in read_journal(journal).steps]
    assert told[:2] == ["The person answers: Try 3.", NO_ANSWER]
    assert "Request Help, Final Answer" in told[2]
