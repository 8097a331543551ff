"""house-price's full tier from a generated train.csv, prepared in the real sandbox."""

from pathlib import Path

import numpy as np
import pytest
from tabular_tasks import TaskModules

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, require_prepared
from mlagentbench.tasks.make_ready import prepare_tasks
from mlagentbench.tasks.task import load_task


@pytest.fixture(scope="session")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a source would publish: other houses than those of the mini tier."""
    directory = tmp_path_factory.mktemp("published")
    TaskModules("house-price").mini.make(directory, np.random.default_rng(77))
    for file in directory.iterdir():
        if file.name not in ("train.csv", "test.csv", "data_description.txt"):
            file.unlink()
    return directory


@pytest.fixture(scope="session")
def full_home(raw: Path, kept_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the full tier; other tests rely on its absence in theirs."""
    home = tmp_path_factory.mktemp("full-home")
    for name in ("envs", "locks"):
        (kept_home / name).mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(kept_home / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(home))
        task = load_task("house-price")
        prepare_tasks([task], "full", from_dir=raw, accept_unverified=True, call=call_task)
    return home


@pytest.fixture
def data(full_home: Path, monkeypatch: pytest.MonkeyPatch) -> PreparedData:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(full_home))
    return require_prepared(load_task("house-price"), "full")
