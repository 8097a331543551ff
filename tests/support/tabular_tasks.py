"""What the tests of the table tasks share: loading a task's modules and preparing its data."""

import importlib.util
import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

import mlagentbench.guest.mlagentbench_intervals as interval_helpers
import mlagentbench.guest.mlagentbench_task as task_helpers
from mlagentbench.tasks.task import SUITE


class TaskModules:
    """The modules of a task folder, which see `mlagentbench_task` as they do in the sandbox."""

    def __init__(self, task_id: str) -> None:
        self.folder = SUITE / task_id
        sys.modules.setdefault("mlagentbench_task", task_helpers)
        sys.modules.setdefault("mlagentbench_intervals", interval_helpers)

    @cached_property
    def prepare(self) -> ModuleType:
        return self.load("prepare")

    @cached_property
    def mini(self) -> ModuleType:
        return self.load("mini")

    @cached_property
    def trivial(self) -> ModuleType:
        return self.load("trivial")

    @cached_property
    def grade(self) -> ModuleType:
        return self.load("grade")

    def load(self, name: str) -> ModuleType:
        unique = f"{self.folder.name.replace('-', '_')}_{name}"
        spec = importlib.util.spec_from_file_location(unique, self.folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def prepare_from(self, raw: Path, directory: Path, seed: int = 5) -> "Prepared":
        prepared = Prepared(directory)
        rng = np.random.default_rng(seed)
        self.prepare.prepare(raw, prepared.public, prepared.private, rng)
        return prepared

    def prepare_mini(self, directory: Path, seed: int = 5) -> "Prepared":
        raw = directory / "raw"
        raw.mkdir(parents=True)
        self.mini.make(raw, np.random.default_rng(seed))
        return self.prepare_from(raw, directory, seed)

    def score(self, submission: str, private: Path, outputs: Path) -> Any:
        outputs.mkdir(exist_ok=True)
        (outputs / "submission.csv").write_text(submission)
        return self.grade.grade(outputs, private)

    def run_starter(
        self, prepared: "Prepared", workspace: Path, *arguments: str, seed: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run the starter where the public files lie; returns the completed process."""
        workspace.mkdir()
        for file in [*prepared.public.iterdir(), *(self.folder / "starter").iterdir()]:
            (workspace / file.name).write_bytes(file.read_bytes())
        return subprocess.run(
            [sys.executable, "train.py", *arguments],
            cwd=workspace, env={**os.environ, "MLAGENTBENCH_SEED": str(seed)},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip


class Prepared:
    """A prepared data set: public/ and private/ below one directory."""

    def __init__(self, directory: Path) -> None:
        self.raw, self.public = directory / "raw", directory / "public"
        self.private = directory / "private"
        for path in (self.public, self.private):
            path.mkdir(parents=True)

    def files(self) -> dict[str, bytes]:
        paths = [*self.public.iterdir(), *self.private.iterdir()]
        return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}


def read_text_table(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False)


def rank_correlation(first: pd.Series, second: pd.Series) -> float:
    return float(np.corrcoef(first.rank(), second.rank())[0, 1])
