"""What engines' workers do when something goes wrong around them, without a cluster."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from mlagentbench.launch.engines import ray_worker, slurm_worker


def test_a_worker_whose_actor_died_before_it_began_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()
    monkeypatch.setattr(os, "kill", lambda *_: stopped.set())
    seen: list[bool] = []
    monkeypatch.setattr(ray_worker, "work", lambda *_: seen.append(stopped.wait(5)))
    not_its_parent = str(os.getpid())
    ray_worker.main(str(tmp_path), "worker-0", "node", ray_worker.GOES, not_its_parent)
    assert seen == [True]


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Told to queue a worker again, Slurm refuses as often as the file `refusals` has letters."""
    command = tmp_path / "scontrol"
    command.write_text(
        "#!/bin/sh\n"
        f'cd {tmp_path}; read -r refusals < refusals; echo "$*" >> asked\n'
        '[ -z "$refusals" ] && exit 0\n'
        'echo "${refusals#?}" > refusals; echo "Unable to contact slurm controller" >&2; exit 1\n'
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setattr(slurm_worker, "runs_left", lambda _out: True)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    return tmp_path


def test_a_busy_slurm_is_told_again_to_queue_a_worker(scontrol: Path) -> None:
    (scontrol / "refusals").write_text("xx\n")
    with pytest.raises(SystemExit) as ended:
        slurm_worker._queue_again(scontrol, 0)
    assert ended.value.code == slurm_worker.STOPPED
    assert (scontrol / "asked").read_text().splitlines() == ["requeue 12"] * 3


def test_a_slurm_that_never_queues_a_worker_again_is_quoted(scontrol: Path) -> None:
    (scontrol / "refusals").write_text("x" * slurm_worker.ATTEMPTS + "\n")
    with pytest.raises(SystemExit, match="again: Unable to contact slurm controller; to resume"):
        slurm_worker._queue_again(scontrol, 0)
