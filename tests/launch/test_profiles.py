"""Hardware profiles of the full tier: what they change, what runs see of them, what results say."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from folders import SEED_TASK, write_folder
from made_records import made_record

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.launch.request import RunSettings, SuiteRequest, read_settings
from mlagentbench.launch.suite import check_requirements
from mlagentbench.rebuild.rebuild_draw import Rebuilding
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.record import settings_hash
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.task_checks.measure import measure_tasks
from mlagentbench.tasks.make_ready import Ready, ensure_ready, prepare_tasks
from mlagentbench.tasks.stored_measurements import home_file
from mlagentbench.tasks.task import Task, load_folder, load_task, task_folders
from mlagentbench.terminal import Terminal

COMMAND = str(Path(sys.executable).with_name("mlagentbench"))
PROFILES = """
[profiles.cpu]
hardware = "a core"
steps = 7
command_time = "2m"
[profiles.gpu]
hardware = "a GPU"
time = "1h"
cpus = 3
memory = "2GB"
gpus = 1
"""
STARTER = """
    import os
    from pathlib import Path
    scores = {"cpu": 0.2, "gpu": 0.4, None: 0.3}
    Path("score.txt").write_text(str(scores[os.environ.get("MLAGENTBENCH_PROFILE")]))
    """


@pytest.fixture
def task(tmp_path: Path) -> Task:
    files = {**SEED_TASK, "starter/train.py": STARTER}
    folder = write_folder(tmp_path / "profiled", files, submission="score.txt").folder
    with (folder / "task.toml").open("a") as file:
        file.write(PROFILES)
    return load_folder(folder)


@pytest.fixture
def without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_ALLOCATION", "test")
    monkeypatch.setenv("MLAGENTBENCH_ALLOCATION_GPUS", "")


def test_a_profile_changes_limits_and_resources(task: Task) -> None:
    cpu, gpu = task.on_profile("cpu").spec, task.on_profile("gpu").spec
    assert (cpu.limits.steps, cpu.limits.command_time, cpu.limits.time) == (7, 120, 5 * 3600)
    assert cpu.resources == task.spec.resources
    assert (gpu.limits.steps, gpu.limits.time) == (task.spec.limits.steps, 3600)
    assert (gpu.resources.cpus, gpu.resources.memory, gpu.resources.gpus) == (3, 2e9, 1)
    settings = RunSettings(tier="full")
    assert settings.limits(settings.task(str(task.folder)).spec).get("steps") == 7


def test_full_is_on_the_cpu_profile_unless_told_otherwise() -> None:
    assert RunSettings(tier="full").profile == "cpu"
    assert RunSettings(tier="full", profile="gpu").profile == "gpu"
    assert RunSettings().profile is None
    with pytest.raises(UsageError, match="--profile gpu: only the full tier has profiles"):
        read_settings({"tier": "mini", "profile": "gpu"}, lambda name: f"--{name}")
    with pytest.raises(UsageError, match="--profile gpu: house-price has no such profile"):
        load_task("house-price", "full", "gpu")


def test_a_profile_is_part_of_what_a_run_is() -> None:
    records = [made_record(profile=profile) for profile in ("cpu", "gpu", None)]
    assert len({settings_hash(record.disclosure) for record in records}) == 3


@pytest.mark.usefixtures("without_gpus")
def test_the_gpu_profile_is_refused_without_a_gpu(task: Task, tmp_path: Path) -> None:
    refused = "--profile gpu: there are 0 GPUs here; use --profile cpu"
    request = SuiteRequest.read(
        tasks=str(task.folder), agents="nop", tier="full", profile="gpu", out=tmp_path
    )
    assert request.settings.need(task.on_profile("gpu").spec).gpus == 1
    with pytest.raises(UsageError, match=refused):
        check_requirements(request, Terminal(stderr=True))
    names = [str(task.folder)]
    with pytest.raises(UsageError, match=refused):
        list(
            measure_tasks(
                names,
                tier="full",
                profile="gpu",
                runs=2,
                reference_runs=1,
                write=False,
                draw="public",
            )
        )


@pytest.mark.usefixtures("without_gpus")
def test_nothing_of_the_gpu_profile_goes_on_without_its_gpus(task: Task, tmp_path: Path) -> None:
    gpu, [data, python_env] = task.on_profile("gpu"), _prepared(task)
    refused = "--profile gpu: there are 0 GPUs here; use --profile cpu"
    with pytest.raises(UsageError, match=refused):
        asyncio.run(ensure_measured(gpu, data, python_env, None, print))
    with pytest.raises(UsageError, match="--gpus 0 with --profile gpu: profiled has 1 on this"):
        RunSettings(tier="full", profile="gpu", gpus=0).gpus_asked(gpu)
    record = made_record(profile="gpu")
    run = RunDirectory(tmp_path, Path("runs/profiled/full/nop-0/none/1"))
    run.path.mkdir(parents=True)
    with run.hold() as held, pytest.raises(RunFailed, match=refused):
        rebuilding = Rebuilding(
            run=held, record=record, task=gpu, task_env=python_env, run_env=python_env, step=1,
            snapshot="", command=None, proposed=False, tool=None, announce=print,
        )  # fmt: skip
        asyncio.run(rebuilding.on(data, is_given=False))


def _prepared(task: Task) -> Ready:
    return ensure_ready(task, "mini", call=call_task)


def test_measurements_are_of_one_profile(task: Task) -> None:
    files = {home_file(task.on_profile(name), "full", "12" * 32) for name in ("cpu", "gpu")}
    assert {file.parent.name for file in files} == {"full", "full-gpu"}


def test_every_full_tier_says_its_hardware_and_torch_tasks_know_cuda() -> None:
    for name, folder in task_folders().items():
        found = load_folder(folder)
        assert "cpu" in found.spec.profiles, name
        uses_torch = any(text.startswith("torch") for text in found.spec.python.requirements)
        assert ("gpu" in found.spec.profiles) == uses_torch, name
        if uses_torch:
            programs = [path.read_text() for path in sorted(found.solution.rglob("*.py"))]
            assert any("torch.cuda.is_available()" in text for text in programs), name


@pytest.mark.usefixtures("with_shared_home")
def test_runs_see_their_profile_and_results_say_it(task: Task, tmp_path: Path) -> None:
    prepare_tasks([task], "full", call=call_task)
    command = [COMMAND, "run", "--tasks", str(task.folder), "--agents", "baseline"]
    command += ["--tier", "full", "--out", str(tmp_path / "out")]
    subprocess.run(command, capture_output=True, check=True)
    [run_json] = (tmp_path / "out").glob("runs/*/full/*/*/*/run.json")
    facts = json.loads(run_json.read_text())["disclosure"]
    assert (facts["profile"], facts["limits"]["steps"]) == ("cpu", 7)
    grade = json.loads((run_json.parent / "grades.jsonl").read_text().splitlines()[-1])
    graded = grade.get("record", grade)
    assert graded["score"] == 0.2
    assert graded["success"] is None
    assert f"run: mlagentbench tasks measure {task.folder} --tier full" in graded["success_reason"]
