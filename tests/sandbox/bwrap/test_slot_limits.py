"""What a sandbox shows of the machine to a run that holds a slot."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from fake_nvidia_smi import write_fake_nvidia_smi
from sandboxes import PYTHON, PYTHON_ENV

from mlagentbench.machine.gpus import Gpu, all_gpus
from mlagentbench.machine.ledger import Need, Slot
from mlagentbench.machine.slots import slot_for, use_slot
from mlagentbench.records import Json
from mlagentbench.sandbox.base import Limits, SandboxSpec
from mlagentbench.sandbox.bwrap import layout
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.sandbox.bwrap.layout import Layout
from mlagentbench.tasks.python_env.env import PythonEnv

GB = 10**9
LOOK = """
import json, os, subprocess, sys
threads = {name: value for name, value in os.environ.items() if name.endswith("_NUM_THREADS")}
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
    widened = True
except PermissionError:
    widened = False
print(json.dumps({
    "cores": sorted(os.sched_getaffinity(0)),
    "nproc": int(subprocess.check_output(["nproc"])),
    "widened": widened,
    "threads": threads,
    "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
    "devices": sorted(name for name in os.listdir("/dev") if name.startswith("nvidia")),
}))
"""


def spec_in_slot(workspace: Path, cpus: int | None = None) -> SandboxSpec:
    workspace.mkdir(exist_ok=True)
    limits = Limits(cpus=cpus, memory=8 * GB)
    return SandboxSpec(workspace=workspace, python_env=PYTHON_ENV, limits=limits).in_slot()


async def seen(spec: SandboxSpec) -> Json:
    async with BubblewrapSandbox(spec) as sandbox:
        result = await sandbox.run([PYTHON, "-c", LOOK])
        assert result.exit_code == 0, result.output
        return json.loads(result.output)


def test_only_the_cores_of_the_slot_are_seen_and_used(tmp_path: Path) -> None:
    async def look() -> tuple[Slot, Json]:
        async with slot_for(Need(cpus=1, memory=GB), "one core") as slot:
            return slot, await seen(spec_in_slot(tmp_path / "workspace", cpus=2))

    slot, found = asyncio.run(look())
    assert found["cores"] == list(slot.cpus) and found["nproc"] == 1
    assert not found["widened"]
    assert set(found["threads"].values()) == {"1"} and len(found["threads"]) == 3


def test_sandboxes_of_different_slots_run_on_different_cores(tmp_path: Path) -> None:
    """All are started by one process, one after the other, and then without a slot."""
    found = []
    cores = sorted(os.sched_getaffinity(0))
    for number, core in enumerate(cores):
        use_slot(Slot(cpus=(core,), memory=GB))
        found.append(asyncio.run(seen(spec_in_slot(tmp_path / str(number))))["cores"])
    use_slot(None)
    found.append(asyncio.run(seen(spec_in_slot(tmp_path / "last")))["cores"])
    assert found == [*([core] for core in cores), cores]


def test_a_slot_with_little_memory_limits_commands(tmp_path: Path) -> None:
    async def fill() -> str:
        code = "import time\ntaken = bytearray(400_000_000)\ntime.sleep(30)"
        async with (
            slot_for(Need(cpus=1, memory=200_000_000), "little memory"),
            BubblewrapSandbox(spec_in_slot(tmp_path / "workspace")) as sandbox,
        ):
            return str((await sandbox.run([PYTHON, "-c", code])).limit)

    assert asyncio.run(fill()) == "ended by the limit on memory (200 MB)"


def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Gpu, ...]:
    write_fake_nvidia_smi(tmp_path, monkeypatch, minors=(0, 1))
    return all_gpus()


def test_only_the_devices_of_its_own_gpus_are_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = gpus(tmp_path, monkeypatch)
    use_slot(Slot(cpus=(0,), memory=GB, gpus=(second,)))
    try:
        spec = spec_in_slot(tmp_path / "workspace")
    finally:
        use_slot(None)
    options = Layout(spec, "/usr/bin/bwrap", None).options({})
    bound = {options[n + 1] for n, word in enumerate(options) if word == "--dev-bind-try"}
    assert {"/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"} <= bound
    assert "/dev/nvidia0" not in bound
    without = Layout(spec.model_copy(update={"gpus": ()}), "/usr/bin/bwrap", None).options({})
    assert "--dev-bind-try" not in without


def test_gpus_are_seen_by_their_uuid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of the same kind as /dev/null stand for those of a driver that is not here."""
    devices = tmp_path / "dev"
    devices.mkdir()
    try:
        for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
            os.mknod(devices / name, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("needs the right to make devices")
    monkeypatch.setattr(layout, "DEVICES", devices)
    _, second = gpus(tmp_path, monkeypatch)
    use_slot(Slot(cpus=(min(os.sched_getaffinity(0)),), memory=GB, gpus=(second,)))
    try:
        found = asyncio.run(seen(spec_in_slot(tmp_path / "workspace")))
    finally:
        use_slot(None)
    assert found["gpus"] == second.uuid
    assert found["devices"] == ["nvidia-uvm", "nvidia1", "nvidiactl"]
    assert asyncio.run(seen(spec_in_slot(tmp_path / "other")))["devices"] == []


LIBRARIES = """
import warnings
warnings.simplefilter("error")
import numpy as np
from joblib import Parallel, delayed
a = np.random.default_rng(0).normal(size=(400, 400))
print((a @ a).shape, Parallel(n_jobs=-1)(delayed(abs)(n) for n in (-1, -2)))
"""


@pytest.mark.slow
def test_libraries_that_ask_for_cores_work_quietly(tmp_path: Path, python_env: PythonEnv) -> None:
    """numpy's threads and joblib's processes, where they may not choose their cores."""
    (tmp_path / "workspace").mkdir()
    spec = SandboxSpec(workspace=tmp_path / "workspace", python_env=python_env.directory)

    async def use() -> tuple[int | None, bytes, bytes]:
        async with BubblewrapSandbox(spec) as sandbox:
            done = await sandbox.run(["python", "-c", LIBRARIES])
            return done.exit_code, done.stdout, done.stderr

    assert asyncio.run(use()) == (0, b"(400, 400) [1, 2]\n", b"")
