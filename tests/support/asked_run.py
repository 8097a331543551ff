"""A run in which models are asked, without a task, a sandbox or an agent: what recordings need."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessageUser, Model, ModelOutput

from mlagentbench.environment.ask_models import Models
from mlagentbench.environment.budget import Budget
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Action, Disclosure, Observation, RunRecord, Step
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import Journal, read_journal
from mlagentbench.runs.objects.object_store import ObjectStore

DISCLOSURE = {
    "task": "numbers", "task_version": 1, "metric": "error", "better": "lower",
    "data_hash": "da7a", "data_verified": True, "tier": "mini",
    "draw": "public", "draw_policy": "public", "generator": "9e4e",
    "agent": "asker", "model": "mockllm/model", "sandbox": "bubblewrap", "isolation": "-",
    "limits": {"steps": 10}, "python_env": "-", "hardware": {}, "packages": {"mlagentbench": "1"},
}  # fmt: skip


class AskedRun:
    """Asks as an agent does; `next_step` counts a step."""

    def __init__(self, directory: RunDirectory, models: Models, steps: list[Step]) -> None:
        self.directory = directory
        self.models = models
        self._steps = steps

    async def ask(self, prompt: str, role: str = "main", **more: Any) -> ModelOutput:
        return await self.models.ask([ChatMessageUser(content=prompt)], role=role, **more)

    def next_step(self) -> None:
        self._steps.append(
            Step(
                n=len(self._steps) + 1, action=Action(name="none"), snapshot="",
                observation=Observation(text=""), started=0.0, seconds=0.0,
            )
        )  # fmt: skip


def asked_run(
    out: Path, models: Mapping[str, str | Model], epoch: int = 1, steps: int = 0, **facts: Any
) -> AbstractContextManager[AskedRun]:
    """A run below `out`, begun or continued after so many steps."""
    disclosure = Disclosure.model_validate(DISCLOSURE | facts)
    record = RunRecord(
        task_path="numbers", epoch=epoch, seed=1, created="2020-01-01", disclosure=disclosure
    )
    return _opened(RunDirectory(out, Path(record.directory("0" * 8))), record, models, steps)


@contextmanager
def _opened(
    directory: RunDirectory, record: RunRecord, models: Mapping[str, str | Model], steps: int
) -> Iterator[AskedRun]:
    directory.create()
    directory.run_json.write_text(record.model_dump_json())
    before = read_journal(directory.journal).replies
    journal = Journal(directory.journal)
    done: list[Step] = []
    asked = Models(
        directory, ObjectStore(directory.objects), Budget(BudgetLimits()), done,
        lambda line_type, **fields: journal.append(line_type, 0.0, **fields), models,
    )  # fmt: skip
    asked.replies += before
    run = AskedRun(directory, asked, done)
    for _ in range(steps):
        run.next_step()
    try:
        yield run
    finally:
        journal.close()
