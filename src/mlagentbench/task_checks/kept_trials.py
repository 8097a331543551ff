"""Scores of finished trials, kept in the user data directory: an interrupted measurement resumes.

A trial is kept under a hash of everything that its score depends on: the data, starter, solution,
grader and settings of the task, its virtual environment, the profile and the tool model.
"""

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from mlagentbench.fs import remove_tree, write_atomically
from mlagentbench.grading.measurements import TimedScore
from mlagentbench.home import baselines_dir
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.programs_hash import program_hashes
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import measured_key
from mlagentbench.tasks.task import Task

NO_SETTINGS = {"measured", "renamed", "title", "sources"}
"""The parts of task.toml that they do not depend on."""


class KeptTrial(TimedScore):
    """A finished trial; `whole_seconds` includes grading, `outputs` is the hash of what it made."""

    whole_seconds: float = 0.0
    outputs: str = ""


class KeptTrials:
    """The finished trials of one task on one prepared data set, a file each."""

    def __init__(
        self, task: Task, data: PreparedData, python_env: PythonEnv, tool: str | None
    ) -> None:
        parts = (
            data.hash,
            python_env.hash,
            task.profile,
            tool,
            task.spec.model_dump(mode="json", exclude=NO_SETTINGS),
            program_hashes(task),
        )
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
        where = baselines_dir(task.id, task.spec.version, measured_key(data.tier, task.profile))
        self._directory = where / "trials" / key

    def find(self, name: str) -> KeptTrial | None:
        """The trial of that name, if it was finished; one that cannot be read was not."""
        try:
            return KeptTrial.model_validate_json(self._file(name).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def keep(self, name: str, trial: KeptTrial) -> None:
        write_atomically(self._file(name), trial.model_dump_json().encode())

    def forget(self) -> None:
        """Forget all of them."""
        if self._directory.exists():
            remove_tree(self._directory)

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.json"
