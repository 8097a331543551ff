"""Slurm as an engine, on a real one: leaving and coming back, stopping, time limits, mailboxes."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from cluster_runs import ClusterRuns, cancelled, finished, interrupted, killed, resumed
from inspect_ai.model import ModelOutput
from real_engines import SlurmCluster, slurm_cluster, wait_for
from scripted_model import scripted_by, tool_call

from mlagentbench.models.mailbox_folder import MailFolder
from mlagentbench.models.relay import Relay

pytestmark = [pytest.mark.slow, pytest.mark.engine]

SLURM = ("--engine", "slurm", "--engine-options")


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    with slurm_cluster() as cluster:
        yield cluster


@pytest.fixture
def variables(slurm: SlurmCluster, environment_variables: dict[str, str]) -> dict[str, str]:
    return environment_variables | slurm.variables


def test_the_driver_leaves_and_comes_back(
    slurm: SlurmCluster, tmp_path: Path, variables: dict[str, str]
) -> None:
    runs = ClusterRuns(tmp_path, "out", 8, variables, nap=0.8)
    options = (*SLURM, "time=10m", "--jobs", "2")
    first = runs.start(*options)
    runs.wait_until("running", 2)
    killed(first)
    [job] = {element.partition("_")[0] for element in slurm.elements()}

    follows = f"following Slurm job {job}, which is there already"
    printed, stopped = interrupted(runs, options, follows)
    assert f"cancelled Slurm job {job}" in printed and slurm.elements() == []
    cancelled(runs, options)
    assert slurm.elements() == []
    assert "[1/" in resumed(runs, options, stopped)
    assert len(list((runs.out / "jobs").glob("slurm-*.json"))) == 1, "ended jobs are not forgotten"
    assert list((runs.out / "jobs" / "slurm").glob("*_log.out"))


def test_a_worker_whose_time_is_up_is_queued_again(
    slurm: SlurmCluster, tmp_path: Path, variables: dict[str, str]
) -> None:
    # A run takes longer than a worker has, so that the first one is interrupted in any case.
    runs = ClusterRuns(tmp_path, "out", 2, variables, nap=9)
    driver = runs.start(*SLURM, "time=60s,stop_before=10s", "--jobs", "1")
    wait_for("it is submitted", slurm.elements)
    [job] = slurm.elements()
    finished(driver, runs)
    assert runs.count("done") == 2
    assert slurm.restarts(job) >= 1
    resumed = [run for run in runs.directories() if len(runs.places(run)) > 1]
    assert resumed, "no run was resumed by the worker that was queued again"
    assert {place.job for run in runs.directories() for place in runs.places(run)} == {job}


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("partition=gpu", "sbatch refused the job: .*[Ii]nvalid partition name specified"),
        ("constraint=a100", "sbatch refused the job: .*[Ii]nvalid feature specification"),
    ],
)
def test_what_slurm_refuses_is_said_in_its_words(
    option: str, error: str, tmp_path: Path, variables: dict[str, str]
) -> None:
    runs = ClusterRuns(tmp_path, "out", 1, variables)
    printed = finished(runs.start(*SLURM, option), runs, (2,))
    assert re.search(error, " ".join(printed.split())), printed


def test_nodes_without_a_network_ask_through_a_mailbox(
    slurm: SlurmCluster, tmp_path: Path, variables: dict[str, str]
) -> None:
    """The relay runs beside the driver, as on a login node; workers only see the directory."""
    mail = MailFolder(tmp_path / "mail")
    mail.create()
    runs = ClusterRuns(tmp_path, "out", 2, variables)
    driver = runs.start(
        *SLURM, "time=10m", "--jobs", "2", "--agents", "react",
        "--models", "mlagentbench/mailbox", "-M", f"dir={tmp_path / 'mail'}",
    )  # fmt: skip
    done = threading.Event()
    relay = threading.Thread(target=answer, args=(mail, done))
    relay.start()
    try:
        finished(driver, runs)
    finally:
        done.set()
        relay.join()
    assert runs.count("done") == 2
    assert runs.nodes().keys() <= {"n1", "n2", "n3"} and runs.nodes()


def answer(mail: MailFolder, done: threading.Event) -> None:
    """Relay what waits to a model that runs the script once, and submits."""

    def reply(messages: Any, *_: Any) -> ModelOutput:
        if any(message.role == "tool" for message in messages):
            return tool_call("final_answer", final_answer="done")
        return tool_call("execute_script", script_name="train.py")

    model = scripted_by(reply)
    while not done.wait(0.2):
        anyio.run(Relay(mail, model, once=True, say=lambda _text: None).work, 2)
