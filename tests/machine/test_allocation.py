"""The part of the machine that a process may use, in jobs of schedulers and outside of them."""

import os
from pathlib import Path

import pytest
from fake_nvidia_smi import write_fake_nvidia_smi

from mlagentbench.errors import UsageError
from mlagentbench.machine.allocation import (
    CgroupLimits,
    allocation,
    cgroup_limits,
    total_memory,
)

MIB = 2**20
JOB = {"SLURM_JOB_ID": "17", "SLURMD_NODENAME": "n2"}


@pytest.fixture(autouse=True)
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_fake_nvidia_smi(tmp_path, monkeypatch, minors=(0, 1, 2))


def test_the_whole_machine() -> None:
    place = allocation({})
    assert place.pool == "machine"
    assert set(place.cores) == os.sched_getaffinity(0)
    assert 1 <= place.cpus <= len(place.cores)
    assert 0 < place.memory <= total_memory()
    assert [gpu.minor for gpu in place.gpus] == [0, 1, 2]
    assert [gpu.minor for gpu in allocation({"CUDA_VISIBLE_DEVICES": "2"}).gpus] == [2]


def test_in_a_slurm_job() -> None:
    given = {"SLURM_CPUS_ON_NODE": "3", "SLURM_MEM_PER_NODE": "2048", "CUDA_VISIBLE_DEVICES": "1"}
    place = allocation({**JOB, **given})
    assert place.pool == "slurm job 17 step batch on n2"
    assert (place.cpus, place.memory) == (3, 2048 * MIB)
    assert [gpu.minor for gpu in place.gpus] == [1]


def test_memory_per_core_and_gpus_of_a_step() -> None:
    given = {"SLURM_CPUS_PER_TASK": "4", "SLURM_MEM_PER_CPU": "512", "SLURM_STEP_ID": "0"}
    place = allocation({**JOB, **given, "SLURM_STEP_GPUS": "0,2"})
    assert place.pool == "slurm job 17 step 0 on n2"
    assert (place.cpus, place.memory) == (4, 4 * 512 * MIB)
    assert [gpu.minor for gpu in place.gpus] == [0, 2]


def test_a_slurm_job_without_gpus_has_none_and_without_a_limit_all_memory() -> None:
    place = allocation({**JOB, "SLURM_CPUS_ON_NODE": "1", "SLURM_MEM_PER_NODE": "0"})
    assert place.gpus == ()
    assert place.memory == allocation({}).memory


def test_nodes_on_one_machine_and_elements_of_an_array_are_different_pools() -> None:
    jobs: tuple[dict[str, str], ...] = (
        {},
        {"SLURMD_NODENAME": "n3"},
        {"SLURM_JOB_ID": "18"},
        {"SLURM_STEP_ID": "1"},
    )
    assert len({allocation({**JOB, **job}).pool for job in jobs}) == 4


def test_what_an_engine_sets_comes_before_slurm() -> None:
    given = {
        "MLAGENTBENCH_ALLOCATION": "actor 5",
        "MLAGENTBENCH_ALLOCATION_CPUS": "2",
        "MLAGENTBENCH_ALLOCATION_MEMORY": "123456789",
        "MLAGENTBENCH_ALLOCATION_GPUS": "2",
    }
    place = allocation({**JOB, **given})
    assert place.pool == "allocation actor 5"
    assert (place.cpus, place.memory) == (2, 123456789)
    assert [gpu.minor for gpu in place.gpus] == [2]
    assert allocation({**given, "MLAGENTBENCH_ALLOCATION_GPUS": ""}).gpus == ()


def test_a_variable_that_is_no_number_is_named() -> None:
    given = {"MLAGENTBENCH_ALLOCATION": "a", "MLAGENTBENCH_ALLOCATION_CPUS": "two"}
    with pytest.raises(UsageError, match="MLAGENTBENCH_ALLOCATION_CPUS=two: is not a number"):
        allocation(given)


def test_limits_of_control_groups(tmp_path: Path) -> None:
    assert cgroup_limits("0::/a/b\n", tmp_path) == CgroupLimits()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/memory.max").write_text("1000000\n")
    (tmp_path / "a/b/memory.max").write_text("max\n")
    (tmp_path / "a/b/cpu.max").write_text("250000 100000\n")
    expected = CgroupLimits(path="/a/b", cpus=2, memory=1000000)
    assert cgroup_limits("0::/a/b\n", tmp_path) == expected


def test_limits_of_old_control_groups(tmp_path: Path) -> None:
    for controller, name, value in (
        ("memory", "memory.limit_in_bytes", "5000000"),
        ("cpu", "cpu.cfs_quota_us", "50000"),
        ("cpu", "cpu.cfs_period_us", "100000"),
    ):
        (tmp_path / controller / "job").mkdir(parents=True, exist_ok=True)
        (tmp_path / controller / "job" / name).write_text(f"{value}\n")
    found = cgroup_limits("4:memory:/job\n3:cpu,cpuacct:/job\n", tmp_path)
    assert (found.cpus, found.memory) == (1, 5000000)
    (tmp_path / "memory/job/memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    (tmp_path / "cpu/job/cpu.cfs_quota_us").write_text("-1\n")
    assert cgroup_limits("4:memory:/job\n3:cpu,cpuacct:/job\n", tmp_path) == CgroupLimits()
