"""Whole runs of foreign agents on the number task, in Inspect as its own users start them."""

from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import Model
from inspect_ai.solver import Solver
from number_task import write_number_task

from mlagentbench.inspect_plugin import registered_task
from mlagentbench.launch.request import read_settings
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import RunResult, collect


class ForeignRun(NamedTuple):
    log: EvalLog
    result: RunResult
    history: History
    output: str

    @property
    def notes(self) -> str:
        return "\n".join(line.detail for line in self.history.events if line.event == "note")


def run_foreign(top: Path, solver: Solver, model: Model, **settings: Any) -> ForeignRun:
    """Run an agent on the number task below `top`, or go on with its run."""
    task = registered_task(str(write_number_task(top)), read_settings(settings, str))
    out = top / "logs"
    [log] = eval(task, solver=solver, model=model, log_dir=str(out), display="none")
    [result] = collect(out)
    history = read_journal(out / result.path / "journal.jsonl", ObjectStore(out / "objects"))
    output = (out / result.path / "output.log").read_text()
    return ForeignRun(log, result, history, output)
