"""Ray as an engine, on a real cluster: leaving and coming back, stopping, and no cluster at all."""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_runs import ClusterRuns, finished, killed
from real_engines import RayCluster, ray_cluster, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.engine]

RUNS = 8


@pytest.fixture(scope="module")
def ray() -> Iterator[RayCluster]:
    with ray_cluster(nodes=1) as cluster:
        yield cluster


@pytest.fixture
def variables(ray: RayCluster, environment_variables: dict[str, str]) -> dict[str, str]:
    return {**environment_variables, **ray.variables}


def test_the_driver_leaves_and_comes_back(
    ray: RayCluster, tmp_path: Path, variables: dict[str, str]
) -> None:
    runs = ClusterRuns(tmp_path, "out", RUNS, variables, nap=0.8)
    options = ("--engine", f"ray:{ray.address}", "--jobs", "2")
    first = runs.start(*options)
    runs.wait_until("running", 2)
    killed(first)

    second = runs.start(*options)
    follows = f"following the workers that Ray at {ray.address} has already"
    wait_for(follows, lambda: follows in runs.printed.read_text())
    wait_for("a run is at its beginning", lambda: runs.in_a_step(at_most=1))
    second.send_signal(signal.SIGINT)
    printed = finished(second, runs, (130,))
    assert "stopped 2 workers of Ray" in printed
    assert runs.count("running") == 0 and runs.count("done") < RUNS
    stopped = runs.stopped()
    assert stopped, "no run was stopped in the middle"

    third = runs.start(*options)
    runs.wait_until("running", 1)
    cancelled = runs.command("jobs", "cancel", str(runs.out))
    assert cancelled.returncode == 0, cancelled.stderr
    finished(third, runs, (1,))
    assert runs.count("running") == 0 and runs.count("cancelled") > 0

    finished(runs.start(*options), runs)
    assert runs.count("done") == RUNS
    assert all(len(runs.places(run)) > 1 for run in stopped), "they were not resumed"
    places = [place for run in runs.directories() for place in runs.places(run)]
    assert {place.engine for place in places} == {"ray"}
    assert {place.job for place in places} == {"worker-0", "worker-1"}


def test_a_missing_cluster_is_named(tmp_path: Path, variables: dict[str, str]) -> None:
    with socket.socket() as nothing:
        nothing.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nothing.getsockname()[1]}"
        runs = ClusterRuns(tmp_path, "out", 1, variables)
        printed = finished(runs.start("--engine", f"ray:{address}"), runs, (2,))
    assert f"no Ray cluster answers at {address}" in " ".join(printed.split())
